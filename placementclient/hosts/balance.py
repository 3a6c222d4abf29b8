# SPDX-License-Identifier: Apache-2.0
"""The balance of a file of assignments: which consumers it explains, and which not."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.basis.wording import format_count
from placementclient.hosts.assignments import make_contradiction, split_findings
from placementclient.model.assignments import UNEXPLAINED, AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class ExplainedScope:
    """The consumers that rows of assignments have to explain: all that hold some of the classes.

    :param hosts: the names of the hosts whose servers are known; ``None``: of all hosts
    :param unlisted: a likely reason why a consumer is none of the known servers
    """

    resource_classes: Collection[str]
    hosts: Collection[str] | None = None
    unlisted: str = 'it may be a migration, or deleted'


class CompletedRows(NamedTuple):
    """The rows of assignments for all consumers in a scope.

    :param rows: to be written to a file of assignments
    :param contradictions: those of the results, and one for each other unexplained consumer
    :param lines: for each class the numbers of consumers, in words
    """

    rows: list[AssignmentRow]
    contradictions: list[Finding]
    lines: list[str]


def add_unexplained_rows(
    results: Iterable[AssignmentRow | Finding], snapshot: Snapshot, scope: ExplainedScope
) -> CompletedRows:
    """Return the rows of results, and a row with the evidence "unexplained" for other consumers.

    Servers A and B hold VGPU, and only A has a row. Then B gets an unexplained row and a
    contradiction, unless the results contradict about B, and the line is ``VGPU: 2 consumers, 1
    explained, 1 unexplained``. A row that leaves the class as it is explains a consumer, and is
    left out: the file says nothing of what stays.
    """
    certain, contradictions = split_findings(results)
    explained = {(row.consumer_uuid, row.resource_class) for row in certain}
    unexplained: list[tuple[Consumer, str]] = []
    lines: list[str] = []
    for name in sorted(scope.resource_classes):
        consumers = _list_consumers_of_class(snapshot, name)
        others = [consumer for consumer in consumers if (consumer.uuid, name) not in explained]
        unexplained += [(consumer, name) for consumer in others]
        lines.append(
            f'{name}: {format_count(len(consumers), "consumer")}, '
            f'{len(consumers) - len(others)} explained, {len(others)} unexplained'
        )
    named = {contradiction.facts['consumer'] for contradiction in contradictions}
    silent = {consumer.uuid: consumer for consumer, _ in unexplained if consumer.uuid not in named}
    return CompletedRows(
        [row for row in certain if row.to_resource_class != row.resource_class]
        + [
            AssignmentRow(consumer.uuid, name, None, '', UNEXPLAINED)
            for consumer, name in unexplained
        ],
        contradictions
        + [
            make_contradiction(uuid, _explain_missing_row(snapshot, consumer, scope), '')
            for uuid, consumer in silent.items()
        ],
        lines,
    )


def _list_consumers_of_class(snapshot: Snapshot, name: str) -> list[Consumer]:
    """Return the consumers that hold a class on providers of a snapshot, by UUID."""
    holders = (
        consumer
        for consumer in snapshot.consumers.values()
        if any(
            name in resources and uuid in snapshot.providers
            for uuid, resources in consumer.allocations.items()
        )
    )
    return sorted(holders, key=lambda consumer: consumer.uuid)


def _explain_missing_row(snapshot: Snapshot, consumer: Consumer, scope: ExplainedScope) -> str:
    """Return a sentence: the allocations of a consumer, and why no row explains them."""
    holdings, roots = [], set[str]()
    for uuid, resources in consumer.allocations.items():
        state = snapshot.providers.get(uuid)
        names = sorted({*scope.resource_classes} & resources.keys())
        if names and state is not None:
            amounts = ', '.join(f'{resources[name]} {name}' for name in names)
            holdings.append(f'{amounts} on {state.name}')
            roots.add(snapshot.providers[state.provider.root_uuid].name)
    if scope.hosts is None:
        why = f'the list of servers lacks it: {scope.unlisted}'
    elif unknown := roots - {*scope.hosts}:
        why = f'there are no facts of {", ".join(sorted(unknown))}'
    else:
        why = f'no server there has its UUID: {scope.unlisted}'
    return f'holds {" and ".join(holdings)}, and {why}'
