# SPDX-License-Identifier: Apache-2.0
"""The assumptions: each changes a snapshot, and refuses what does not suit it.

Each public function is one assumption. It changes its argument ``cloud`` in place; ``entry`` is the
place of the assumption in its file, for errors and notes.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from uuid import UUID, uuid5

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import format_count, join_names, suggest_similar
from placementclient.changes.obstacles import describe_obstacles
from placementclient.changes.operations import Operation
from placementclient.changes.simulation import simulate
from placementclient.changes.tree_merge import merge_change
from placementclient.files.cursors import Cursor
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.numbers import KindNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import PackingProblem, build_problem
from placementclient.insight.selecting import ProviderSelector
from placementclient.insight.unknown_names import ReportedNames
from placementclient.model import patterns
from placementclient.model.consumers import Allocations, Consumer, sum_gains, sum_resources
from placementclient.model.nova import INSTANCE
from placementclient.model.plans import Change, Plan
from placementclient.model.providers import LONGEST_NAME, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.server_request import FALLBACK, NovaRequest
from placementclient.placing.requests import Request, parse_request
from placementclient.producers.assuming import AssumedCloud
from placementclient.producers.edited import Edit, FacetEdit, InventoryEdit

#: The namespace of invented UUIDs: the same assumptions give the same cloud.
_NAMESPACE = UUID('a37f4d3c-9d3a-4a53-8f0e-3f3fa7a6a1c5')
#: The project and the user of assumed servers.
OWNER = 'assumed'
#: Returns the request of a server in a cloud.
BuildRequest = Callable[[Snapshot], NovaRequest]
#: The most names in a sentence.
_NAMED = 5


def edit_providers(
    cloud: AssumedCloud,
    entry: Cursor,
    selector: ProviderSelector,
    inventories: Mapping[str, Mapping[str, int | float]],
    names: Mapping[str, Mapping[str, frozenset[str]]],
) -> None:
    """Change inventories, traits and aggregates of the selected providers.

    :param inventories: by class, the fields to change
    :param names: by ``traits`` and ``aggregates``, the names to ``add`` and to ``remove``
    :raises errors.BadFile: if no provider can have the values
    """
    states = cloud.snapshot.providers
    selected = selector.select(states.values())
    for edit, inside in _make_edits(cloud.snapshot, entry, inventories, names):
        _add_notes_on_entry(cloud, entry, edit.list_remarks(selected))
        try:
            edit.check_providers(selected)
            selected = [edit.edit_state(state) for state in selected]
        except errors.PlacementError as reason:
            raise inside.make_error(str(reason)) from None
    _replace_states(cloud, {**states, **{state.uuid: state for state in selected}})


def _make_edits(
    snapshot: Snapshot,
    entry: Cursor,
    inventories: Mapping[str, Mapping[str, int | float]],
    names: Mapping[str, Mapping[str, frozenset[str]]],
) -> Iterator[tuple[Edit, Cursor]]:
    """Yield an edit for each key of an entry, and the place of the key in the file.

    :param inventories: by class, the fields to change
    :param names: by ``traits`` and ``aggregates``, the names to ``add`` and to ``remove``
    """
    if inventories:
        for sentence in ReportedNames.from_snapshot(snapshot).explain_impossible(inventories, ()):
            raise entry.descend('inventories').make_error(sentence)
        yield InventoryEdit(inventories, amend=True), entry.descend('inventories')
    for facet, changes in names.items():
        added, removed = (changes.get(key, frozenset()) for key in ('add', 'remove'))
        for sentence in ReportedNames.from_snapshot(snapshot).explain_impossible(
            (), added if facet == 'traits' else ()
        ):
            raise entry.descend(facet).descend('add').make_error(sentence)
        yield FacetEdit(facet, added, removed), entry.descend(facet)


def add_hosts(cloud: AssumedCloud, entry: Cursor, names: Iterable[str], like: str) -> None:
    """Add empty copies of a host.

    :param names: of the copies
    :param like: name or UUID of the host to copy
    :raises errors.BadFile: if there is no such host, or a name is taken or too long
    """
    states = dict(cloud.snapshot.providers)
    root = _find_root(cloud.snapshot, like, entry.descend('like'))
    taken = {state.name for state in states.values()}
    for name in names:
        for state in _copy_tree(cloud.snapshot, root, name):
            if state.name in taken:
                raise entry.descend('name').make_error(f'there is a provider {state.name} already')
            if len(state.name) > LONGEST_NAME:
                raise entry.descend('name').make_error(
                    f'{state.name[:20]}… has more than {LONGEST_NAME} characters'
                )
            taken.add(state.name)
            states[state.uuid] = state
    _replace_states(cloud, states)


def _copy_tree(snapshot: Snapshot, root_uuid: str, name: str) -> Iterator[ProviderState]:
    """Yield the providers of a host under another name, without usage."""
    # The names of children that begin with that of the host, as those that Nova and Neutron make,
    # begin with the new one then; others get it in front.
    old = snapshot.providers[root_uuid].name
    new_root = str(uuid5(_NAMESPACE, name))
    copied: dict[str | None, str] = {}
    for state in snapshot.tree(root_uuid):
        is_named = state.name.startswith(old)
        copied_name = name + (state.name.removeprefix(old) if is_named else f'_{state.name}')
        copied[state.uuid] = str(uuid5(_NAMESPACE, copied_name))
        parent = copied.get(state.provider.parent_provider_uuid)
        provider = Provider(copied[state.uuid], copied_name, 0, parent, new_root)
        yield replace(state, provider=provider, usages={})


def remove_hosts(cloud: AssumedCloud, entry: Cursor, names: Sequence[str]) -> None:
    """Remove hosts with the allocations on them.

    :param names: names, UUIDs, or patterns of names of hosts
    :raises errors.BadFile: if there is no such host
    """
    snapshot = cloud.snapshot
    roots = _find_roots(snapshot, names, entry.descend('without'))
    gone = {state.uuid for root in roots for state in snapshot.tree(root)}
    lost = {consumer.uuid for uuid in gone for consumer in snapshot.consumers_on(uuid)}
    consumers = dict(snapshot.consumers)
    for uuid in lost:
        rest = consumers.pop(uuid).without_providers(gone)
        if rest.allocations:
            consumers[uuid] = rest
    cloud.lost |= lost
    if lost:
        hosts = join_names([snapshot.providers[root].name for root in roots], _NAMED)
        message = f'Lost: {format_count(len(lost), "consumer")} on {hosts}'
        _add_notes_on_entry(cloud, entry, [f'{message}: {join_names(sorted(lost), _NAMED)}'])
    states = {uuid: state for uuid, state in snapshot.providers.items() if uuid not in gone}
    _replace_states(cloud, states, consumers)


def add_servers(
    cloud: AssumedCloud,
    entry: Cursor,
    kind: str,
    build_request: BuildRequest,
    count: int,
    on: Sequence[str],
) -> None:
    """Add servers where they have room; each host gets one server in turn.

    :param kind: the name of the flavor, or the amounts, for messages
    :param build_request: builds Nova's request for a server
    :param on: names, UUIDs, or patterns of names of hosts; none: all hosts, by name
    """
    drain = DrainCloud(cloud.snapshot)
    roots = _find_roots(cloud.snapshot, on, entry.descend('on')) if on else drain.topology.trees
    drain.hosts = list(roots)
    nova = build_request(cloud.snapshot)
    request = parse_request(nova.first)
    number = drain.find_kind_of_request(request)
    problem = build_problem(drain, {number: ()}, ())
    servers: dict[str, Consumer] = {}
    placed = _place_servers(problem, number, request, count)
    for index, allocations in enumerate(placed, len(cloud.placed)):
        uuid = str(uuid5(_NAMESPACE, f'server {index}'))
        servers[uuid] = Consumer(uuid, allocations, OWNER, OWNER, type=INSTANCE)
    states = dict(cloud.snapshot.providers)
    gains = sum_gains(({}, consumer.allocations) for consumer in servers.values())
    for uuid, gain in gains.items():
        states[uuid] = replace(states[uuid], usages=sum_resources((states[uuid].usages, gain)))
    _replace_states(cloud, states, {**cloud.snapshot.consumers, **servers})
    cloud.placed |= servers.keys()
    if missing := count - len(servers):
        _add_notes_on_entry(
            cloud, entry, [f'{missing} of {format_count(count, "server")} of {kind} do not fit']
        )
        if nova.second is not None:
            _add_notes_on_entry(cloud, entry, [f'Not counted: hosts without PCPU. {FALLBACK}'])


def _place_servers(
    problem: PackingProblem, number: KindNumber, request: Request, count: int
) -> Iterator[Allocations]:
    """Yield the allocations of each server that has room, at most of ``count`` servers."""
    packing = Packing(problem)
    hosts = deque(
        host
        for host in problem.host_numbers
        if problem.find_shape_fit(number, problem.hosts[host].shape)
    )
    left = count
    while hosts and left > 0:
        target = hosts.popleft()
        if option := packing.find_option(number, target):
            packing.place_servers(number, target, option)
            yield problem.hosts[target].build_allocations(request, option)
            left -= 1
            hosts.append(target)


def apply_plan(cloud: AssumedCloud, entry: Cursor, plan: Plan) -> None:
    """Carry out a plan on the cloud.

    :raises errors.BadFile: if the plan does not suit the cloud any more
    """
    operations: list[Operation] = []
    for change in plan.changes:
        live = _select_concerned_part(cloud.snapshot, change)
        merged = merge_change(change, live)
        if merged.obstacles:
            raise entry.descend('plan').make_error(
                f'the plan does not suit the cloud any more: '
                f'{describe_obstacles(merged.obstacles)}. Make the plan again'
            )
        operations += merged.operations
    cloud.snapshot = simulate(cloud.snapshot, operations)


def _select_concerned_part(snapshot: Snapshot, change: Change) -> Snapshot:
    """Return the trees and consumers of a snapshot that a change may concern."""
    sides = before, after = change.before, change.after
    uuids = {uuid for side in sides for uuid in side.providers}
    named = (snapshot.find_by_name(state.name) for state in after.providers.values())
    uuids |= {state.uuid for state in named if state}
    states = [snapshot.providers[uuid] for uuid in uuids & snapshot.providers.keys()]
    roots = {state.provider.root_uuid for state in states}
    consumers = {uuid for side in sides for uuid in side.consumers}
    for gone in before.providers.keys() - after.providers.keys():
        consumers |= {consumer.uuid for consumer in snapshot.consumers_on(gone)}
    return Snapshot(
        (state for root in roots for state in snapshot.tree(root)),
        (snapshot.consumers[uuid] for uuid in consumers & snapshot.consumers.keys()),
    )


def _replace_states(
    cloud: AssumedCloud,
    states: Mapping[str, ProviderState],
    consumers: Mapping[str, Consumer] | None = None,
) -> None:
    """Replace the providers of the cloud, and its consumers unless they are ``None``."""
    present = cloud.snapshot.consumers if consumers is None else consumers
    cloud.snapshot = Snapshot(states.values(), present.values(), cloud.snapshot.origin)


def _find_roots(snapshot: Snapshot, names: Sequence[str], entry: Cursor) -> list[str]:
    """Return the UUIDs of roots, given names, UUIDs, or patterns of names; refuse unknown ones."""
    roots: dict[str, None] = {}
    for index, name in enumerate(names):
        inside = entry.descend(index) if isinstance(entry.value, list) else entry
        if patterns.is_pattern(name) and snapshot.find_by_name(name) is None:
            try:
                roots |= dict.fromkeys(snapshot.root_uuids([name]))
            except errors.NoSuchProvider as reason:
                raise inside.make_error(str(reason)) from None
        else:
            roots[_find_root(snapshot, name, inside)] = None
    return list(roots)


def _find_root(snapshot: Snapshot, name: str, entry: Cursor) -> str:
    """Return the UUID of a root, given its name or UUID; refuse any other provider."""
    state = snapshot.find(name)
    if state is None:
        names = [state.name for state in snapshot.providers.values()]
        raise entry.make_error(f'there is no provider {name}{suggest_similar(name, names)}')
    if state.provider.parent_provider_uuid is not None:
        root = snapshot.providers[state.provider.root_uuid]
        raise entry.make_error(f'{state.name} is a part of {root.name}: name the whole host')
    return state.uuid


def _add_notes_on_entry(cloud: AssumedCloud, entry: Cursor, sentences: Iterable[str]) -> None:
    cloud.notes += [f'{entry.path}:{entry.line}: {sentence}' for sentence in sentences]
