# SPDX-License-Identifier: Apache-2.0
"""The answer to a drain in sentences; :mod:`.drain_moves` has its rows.

Hosts are named by the UUIDs of the roots of their trees.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.basis import errors
from placementclient.basis.wording import format_count, join_names
from placementclient.insight.drain.cloud import ABSENT, DrainCloud
from placementclient.insight.drain.departures import MoveState
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.plan import DrainDecision, DrainVerdict
from placementclient.insight.drain.rolling import RollingDrain
from placementclient.model import patterns
from placementclient.model.findings import Finding
from placementclient.model.snapshots import Snapshot
from placementclient.render.free_amounts import describe_free_amounts, sum_free_amounts
from placementclient.render.unplaced_servers import describe_unplaced_servers

#: How many names of servers or hosts a sentence has.
_NAMED = 5
_ADD_REQUESTS = 'Add --requests nova, or --requests FILE, to read what they require'
_WITH_REQUESTS = 'with --requests nova, or --requests servers.json --requests migrations.json'


class DrainAnswer(NamedTuple):
    """The answer whether hosts can be emptied, for people and for the output file.

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
    messages = [
        _summarize_moves(cloud.snapshot, emptied, decision),
        *describe_unmovable_consumers(decision.unsettled),
        *describe_cold_moves(cloud, decision.moves),
        *describe_gained_traits(cloud, decision.moves),
    ]
    if not strict.is_complete:
        is_no = decision.verdict is DrainVerdict.NO
        messages += describe_unplaced_servers(cloud, decision.lax or strict if is_no else strict)
    if decision.verdict is DrainVerdict.DEPENDS and left:
        messages.append(describe_uncertain_servers(cloud, left))
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
    steps = list_next_steps(cloud, decision.unsettled)
    return DrainAnswer(decision.verdict, decision.moves, decision.unsettled, messages, steps, facts)


def answer_rolling_drain(
    cloud: DrainCloud, emptied: Sequence[str], rolling: RollingDrain
) -> DrainAnswer:
    """Return the answer to the question whether hosts can be emptied batch by batch.

    :param emptied: UUIDs of the roots of these hosts
    """
    snapshot, order, blocked = cloud.snapshot, rolling.order, rolling.blocked
    batches = 'batch' if len(order) + len(blocked) == 1 else 'batches'
    stuck = {uuid for finding in rolling.unsettled for uuid in finding.roots}
    emptied_count = sum(stuck.isdisjoint(batch) for batch in order)
    waves = rolling.moves[-1].wave if rolling.moves else 0
    messages = [
        f'{emptied_count} of {len(order) + len(blocked)} {batches} can be emptied: '
        f'{format_count(len(rolling.moves), "move")} in {format_count(waves, "wave")}'
        f'{_describe_unmovable_count(rolling.unsettled)}'
    ]
    for batch in blocked[:_NAMED]:
        proof = 'proved' if batch.is_error else 'not proved'
        servers = join_names(batch.facts['servers'], _NAMED)
        hosts = join_names(list_root_names(snapshot, batch.roots), _NAMED)
        messages.append(f'Blocked ({proof}): {hosts}: no place for {servers}')
    if len(blocked) > _NAMED:
        messages.append(f'… and {len(blocked) - _NAMED} more batches')
    if rolling.verdict is DrainVerdict.UNDETERMINED:
        advice = 'Make' if has_known_requests(cloud) else f'{_ADD_REQUESTS}, or make'
        messages.append(f'{advice} smaller batches (--batch)')
    moves = () if blocked else rolling.moves
    messages += [
        *describe_unmovable_consumers(rolling.unsettled),
        *describe_cold_moves(cloud, moves),
        *describe_cell_assumption(cloud, moves),
    ]
    facts = {
        'order': [list_root_names(snapshot, batch) for batch in order],
        'blocked': [
            {
                'hosts': list_root_names(snapshot, batch.roots),
                **batch.facts,
                'is_proved': batch.is_error,
            }
            for batch in blocked
        ],
        'free': sum_free_amounts(cloud, moves, emptied),
    }
    steps = list_next_steps(cloud, rolling.unsettled)
    return DrainAnswer(rolling.verdict, moves, rolling.unsettled, messages, steps, facts)


def has_known_requests(cloud: DrainCloud) -> bool:
    """Return whether it is known what the servers require of a host (``--requests``)."""
    return cloud.nova_facts.consumers is not None


