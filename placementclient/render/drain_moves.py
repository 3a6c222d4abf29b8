# SPDX-License-Identifier: Apache-2.0
"""The rows of a drain's plan, as a table and in its file."""

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.departures import MoveState
from placementclient.insight.drain.moves import ServerMove
from placementclient.model.consumers import Allocations, sum_resources
from placementclient.model.findings import Finding
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.drains import DrainAnswer, list_root_names
from placementclient.render.facts import Facts, format_amounts_with_units


class MoveRow(NamedTuple):
    """A row of the table of a drain plan; its fields are the columns :data:`MOVES`.

    :param wave: ``None``: no plan can move the consumer
    :param source: the name of the old host
    :param target: the name of the new host; empty: the server leaves without one
    """

    wave: int | None
    server: str
    source: str
    target: str
    allocations: Allocations
    state: str
    reason: str
    command: str


def _format_summed_amounts(allocations: Allocations) -> str:
    return format_amounts_with_units(sum_resources(allocations.values()))


_COLUMNS = Columns(
    Column('wave', lambda row: Facts(None) if row.wave is None else row.wave),
    Column('server'),
    Column('from', attrgetter('source')),
    Column('to', attrgetter('target')),
    Column('allocations', lambda row: Facts(row.allocations, _format_summed_amounts)),
    Column('state'),
    Column('reason'),
    Column('command'),
)
#: The columns of a plan; ``from`` and ``to`` are the names of hosts.
MOVES = _COLUMNS.names


def list_moves(cloud: DrainCloud, answer: DrainAnswer, *, has_first_steps: bool = True) -> Output:
    """Return a table with a row for each move, and for each consumer that no plan can move.

    :param has_first_steps: whether the latter have the command that comes before a further plan
    """
    rows = [_make_move_row(cloud, move) for move in answer.moves]
    planned = {(row.server, row.source) for row in rows}
    for finding in answer.unsettled:
        if (finding.subject, finding.facts['host']) not in planned:
            holder = cloud.snapshot.consumers.get(finding.subject)
            rows.append(_make_unmovable_row(finding, holder.allocations if holder else {}))
    if not has_first_steps:
        rows = [
            row._replace(command='') if row.state == MoveState.CANNOT_MOVE else row for row in rows
        ]
    return _COLUMNS.make_table(rows)


def _make_move_row(cloud: DrainCloud, move: ServerMove) -> MoveRow:
    providers, leaving = cloud.snapshot.providers, cloud.find_departure(move.server)
    target = providers[move.target].name if move.target else ''
    return MoveRow(
        move.wave,
        move.server,
        providers[move.source].name,
        target,
        move.after,
        str(leaving.state),
        leaving.reason,
        leaving.command.format(server=move.server, host=target),
    )


def _make_unmovable_row(finding: Finding, allocations: Allocations) -> MoveRow:
    host, reason, command = (finding.facts[key] for key in ('host', 'reason', 'command'))
    return MoveRow(
        None, finding.subject, host, '', allocations, str(MoveState.CANNOT_MOVE), reason, command
    )


def make_answer_document(
    cloud: DrainCloud, emptied: Sequence[str], answer: DrainAnswer, assuming: Sequence[str]
) -> dict[str, object]:
    """Return the answer to a drain as the content of the file that ``drain plan -o`` writes.

    :param emptied: UUIDs of the roots of the hosts
    :param assuming: the paths of the files of assumptions
    """
    return {
        'format': 'placementclient/drain-plan',
        'version': 1,
        'verdict': str(answer.verdict),
        'hosts': list_root_names(cloud.snapshot, emptied),
        'said': answer.messages,
        'assuming': assuming,
        **answer.facts,
        'moves': [
            dict(zip(MOVES, _make_move_row(cloud, move), strict=True)) for move in answer.moves
        ],
    }
