# SPDX-License-Identifier: Apache-2.0
"""Room for new servers of a flavor: the moves that make it, and the proof, in sentences."""

from collections.abc import Iterator

from placementclient.basis.wording import format_count
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.insight.drain.room_plan import NewServers, RoomDecision
from placementclient.render.drains import (
    DrainAnswer,
    describe_cell_assumption,
    describe_cold_moves,
    describe_gained_traits,
    describe_uncertain_servers,
    describe_unmovable_consumers,
    list_next_steps,
)


def answer_new_servers(cloud: DrainCloud, new: NewServers, decision: RoomDecision) -> DrainAnswer:
    """Return the answer to the question whether further servers can have room."""
    moves = decision.moves
    messages = [
        _describe_room_verdict(new, decision),
        *describe_unmovable_consumers(decision.unsettled),
        *describe_cold_moves(cloud, moves),
        *describe_gained_traits(cloud, moves),
        *describe_cell_assumption(cloud, moves),
        *_describe_least_moves(cloud, decision),
    ]
    facts = {
        'flavor': new.flavor,
        'count': new.server_count,
        'room': decision.fitting_now,
        'bound': decision.bound,
    }
    steps = list_next_steps(cloud, decision.unsettled)
    return DrainAnswer(decision.verdict, moves, decision.unsettled, messages, steps, facts)


def _describe_room_verdict(new: NewServers, decision: RoomDecision) -> str:
    """Return the sentence on whether new servers have room, now or after moves."""
    servers = f'{format_count(new.server_count, "server")} of {new.flavor}'
    now = f'room for {decision.fitting_now} now'
    moves = format_count(len(decision.moves), 'move')
    match decision.verdict:
        case DrainVerdict.YES if not decision.moves:
            return f'{servers}: all have room without any move'
        case DrainVerdict.YES:
            waves = format_count(max(move.wave for move in decision.moves), 'wave')
            return f'{servers}: all have room after {moves} in {waves} ({now})'
        case DrainVerdict.NO:
            return f'Impossible: no number of moves makes room for {servers}, proved ({now})'
        case DrainVerdict.DEPENDS:
            return f'Unknown: {servers} have room if some servers may move ({now})'
    found = f'{moves} were found that make room' if decision.moves else 'no moves were found'
    return f'Undetermined: {servers}: {found} ({now})'


def _describe_least_moves(cloud: DrainCloud, decision: RoomDecision) -> Iterator[str]:
    """Yield sentences: which servers can perhaps not move, and the proved least number of moves."""
    fewest, number = decision.bound, len(decision.moves)
    if decision.verdict is DrainVerdict.DEPENDS:
        yield describe_uncertain_servers(cloud, [server.server for server in decision.leaving])
    if decision.verdict is DrainVerdict.UNDETERMINED:
        yield (
            f'At least {format_count(fewest, "move")} (proved). Give the search more time '
            '(--solver-timeout)'
        )
    elif decision.moves and fewest == number:
        yield f'Proved: fewer than {format_count(number, "move")} make no room'
    elif decision.moves:
        yield (
            f'Proved: fewer than {format_count(fewest, "move")} make no room; {number} are '
            'certainly enough, as each new host has all that the old one has'
        )