def describe_uncertain_servers(cloud: DrainCloud, servers: Sequence[str]) -> str:
    """Return the sentence about servers that can move by their amounts, but not certainly.

    :param servers: their UUIDs
    """
    advice = '' if has_known_requests(cloud) else f'. {_ADD_REQUESTS}'
    return f'Not certain: {join_names(servers, 20)}{advice}'


def describe_child_arguments(
    snapshot: Snapshot, arguments: Iterable[str], meaning: str = 'the plan empties all of'
) -> Iterator[str]:
    """Yield a warning for each argument that names a child of a host.

    :param meaning: the words before the host: the command concerns all of it
    """
    for argument in arguments:
        named = snapshot.find(argument)
        for uuid in snapshot.root_uuids([argument]):
            root = snapshot.providers[uuid]
            is_root = (
                named is root if named else patterns.find_matching_names(argument, [root.name])
            )
            if not is_root:
                yield f'{argument} is a part of the host {root.name}: {meaning} {root.name}'


def describe_hosts_without_cell(cloud: DrainCloud, emptied: Collection[str]) -> Iterator[str]:
    """Yield a sentence about the hosts without a cell of Nova.

    :param emptied: UUIDs of the roots of the hosts that are to be emptied
    :raises errors.BadArgument: if one of ``emptied`` has no cell
    """
    cells, names = cloud.nova_facts.cells, list_root_names(cloud.snapshot, cloud.hosts)
    missing = [name for name in names if cells is not None and name not in cells]
    if wrong := sorted(set(missing) & set(list_root_names(cloud.snapshot, emptied))):
        raise errors.BadArgument(
            f'--cells has no {join_names(wrong, _NAMED)}: give all that nova-manage cell_v2 '
            'list_hosts prints'
        )
    if missing:
        yield f'Not in --cells, so that no server goes there: {join_names(missing, _NAMED)}'


