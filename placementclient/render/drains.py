# SPDX-License-Identifier: Apache-2.0
"""Drains: the rows of a plan, and the obstacles, as text and as data.

Hosts are named by the UUIDs of the roots of their trees.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.basis import errors
from placementclient.basis.wording import counted, listed
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.departures import MoveState
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.nova_facts import name_affinity_group, name_cell, name_zone
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.plan import DrainDecision, DrainVerdict
from placementclient.insight.drain.rolling import RollingDrain
from placementclient.model import patterns
from placementclient.model.consumers import Allocations, sum_parts
from placementclient.model.findings import Finding
from placementclient.model.snapshots import Snapshot
from placementclient.placing.requests import Request
from placementclient.render.columns import Output
from placementclient.render.facts import Facts, format_sizes
from placementclient.render.free_amounts import (
    describe_free_amounts,
    describe_zone,
    sum_free_amounts,
)

#: The columns of a plan; ``from`` and ``to`` are the names of hosts.
MOVES = ('wave', 'server', 'from', 'to', 'allocations', 'state', 'reason', 'command')
#: How many names of servers or hosts a sentence has.
_NAMED = 5
REQUESTS = 'Add --requests nova to read what they require'


class DrainAnswer(NamedTuple):
    """The answer to a drain, and its content of the output file.

    :param unsettled: the consumers that no plan can move
    :param messages: the answer in sentences
    :param next_steps: the commands after which another plan can move more
    :param facts: further keys of the file
    """

    verdict: DrainVerdict
    moves: Sequence[ServerMove]
    unsettled: Sequence[Finding]
    messages: Sequence[str]
    next_steps: Sequence[str]
    facts: Mapping[str, object]


def answer_drain(
    cloud: DrainCloud, emptied: Sequence[str], decision: DrainDecision, remedies: Sequence[str]
) -> DrainAnswer:
    """Return the answer to the question whether hosts can be emptied.

    :param emptied: UUIDs of the roots of these hosts
    :param remedies: in words, the changes of the cloud that would be enough
    """
    strict = decision.strict
    left = [server.server for server in strict.list_unplaced()]
    is_told = cloud.knowledge.consumers is not None
    messages = [
        _summarize_moves(cloud.snapshot, emptied, decision),
        *describe_unmovable_consumers(decision.unsettled),
    ]
    messages += [
        *describe_cold_moves(cloud, decision.moves),
        *describe_gained_traits(cloud, decision.moves),
    ]
    if not strict.is_complete:
        is_no = decision.verdict is DrainVerdict.NO
        messages += _describe_unplaced_servers(cloud, decision.lax or strict if is_no else strict)
    if decision.verdict is DrainVerdict.DEPENDS and left:
        advice = '' if is_told else f'. {REQUESTS}'
        messages.append(f'Not certain: {listed(left, 20)}{advice}')
    messages += [f'Would be enough: {remedy}' for remedy in remedies]
    free = sum_free_amounts(cloud, decision.moves, emptied)
    if decision.moves:
        messages += [*describe_free_amounts(free), *describe_cell_assumption(cloud, decision.moves)]
    facts = {
        'servers': strict.server_count,
        'movable': list(decision.bounds),
        'left': left,
        'unsettled': [
            {'consumer': finding.subject, **finding.facts} for finding in decision.unsettled
        ],
        'enough': remedies,
        'free': free,
    }
    steps = list_next_steps(decision.unsettled)
    return DrainAnswer(decision.verdict, decision.moves, decision.unsettled, messages, steps, facts)


def answer_rolling(cloud: DrainCloud, emptied: Sequence[str], rolling: RollingDrain) -> DrainAnswer:
    """Return the answer to the question whether hosts can be emptied batch by batch.

    :param emptied: UUIDs of the roots of these hosts
    """
    snapshot, order, blocked = cloud.snapshot, rolling.order, rolling.blocked
    batches = 'batch' if len(order) + len(blocked) == 1 else 'batches'
    waves = rolling.moves[-1].wave if rolling.moves else 0
    messages = [
        f'{len(order)} of {len(order) + len(blocked)} {batches} can be emptied: '
        f'{counted(len(rolling.moves), "move")} in {counted(waves, "wave")}'
    ]
    for batch in blocked[:_NAMED]:
        proof = 'proved' if batch.is_error else 'not proved'
        servers = listed(batch.facts['servers'], _NAMED)
        hosts = listed(name_roots(snapshot, batch.roots), _NAMED)
        messages.append(f'Blocked ({proof}): {hosts}: no place for {servers}')
    if len(blocked) > _NAMED:
        messages.append(f'… and {len(blocked) - _NAMED} more batches')
    if rolling.verdict is DrainVerdict.UNDETERMINED:
        is_told = cloud.knowledge.consumers is not None
        advice = 'Make' if is_told else f'{REQUESTS}, or make'
        messages.append(f'{advice} smaller batches (--batch)')
    moves = () if blocked else rolling.moves
    messages += [
        *describe_unmovable_consumers(rolling.unsettled),
        *describe_cold_moves(cloud, moves),
        *describe_cell_assumption(cloud, moves),
    ]
    facts = {
        'order': [name_roots(snapshot, batch) for batch in order],
        'blocked': [
            {
                'hosts': name_roots(snapshot, batch.roots),
                **batch.facts,
                'is_proved': batch.is_error,
            }
            for batch in blocked
        ],
        'free': sum_free_amounts(cloud, moves, emptied),
    }
    steps = list_next_steps(rolling.unsettled)
    return DrainAnswer(rolling.verdict, moves, rolling.unsettled, messages, steps, facts)


def describe_child_arguments(
    snapshot: Snapshot, arguments: Iterable[str], meaning: str = 'the plan empties all of'
) -> Iterator[str]:
    """Yield a warning for each argument that names a child of a host.

    :param meaning: the words for what the command does to the host instead
    """
    for argument in arguments:
        named = snapshot.find(argument)
        for uuid in snapshot.root_uuids([argument]):
            root = snapshot.providers[uuid]
            is_root = named is root if named else patterns.find_matching(argument, [root.name])
            if not is_root:
                yield f'{argument} is a part of the host {root.name}: {meaning} {root.name}'


def describe_hosts_without_cell(cloud: DrainCloud, emptied: Collection[str]) -> Iterator[str]:
    """Yield a sentence about the hosts without a cell of Nova.

    :param emptied: UUIDs of the roots of the hosts that are to be emptied
    :raises errors.BadArgument: if one of them has no cell
    """
    cells, names = cloud.knowledge.cells, name_roots(cloud.snapshot, cloud.hosts)
    missing = [name for name in names if cells is not None and name not in cells]
    if wrong := sorted(set(missing) & set(name_roots(cloud.snapshot, emptied))):
        raise errors.BadArgument(
            f'--cells has no {listed(wrong, _NAMED)}: give all that nova-manage cell_v2 list_hosts '
            'prints'
        )
    if missing:
        yield f'Not in --cells, so that no server goes there: {listed(missing, _NAMED)}'


def describe_cell_assumption(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield the assumption about cells that a plan over several availability zones makes."""
    knowledge, providers = cloud.knowledge, cloud.snapshot.providers
    ends = {uuid for move in moves for uuid in (move.source, move.target) if uuid}
    zones = {knowledge.zones.get(providers[uuid].name) for uuid in ends}
    if knowledge.cells is None and len(zones) > 1:
        yield (
            'Assumed: the hosts of all zones are in one cell. Nova moves no server to another one: '
            'if there are several, give the output of nova-manage cell_v2 list_hosts (--cells)'
        )


