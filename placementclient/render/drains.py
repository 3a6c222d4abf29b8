"""Drains: the rows of a plan, and the obstacles, as text and as data."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from placementclient.client.wording import counted, listed
from placementclient.insight.drain.cloud import DrainCloud, zone
from placementclient.insight.drain.host_failure import HostFailures
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.plan import DrainDecision, DrainVerdict
from placementclient.insight.drain.rolling import Rolling
from placementclient.model import patterns
from placementclient.model.consumers import Allocations, gained, together
from placementclient.model.findings import Finding, Severity
from placementclient.model.snapshots import Snapshot
from placementclient.placing.requests import Request
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts, sizes
from placementclient.render.units import sized

#: The columns of a plan; ``from`` and ``to`` are the names of hosts.
MOVES = ('wave', 'server', 'from', 'to', 'allocations', 'command')
_FAILURES = Columns(
    Column('hosts', lambda row: Facts(row[0])),
    Column('servers', lambda row: row[1].servers),
    Column('with_a_place', lambda row: row[1].least),
    Column('at_most', lambda row: row[1].most),
    Column('verdict', lambda row: str(row[1].verdict)),
)
FAILURES = _FAILURES.names
#: How many names of servers or hosts a sentence has.
_NAMED = 5
_REQUESTS = 'Add --requests nova to read what they require'


def _total(allocations: Allocations) -> str:
    return sizes(together(allocations.values()))


def rows(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Output:
    snapshot = cloud.snapshot
    return MOVES, [
        (
            move.wave,
            move.server,
            _name(snapshot, move.source),
            target := _name(snapshot, move.target) if move.target else '',
            Facts(move.after, _total),
            cloud.knowledge.departure(move.server).command.format(server=move.server, host=target),
        )
        for move in moves
    ]


def failures(snapshot: Snapshot, checked: HostFailures) -> Output:
    """Return a row for each failure that leaves a server without a place, the worst first."""
    return _FAILURES.rows(
        ([_name(snapshot, uuid) for uuid in failure.hosts], failure) for failure in checked.failures
    )


def failed(snapshot: Snapshot, checked: HostFailures, number: int) -> Iterator[str]:
    """Return the result of the checked failures, as sentences."""
    extent = f'{checked.checked} of {checked.possible} losses checked'
    if checked.worst is not None:
        names = ' and '.join(_name(snapshot, uuid) for uuid in checked.worst.hosts)
        yield (
            f'{extent}: each leaves a place for every server. The largest: {names}, with '
            f'{counted(checked.worst.servers, "server")}'
        )
    elif checked.failures:
        worst = checked.failures[0]
        many = f'{worst.least}' if worst.least == worst.most else f'{worst.least} to {worst.most}'
        names = ' and '.join(_name(snapshot, uuid) for uuid in worst.hosts)
        yield (
            f'{extent}: after {len(checked.failures)} of them not every server certainly has a '
            f'place. The worst: {names}, with a place for {many} of '
            f'{counted(worst.servers, "server")}'
        )
    if checked.checked < checked.possible:
        yield (
            f'Not proved for any {number} hosts: only the largest losses were checked. Give fewer '
            'hosts'
        )


def parts(snapshot: Snapshot, arguments: Iterable[str]) -> Iterator[str]:
    """Return sentences about arguments that name a child of a host."""
    for argument in arguments:
        named = snapshot.find(argument)
        for uuid in snapshot.root_uuids([argument]):
            root = snapshot.providers[uuid]
            is_root = named is root if named else patterns.matching(argument, [root.name])
            if not is_root:
                yield (
                    f'{argument} is a part of the host {root.name}: the plan empties all of '
                    f'{root.name}'
                )


def summary(snapshot: Snapshot, hosts: Collection[str], decision: DrainDecision) -> str:
    """Return the number of servers that can move, as a sentence.

    :param hosts: the UUIDs of the roots of the hosts to empty
    """
    if not decision.strict.total and not decision.unsettled:
        names = listed([_name(snapshot, uuid) for uuid in hosts], _NAMED)
        return f'{names} {"is" if len(hosts) == 1 else "are"} already empty'
    least, most = decision.bounds
    servers = counted(decision.strict.total, 'server')
    if decision.verdict is DrainVerdict.UNDETERMINED and decision.strict.is_complete:
        return (
            f'Undetermined: {servers} to move, all have a place, but no order was found in which '
            'each move has room'
        )
    if decision.moves or decision.strict.is_complete:
        waves = max((move.wave for move in decision.moves), default=0)
        offloaded = sum(move.target is None for move in decision.moves)
        more = f', and {offloaded} to offload' if offloaded else ''
        return f'{servers} to move: all have a place{more}, in {counted(waves, "wave")}'
    if decision.verdict is DrainVerdict.NO:
        many = f'{least}' if least == most else f'at most {most}'
        certain = '' if least == most else f', {least} certainly'
        return f'Impossible: {many} of {servers} can move{certain} (proved)'
    if decision.verdict is DrainVerdict.DEPENDS:
        return (
            f'Unknown: {least} of {servers} can certainly move, '
            f'{"all" if most >= decision.strict.total else most} if only their amounts count'
        )
    return (
        f'Undetermined: {least} of {servers} can move, at most {most}. Give the search more time '
        '(--solver-timeout)'
    )


def remarks(cloud: DrainCloud, decision: DrainDecision) -> Iterator[str]:
    """Return the obstacles to a plan, as sentences."""
    yield from unsettled(decision.unsettled)
    yield from _unlike(cloud, decision.moves)
    if decision.moves or decision.strict.is_complete:
        return
    is_proved = decision.verdict is DrainVerdict.NO and decision.lax is not None
    chosen = decision.lax if is_proved and decision.lax else decision.strict
    yield from _left(cloud, chosen)
    if decision.verdict is DrainVerdict.DEPENDS:
        names = [server.server for server in decision.strict.left()]
        yield f'Not certain: {listed(names, 20)}. {_REQUESTS}'


def _unlike(cloud: DrainCloud, moves: Iterable[ServerMove]) -> Iterator[str]:
    """Return the traits and aggregates of new hosts that flavors may forbid."""
    providers = cloud.snapshot.providers
    new, servers = set[str](), 0
    for move in moves:
        if move.target is None:
            continue
        before, after = providers[move.source], providers[move.target]
        new_names = (after.traits | after.aggregates) - before.traits - before.aggregates
        if new_names and move.server not in cloud.knowledge.requests:
            new, servers = new | new_names, servers + 1
    if new:
        yield (
            f'{counted(servers, "server")} will have traits or aggregates that their old host does '
            f'not have: {listed(sorted(new), _NAMED)}. Use --requests if a flavor forbids one'
        )


def unsettled(findings: Sequence[Finding]) -> Iterator[str]:
    """Return sentences about the consumers that no plan can move."""
    for finding in findings[:_NAMED]:
        command = finding.facts['command']
        first = f': first {command}' if command else ''
        yield f'{finding.facts["host"]}: {finding.subject} {finding.facts["reason"]}{first}'
    if len(findings) > _NAMED:
        yield f'… and {len(findings) - _NAMED} more that no plan can move'
    if any(finding.facts['command'] for finding in findings):
        yield 'Nova does not move servers in these states: run the commands, then plan again'
    if not all(finding.facts['command'] for finding in findings):
        yield 'A host is empty only without these: resource provider audit says what to do'


def rolled(snapshot: Snapshot, rolling: Rolling) -> Iterator[str]:
    """Return sentences about the number of batches that can be emptied, and the blocked ones."""
    total = len(rolling.order) + len(rolling.blocked)
    waves = rolling.moves[-1].wave if rolling.moves else 0
    yield (
        f'{len(rolling.order)} of {counted(total, "batch").replace("batchs", "batches")} can be '
        f'emptied: {counted(len(rolling.moves), "move")} in {counted(waves, "wave")}'
    )
    for blocked in rolling.blocked[:_NAMED]:
        yield _blocked(snapshot, blocked)
    if len(rolling.blocked) > _NAMED:
        yield f'… and {len(rolling.blocked) - _NAMED} more batches'
    if rolling.verdict is DrainVerdict.UNDETERMINED:
        yield f'{_REQUESTS}, or make smaller batches (--batch)'


def _blocked(snapshot: Snapshot, blocked: Finding) -> str:
    hosts = listed([_name(snapshot, uuid) for uuid in blocked.roots], _NAMED)
    servers = listed(blocked.facts['servers'], _NAMED)
    proof = 'proved' if blocked.severity is Severity.ERROR else 'not proved'
    return f'Blocked ({proof}): {hosts}: no place for {servers}'


def _left(cloud: DrainCloud, packing: Packing) -> Iterator[str]:
    """Return the kinds of servers that have no place, in words."""
    counts: dict[str, list[int]] = {}
    problem = packing.problem
    for request, total, placed in zip(problem.kinds, problem.counts, packing.placed, strict=True):
        sums = counts.setdefault(_words(cloud, request), [0, 0])
        sums[0], sums[1] = sums[0] + total, sums[1] + len(placed)
    for kind, (total, room) in sorted(counts.items()):
        if room < total:
            yield f'{counted(total, "server")} of {kind}: room for {room}'


def _words(cloud: DrainCloud, request: Request) -> str:
    """Return what a server asks for, without what every host has."""
    words = sizes(request.totals)
    required = {*request.root_required, *(n for part in request.parts for n in part.required)}
    rare = sorted(name for names in required if len(names) == 1 for name in names & cloud.rare)
    if rare:
        words += f' with {listed(rare, _NAMED)}'
    places = sorted(name for names in request.root_member_of for name in names)
    zones = [name for name in places if name.startswith(zone(''))]
    if zones:
        words += f' in {" or ".join(zones)}'
    elif places:
        words += f' in aggregate {listed(places, 2)}'
    return words


def free(
    cloud: DrainCloud, moves: Iterable[ServerMove], emptied: Collection[str]
) -> list[dict[str, Any]]:
    """Return the free amounts of the other hosts after a plan, by availability zone and class."""
    changes = gained((move.before, move.after) for move in moves)
    rooms: dict[tuple[str, str], dict[str, Any]] = {}
    for root in cloud.hosts:
        if root in emptied:
            continue
        place = cloud.knowledge.zones.get(_name(cloud.snapshot, root), '')
        for state in cloud.tree(root):
            for name, inventory in state.inventories.items():
                row = rooms.setdefault(
                    (place, name),
                    {'zone': place, 'resource_class': name, 'capacity': 0, 'free': 0, 'largest': 0},
                )
                left = state.free(name) - changes[state.uuid][name]
                row['capacity'] += inventory.capacity
                row['free'] += max(0, left)
                row['largest'] = max(row['largest'], left)
    return [rooms[key] for key in sorted(rooms)]


def headroom(rooms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    by_zone: dict[str, list[str]] = {}
    for row in rooms:
        name = row['resource_class']
        free, capacity, most = (sized(name, row[key]) for key in ('free', 'capacity', 'largest'))
        by_zone.setdefault(row['zone'], []).append(
            f'{name} {free} of {capacity}, at most {most} on a provider'
        )
    for place, sentences in by_zone.items():
        where = f' in zone {place}' if place else ''
        yield f'Free afterwards{where}: {"; ".join(sentences)}'


def document(
    cloud: DrainCloud,
    verdict: DrainVerdict,
    moves: Sequence[ServerMove],
    emptied: Sequence[str],
    *,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a plan as data.

    :param emptied: the UUIDs of the roots of the hosts
    :param facts: what else there is to know
    """
    names, cells = rows(cloud, moves)
    return {
        'format': 'placementclient/drain-plan',
        'version': 1,
        'verdict': str(verdict),
        'hosts': [_name(cloud.snapshot, uuid) for uuid in emptied],
        **facts,
        'free': free(cloud, moves, emptied),
        'moves': [
            dict(zip(names, (*row[:4], row[4].machine_readable(), row[5]), strict=True))
            for row in cells
        ],
    }


def _name(snapshot: Snapshot, uuid: str) -> str:
    return snapshot.providers[uuid].name