def describe_cell_assumption(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield the assumption about cells that a plan over several availability zones makes."""
    nova_facts, providers = cloud.nova_facts, cloud.snapshot.providers
    ends = {uuid for move in moves for uuid in (move.source, move.target) if uuid}
    zones = {nova_facts.zones.get(providers[uuid].name) for uuid in ends}
    if nova_facts.cells is None and len(zones) > 1:
        yield (
            'Assumed: the hosts of all zones are in one cell. Nova moves no server to another one: '
            'if there are several, give the output of nova-manage cell_v2 list_hosts (--cells)'
        )


def _summarize_moves(snapshot: Snapshot, hosts: Collection[str], decision: DrainDecision) -> str:
    """Return the sentence with the number of servers that can move."""
    absent = _count_subjects(decision.unsettled, is_present=False)
    count = decision.strict.server_count
    servers = format_count(count + absent, 'server')
    verb = 'has' if count == 1 else 'have'
    placed = f'{count} {verb} a place' if absent else 'all have a place'
    if not (decision.strict.server_count or decision.unsettled or decision.moves):
        names = join_names(list_root_names(snapshot, hosts), _NAMED)
        return f'{names} {"is" if len(hosts) == 1 else "are"} already empty'
    if not decision.strict.is_complete:
        return _summarize_incomplete_drain(decision, format_count(count, 'server'))
    if decision.verdict is DrainVerdict.UNDETERMINED:
        return (
            f'Undetermined: {servers} to move, {placed}, but no order was found in '
            'which each move has room'
        )
    left = _describe_unmovable_count(decision.unsettled)
    return f'{servers} to move{_describe_waves(decision.moves, placed)}{left}'


def _describe_unmovable_count(findings: Iterable[Finding]) -> str:
    """Return ``; 2 consumers cannot move``, the end of a sentence; empty without findings."""
    findings = list(findings)
    stuck = _count_subjects(findings, is_present=True)
    hidden = _count_subjects(findings, is_present=False)
    words = f'; {format_count(stuck, "consumer")} cannot move' if stuck else ''
    return (
        f'{words}; {format_count(hidden, "server")} without allocations there' if hidden else words
    )


def _count_subjects(findings: Iterable[Finding], *, is_present: bool) -> int:
    """Return how many consumers with allocations on their host, or without them, cannot move."""
    # A consumer on several hosts has a finding for each of them.
    return len({f.subject for f in findings if (f.kind == ABSENT) != is_present})


def _summarize_incomplete_drain(decision: DrainDecision, servers: str) -> str:
    """Return the sentence about a drain in which some servers have no place, or may have none.

    :param servers: how many servers are to move, with the noun
    """
    least, most = decision.bounds
    match decision.verdict:
        case DrainVerdict.NO if least == most:
            return f'Impossible: {least} of {servers} can move (proved)'
        case DrainVerdict.NO:
            return f'Impossible: at most {most} of {servers} can move, {least} certainly (proved)'
        case DrainVerdict.DEPENDS:
            return (
                f'Unknown: by amounts there is room for {servers}. By traits and aggregates, it is '
                f'certain for {least or "none"}'
            )
    return (
        f'Undetermined: {least} of {servers} can move, at most {most}. Give the search more time '
        '(--solver-timeout)'
    )


def _describe_waves(moves: Sequence[ServerMove], placed: str) -> str:
    """Return ``: all have a place, in 3 waves``, the end of a sentence; empty without moves.

    :param placed: how many have a place
    """
    if not moves:
        return ''
    offloaded = sum(move.target is None for move in moves)
    more = f', and {offloaded} to offload' if offloaded else ''
    waves = max(move.wave for move in moves)
    return f': {placed}{more}, in {format_count(waves, "wave")}'


def describe_unmovable_consumers(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield sentences about the consumers that no plan can move."""
    for finding in findings[:_NAMED]:
        yield f'{finding.facts["host"]}: {finding.subject} {finding.facts["reason"]}'
    if more := findings[_NAMED:]:
        # A terminal may have no room for the column with the reasons.
        reasons = '; or '.join(dict.fromkeys(str(finding.facts['reason']) for finding in more))
        yield (
            f'… and {len(more)} more (each {reasons}): the rows with the state '
            f'"{MoveState.CANNOT_MOVE}" name all of them'
        )


def describe_unknown_states(cloud: DrainCloud, moves: Sequence[ServerMove]) -> Iterator[str]:
    """Yield a warning of the commands if moves are planned without the states of the servers."""
    if moves and not has_known_requests(cloud):
        yield (
            'Not known: the states of the servers, and servers without allocations. Before you run '
            f'a command, plan again {_WITH_REQUESTS}'
        )


def advise_copying_commands(moves: Sequence[ServerMove]) -> Iterator[str]:
    """Yield how to print the commands of moves alone; wave by wave, if there are several."""
    waves = max((move.wave for move in moves), default=0)
    if waves == 1:
        yield 'To copy the commands, add: -f value -c command'
    elif waves:
        # A terminal of 80 columns does not break it.
        yield "To copy wave 1, add: -f value -c wave -c command | sed -n 's/^1 //p'"
        yield 'Begin the next wave when all moves of the one before are over'


def list_next_steps(cloud: DrainCloud, findings: Iterable[Finding]) -> list[str]:
    """Return the commands to run before a further plan, so that it can move more consumers.

    :param findings: on the consumers that no plan can move
    """
    all_commands = [finding.facts['command'] for finding in findings]
    commands = [str(command) for command in dict.fromkeys(all_commands) if command]
    if not commands:
        return []
    rest = ['Run the commands of the other rows that cannot move'] if commands[_NAMED:] else []
    again = (
        'Plan again with the same command; if it reads files, make them anew first'
        if has_known_requests(cloud)
        else f'Plan again {_WITH_REQUESTS}'
    )
    return [*commands[:_NAMED], *rest, again]


def describe_cold_moves(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield the reasons why Nova stops servers to move them, with the number of servers."""
    leaving = [cloud.find_departure(move.server) for move in moves]
    reasons = [way.reason for way in leaving if way.state is MoveState.COLD and way.reason]
    for reason, number in sorted(Counter(reasons).items()):
        yield (
            f'{format_count(number, "server")} cannot move while running: each {reason}. Confirm '
            'each with openstack server resize confirm SERVER'
        )


def describe_gained_traits(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Yield a sentence about the traits and aggregates that only the new hosts of servers have."""
    providers, differences = cloud.snapshot.providers, []
    for move in moves:
        if move.target is not None and move.server not in cloud.nova_facts.requests:
            before, after = providers[move.source], providers[move.target]
            names = (after.traits | after.aggregates) - before.traits - before.aggregates
            if names:
                differences.append(names)
    if differences:
        aggregates = cloud.nova_facts.aggregates
        new = sorted(aggregates.get(name, name) for name in frozenset().union(*differences))
        advice = '' if has_known_requests(cloud) else '. Use --requests if a flavor forbids one'
        yield (
            f'{format_count(len(differences), "server")} will have traits or aggregates that '
            f'their old host does not have: {join_names(new, _NAMED)}{advice}'
        )


def list_root_names(snapshot: Snapshot, roots: Iterable[str]) -> list[str]:
    return [snapshot.providers[uuid].name for uuid in roots]