def _summarize_moves(snapshot: Snapshot, hosts: Collection[str], decision: DrainDecision) -> str:
    """Return the sentence with the number of servers that can move."""
    least, most = decision.bounds
    servers, moves = counted(decision.strict.server_count, 'server'), decision.moves
    if not (decision.strict.server_count or decision.unsettled or moves):
        names = listed(name_roots(snapshot, hosts), _NAMED)
        return f'{names} {"is" if len(hosts) == 1 else "are"} already empty'
    match decision.verdict:
        case DrainVerdict.UNDETERMINED if decision.strict.is_complete:
            return (
                f'Undetermined: {servers} to move, all have a place, but no order was found in '
                'which each move has room'
            )
        case _ if decision.strict.is_complete:
            stuck = len(decision.unsettled)
            left = f'; {counted(stuck, "consumer")} cannot move' if stuck else ''
            return f'{servers} to move{_describe_waves(moves)}{left}'
        case DrainVerdict.NO if least == most:
            return f'Impossible: {least} of {servers} can move (proved)'
        case DrainVerdict.NO:
            return f'Impossible: at most {most} of {servers} can move, {least} certainly (proved)'
        case DrainVerdict.DEPENDS:
            certain = f'{least or "none"} of {servers} {"is" if least < 2 else "are"} certain'
            return f'Unknown: by amounts all fit. With traits, {certain}'
    return (
        f'Undetermined: {least} of {servers} can move, at most {most}. Give the search more time '
        '(--solver-timeout)'
    )


