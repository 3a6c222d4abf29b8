# SPDX-License-Identifier: Apache-2.0
"""The balance of a file of assignments: which consumers it explains, and which not."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from placementclient.basis.wording import counted
from placementclient.hosts.assignments import make_contradiction, split_results
from placementclient.model.assignments import UNEXPLAINED, AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Scope:
    """The consumers that rows have to explain.

    :param resource_classes: those that they hold
    :param hosts: the names of the hosts whose servers are known; ``None``: a list has all servers
    :param unlisted: why a consumer may not be among the servers
    """

    resource_classes: Collection[str]
    hosts: Collection[str] | None = None
    unlisted: str = 'it may be a migration, or deleted'


def balance_rows(
    results: Iterable[AssignmentRow | Finding], snapshot: Snapshot, scope: Scope
) -> tuple[list[AssignmentRow], list[Finding], list[str]]:
    """Return assignments for all consumers in scope, findings, and a line for each class.

    A consumer that no result explains gets a row with the evidence "unexplained", and is named. A
    row that leaves a consumer as it is explains it, and is left out.
    """
    rows, misfits = split_results(results)
    explained = {(row.consumer_uuid, row.resource_class) for row in rows}
    named = {misfit.facts['consumer'] for misfit in misfits}
    lines: list[str] = []
    rows = [row for row in rows if row.to_resource_class != row.resource_class]
    for name in sorted(scope.resource_classes):
        consumers = sorted(
            _find_consumers_of_class(snapshot, name), key=lambda consumer: consumer.uuid
        )
        unexplained = [c for c in consumers if (c.uuid, name) not in explained]
        for consumer in unexplained:
            rows.append(AssignmentRow(consumer.uuid, name, None, '', UNEXPLAINED))
            if consumer.uuid not in named:
                named.add(consumer.uuid)
                misfits.append(
                    make_contradiction(
                        consumer.uuid, _explain_missing_row(snapshot, consumer, scope), ''
                    )
                )
        total, left = len(consumers), len(unexplained)
        numbers = f'{counted(total, "consumer")}, {total - left} explained, {left} unexplained'
        lines.append(f'{name}: {numbers}')
    return rows, misfits, lines


def _find_consumers_of_class(snapshot: Snapshot, name: str) -> Iterator[Consumer]:
    for consumer in snapshot.consumers.values():
        if any(
            name in resources and uuid in snapshot.providers
            for uuid, resources in consumer.allocations.items()
        ):
            yield consumer


def _explain_missing_row(snapshot: Snapshot, consumer: Consumer, scope: Scope) -> str:
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
