"""A snapshot under assumptions."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any
from uuid import UUID, uuid5

from msgspec.structs import replace

from placementclient.changes.simulation import simulate
from placementclient.changes.tree_rebase import rebase_change
from placementclient.client import errors
from placementclient.client.wording import counted, first, listed, suggestion
from placementclient.files.cursors import Cursor
from placementclient.insight.drain import moves, requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.unknown_names import Names
from placementclient.model import patterns
from placementclient.model.aside import LONGEST_NAME
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.nova import INSTANCE
from placementclient.model.plans import TreeChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.assuming import Assumed
from placementclient.producers.assuming.assumptions import (
    AfterPlan,
    Assumption,
    HostsGone,
    NewHosts,
    NewServers,
    ProviderEdit,
)
from placementclient.producers.edited import Edit, InventoryEdit, NamesEdit

#: All UUIDs that are made up come from here: the same assumptions give the same cloud.
_NAMESPACE = UUID('a37f4d3c-9d3a-4a53-8f0e-3f3fa7a6a1c5')
#: The project and the user of servers that are to come.
OWNER = 'assumed'
#: So many names are given of many.
_NAMED = 5


def assumed(snapshot: Snapshot, assumptions: Iterable[Assumption]) -> Assumed:
    """Return a snapshot with assumptions applied in order.

    :raises errors.BadFile: for one that does not suit the snapshot, with line and column
    """
    overlay = _Overlay(snapshot)
    for assumption in assumptions:
        overlay.make(assumption)
    return Assumed(
        overlay.snapshot, tuple(overlay.notes), frozenset(overlay.lost), frozenset(overlay.placed)
    )


@dataclass
class _Overlay:
    """A cloud while assumptions are made about it."""

    _snapshot: Snapshot
    notes: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    placed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._states = dict(self._snapshot.providers)
        self._consumers = dict(self._snapshot.consumers)
        self._is_current = True

    @property
    def snapshot(self) -> Snapshot:
        """The cloud as it is now; made when it is asked for, as in a large one that takes time."""
        if not self._is_current:
            self._snapshot = Snapshot(
                self._states.values(), self._consumers.values(), self._snapshot.origin
            )
            self._is_current = True
        return self._snapshot

    @singledispatchmethod
    def make(self, assumption: Assumption) -> None:
        raise TypeError(f'{assumption} is no assumption')

    @make.register
    def _(self, assumption: ProviderEdit) -> None:
        selected = assumption.selector.selected(self._states.values())
        for edit, at in self._edits(assumption):
            self._note(assumption.at, edit.remarks(selected))
            try:
                edit.check(selected)
                selected = [edit.made(state) for state in selected]
            except errors.PlacementError as reason:
                raise at.error(str(reason)) from None
        self._states |= {state.uuid: state for state in selected}
        self._is_current = False

    @make.register
    def _(self, assumption: NewHosts) -> None:
        root = self._root(assumption.like, assumption.at.inside('like'))
        taken = {state.name for state in self._states.values()}
        for name in assumption.names():
            at = assumption.at.inside('name')
            for state in _copies(self.snapshot, root, name):
                if state.name in taken:
                    raise at.error(f'there is a provider {state.name} already')
                if len(state.name) > LONGEST_NAME:
                    raise at.error(f'{state.name[:20]}… has more than {LONGEST_NAME} characters')
                taken.add(state.name)
                self._states[state.uuid] = state
        self._is_current = False

    @make.register
    def _(self, assumption: HostsGone) -> None:
        roots = self._roots(assumption.without, assumption.at.inside('without'))
        gone = {state.uuid for root in roots for state in self.snapshot.tree(root)}
        lost = {each.uuid for uuid in gone for each in self.snapshot.consumers_on(uuid)}
        names = [self._states[root].name for root in roots]
        for uuid in gone:
            del self._states[uuid]
        for uuid in lost:
            rest = self._consumers.pop(uuid).without(gone)
            if rest.allocations:
                self._consumers[uuid] = rest
        self.lost |= lost
        if lost:
            said = f'Lost: {counted(len(lost), "consumer")} on {listed(names, _NAMED)}'
            self._note(assumption.at, [f'{said}: {listed(sorted(lost), _NAMED)}'])
        self._is_current = False

    @make.register
    def _(self, assumption: NewServers) -> None:
        roots = self._roots(assumption.on, assumption.at.inside('on')) if assumption.on else None
        held = _placed(self.snapshot, assumption, roots)
        for allocations in held:
            new = str(uuid5(_NAMESPACE, f'server {len(self.placed)}'))
            self._allocate(Consumer(new, allocations, OWNER, OWNER, type=INSTANCE))
            self.placed.append(new)
        if missing := assumption.count - len(held):
            servers = counted(assumption.count, 'server')
            self._note(assumption.at, [f'No room for {missing} of {servers} of {assumption.shape}'])

    @make.register
    def _(self, assumption: AfterPlan) -> None:
        there = self.snapshot
        for tree in assumption.plan.trees:
            part = self._part(there, tree)
            rebased = rebase_change(tree, part)
            if rebased.obstacles:
                raise assumption.at.inside('plan').error(
                    f'the plan does not suit the cloud any more: '
                    f'{first(rebased.obstacles)}. Make the plan again'
                )
            after = simulate(part, rebased.operations)
            _replace(self._states, part.providers, after.providers)
            _replace(self._consumers, part.consumers, after.consumers)
        self._is_current = False

    def _allocate(self, consumer: Consumer) -> None:
        self._consumers[consumer.uuid] = consumer
        for provider_uuid, resources in consumer.allocations.items():
            state = self._states[provider_uuid]
            usages = dict(state.usages)
            for name, amount in resources.items():
                usages[name] = usages.get(name, 0) + amount
            self._states[provider_uuid] = replace(state, usages=usages)
        self._is_current = False

    def _edits(self, assumption: ProviderEdit) -> Iterator[tuple[Edit, Cursor]]:
        if given := assumption.inventories:
            at = assumption.at.inside('inventories')
            for sentence in Names.of(self.snapshot).impossible(given, ()):
                raise at.error(sentence)
            yield InventoryEdit(given, amend=True), at
        for facet in ('traits', 'aggregates'):
            if changes := getattr(assumption, facet):
                at = assumption.at.inside(facet)
                new = changes.get('add', ()) if facet == 'traits' else ()
                for sentence in Names.of(self.snapshot).impossible((), new):
                    raise at.inside('add').error(sentence)
                added, removed = (changes.get(key, frozenset()) for key in ('add', 'remove'))
                yield NamesEdit(facet, added, removed), at

    def _roots(self, names: Sequence[str], at: Cursor) -> list[str]:
        """Return the UUIDs of the roots of hosts, given names, UUIDs or patterns."""
        roots: dict[str, None] = {}
        for index, name in enumerate(names):
            inside = at.inside(index) if isinstance(at.value, list) else at
            if patterns.is_pattern(name) and self.snapshot.named(name) is None:
                try:
                    roots |= dict.fromkeys(self.snapshot.root_uuids([name]))
                except errors.NoSuchProvider as reason:
                    raise inside.error(str(reason)) from None
            else:
                roots[self._root(name, inside)] = None
        return list(roots)

    def _root(self, name: str, at: Cursor) -> str:
        state = self.snapshot.find(name)
        if state is None:
            names = [each.name for each in self._states.values()]
            raise at.error(f'there is no provider {name}{suggestion(name, names)}')
        if state.provider.parent_provider_uuid is not None:
            root = self.snapshot.providers[state.provider.root_uuid]
            raise at.error(f'{state.name} is a part of {root.name}: name the whole host')
        return state.uuid

    def _part(self, snapshot: Snapshot, change: TreeChange) -> Snapshot:
        """Return the part of the cloud that a change is about, as it is now.

        :param snapshot: the cloud before the plan, of which other trees have been changed since
        """
        sides = before, after = change.before, change.after
        uuids = {uuid for side in sides for uuid in side.providers}
        named = (snapshot.named(state.name) for state in after.providers.values())
        uuids |= {state.uuid for state in named if state}
        roots = {
            snapshot.providers[uuid].provider.root_uuid
            for uuid in uuids & snapshot.providers.keys()
        }
        uuids |= {state.uuid for root in roots for state in snapshot.tree(root)}
        consumers = {uuid for side in sides for uuid in side.consumers}
        for gone in before.providers.keys() - after.providers.keys():
            consumers |= {consumer.uuid for consumer in snapshot.consumers_on(gone)}
        return Snapshot(
            (self._states[uuid] for uuid in uuids if uuid in self._states),
            (self._consumers[uuid] for uuid in consumers if uuid in self._consumers),
        )

    def _note(self, at: Cursor, sentences: Iterable[str]) -> None:
        self.notes += [f'{at.path}:{at.line}: {sentence}' for sentence in sentences]


def _replace(values: dict[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Put the things of a part of a cloud in place of those that it had before."""
    for uuid in before.keys() - after.keys():
        del values[uuid]
    values.update(after)


def _copies(snapshot: Snapshot, root_uuid: str, name: str) -> Iterator[ProviderState]:
    """Return the tree of a host as an empty one of another name.

    The names of children that begin with that of the host, as those that Nova and Neutron make,
    begin with the new one then; others get it in front.
    """
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


def _placed(
    snapshot: Snapshot, servers: NewServers, roots: Sequence[str] | None
) -> list[Allocations]:
    """Return the allocations of each server that has room; hosts get one server each in turn.

    :param roots: the roots of the trees that they may be on, in order; ``None``: any, by name
    """
    cloud = DrainCloud(snapshot)
    cloud.hosts = list(cloud.topology.trees if roots is None else roots)
    requested = [requests.known(snapshot, each, {}) for each in servers.shape.requests(snapshot)]
    problem = cloud.problem(requested, ())
    allocations: list[Allocations] = []
    for request in requested:
        admitted = set(map(id, problem.shapes(request)))
        hosts = deque(host for host in problem.hosts if id(host.shape) in admitted)
        while hosts and len(allocations) < servers.count:
            host = hosts.popleft()
            if option := problem.option(request, host):
                problem.place(request, host, option)
                allocations.append(moves.held(request, host, option))
                hosts.append(host)
    return allocations