def _describe_waves(moves: Sequence[ServerMove]) -> str:
    """Return the end of the sentence about moves of which each has a place; empty without moves."""
    if not moves:
        return ''
    offloaded = sum(move.target is None for move in moves)
    more = f', and {offloaded} to offload' if offloaded else ''
    waves = max(move.wave for move in moves)
    return f': all have a place{more}, in {counted(waves, "wave")}'


def describe_unmovable_consumers(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield sentences about the consumers that no plan can move."""
    for finding in findings[:_NAMED]:
        yield f'{finding.facts["host"]}: {finding.subject} {finding.facts["reason"]}'
    if len(findings) > _NAMED:
        yield (
            f'… and {len(findings) - _NAMED} more: the rows with the state '
            f'"{MoveState.CANNOT_MOVE}" name all of them'
        )


def list_next_steps(findings: Iterable[Finding]) -> list[str]:
    """Return the commands after which a plan can move more consumers, and the plan again."""
    commands = [str(finding.facts['command']) for finding in findings if finding.facts['command']]
    if not commands:
        return []
    rest = ['Run the commands of the other rows that cannot move'] if commands[_NAMED:] else []
    return [*commands[:_NAMED], *rest, 'Plan again, with the same command']


def describe_cold_moves(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield the reasons why Nova stops servers to move them, with the number of servers."""
    leaving = [cloud.find_departure(move.server) for move in moves]
    reasons = [way.reason for way in leaving if way.state is MoveState.COLD and way.reason]
    for reason, number in sorted(Counter(reasons).items()):
        yield (
            f'{counted(number, "server")} cannot move while running: each {reason}. Confirm '
            'each with openstack server resize confirm SERVER'
        )


def describe_gained_traits(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield a sentence about the traits and aggregates that only the new hosts of servers have."""
    providers, differences = cloud.snapshot.providers, []
    for move in moves:
        if move.target is not None and move.server not in cloud.knowledge.requests:
            before, after = providers[move.source], providers[move.target]
            names = (after.traits | after.aggregates) - before.traits - before.aggregates
            differences += [names] if names else []
    if differences:
        aggregates = cloud.knowledge.aggregates
        new = sorted(aggregates.get(name, name) for name in frozenset().union(*differences))
        is_told = cloud.knowledge.consumers is not None
        advice = '' if is_told else '. Use --requests if a flavor forbids one'
        yield (
            f'{counted(len(differences), "server")} will have traits or aggregates that their old '
            f'host does not have: {listed(new, _NAMED)}{advice}'
        )


def _describe_unplaced_servers(cloud: DrainCloud, packing: Packing) -> Iterator[str]:
    """Yield a sentence for each kind of servers without a place."""
    totals, rooms = Counter[str](), Counter[str]()
    for kind, number in packing.problem.counts.items():
        words = _describe_request(cloud, packing.problem.requests[kind])
        totals[words] += number
        rooms[words] += len(packing.places[kind])
    for words, total in sorted(totals.items()):
        if rooms[words] < total:
            yield f'{counted(total, "server")} of {words}: room for {rooms[words]}'


def _describe_request(cloud: DrainCloud, request: Request) -> str:
    """Return the amounts and the rare conditions of a request in words."""
    required = {*request.root_required, *request.covering}
    required |= {names for part in request.parts for names in part.required}
    single = {name for names in required if len(names) == 1 for name in names}
    words = [
        f'in the {name}' for name in sorted(single) if name.startswith(name_affinity_group(''))
    ]
    if rare := sorted(single & cloud.rare_traits):
        words.append(f'with {listed(rare, _NAMED)}')
    words += _describe_places(cloud, {name for names in request.root_member_of for name in names})
    return ' '.join((format_sizes(request.totals), *words))


def _describe_places(cloud: DrainCloud, names: Collection[str]) -> Iterator[str]:
    """Yield zones, cells and aggregates, by the names that Nova has for them."""
    others = []
    for name in sorted(names):
        if name.startswith((name_zone(''), name_cell(''))):
            yield f'in {describe_zone(name)}'
        else:
            others.append(cloud.knowledge.aggregates.get(name, name))
    if others:
        yield f'in aggregate {listed(others, 2)}'


def list_moves(cloud: DrainCloud, answer: DrainAnswer) -> Output:
    """Return a table with a row for each move, and for each consumer that no plan can move."""
    moves = [_make_move_row(cloud, move) for move in answer.moves]
    planned = {(row[1], row[2]) for row in moves}
    consumers = cloud.snapshot.consumers
    stuck = [
        (
            *(Facts(None), finding.subject, host, '', _make_allocations_cell(holder.allocations)),
            *(str(MoveState.CANNOT_MOVE), finding.facts['reason'], finding.facts['command']),
        )
        for finding in answer.unsettled
        if (holder := consumers.get(finding.subject))
        and (finding.subject, host := finding.facts['host']) not in planned
    ]
    return MOVES, [*moves, *stuck]


def _make_move_row(cloud: DrainCloud, move: ServerMove) -> tuple[object, ...]:
    """Return the cells of a move."""
    providers, leaving = cloud.snapshot.providers, cloud.find_departure(move.server)
    target = providers[move.target].name if move.target else ''
    return (
        move.wave,
        move.server,
        providers[move.source].name,
        target,
        _make_allocations_cell(move.after),
        str(leaving.state),
        leaving.reason,
        leaving.command.format(server=move.server, host=target),
    )


def _make_allocations_cell(allocations: Allocations) -> Facts:
    """Return the cell of allocations, for people with the amounts by class."""
    return Facts(allocations, lambda held: format_sizes(sum_parts(held.values())))


def make_answer_document(
    cloud: DrainCloud, emptied: Sequence[str], answer: DrainAnswer, assuming: Sequence[str]
) -> dict[str, object]:
    """Return an answer as the content of a file.

    :param emptied: UUIDs of the roots of the hosts
    :param assuming: the paths of the files of assumptions
    """
    return {
        'format': 'placementclient/drain-plan',
        'version': 1,
        'verdict': str(answer.verdict),
        'hosts': name_roots(cloud.snapshot, emptied),
        'said': answer.messages,
        'assuming': assuming,
        **answer.facts,
        'moves': [
            dict(zip(MOVES, row, strict=True)) | {'allocations': move.after}
            for move in answer.moves
            if (row := _make_move_row(cloud, move))
        ],
    }


def name_roots(snapshot: Snapshot, roots: Iterable[str]) -> list[str]:
    """Return the names of roots, given their UUIDs."""
    return [snapshot.providers[uuid].name for uuid in roots]
