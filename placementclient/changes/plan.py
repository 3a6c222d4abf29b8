"""A plan of changes: written by one command, reviewed, and carried out by another. Pure."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from placementclient import errors
from placementclient.changes import transfers
from placementclient.changes.diff import diff
from placementclient.changes.operations import Operation
from placementclient.model.consumers import Consumer
from placementclient.model.origin import Origin
from placementclient.model.providers import normalized
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True)
class ChangeSet:
    """The changes of one tree, or of several trees between which consumers move.

    :param root_provider_uuid: of the first of the trees
    :param before: every provider and consumer that changes, the providers above them, and those
        that the consumers use
    :param after: the same, as it shall be
    """

    root_provider_uuid: str
    root_provider_name: str
    before: Snapshot
    after: Snapshot
    #: Nothing waits for another change set: what belongs together is in one.
    follows: tuple[str, ...] = ()

    @functools.cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that lead from before to after."""
        return diff(self.before, self.after)

    @property
    def provider_uuids(self) -> list[str]:
        """All providers of the change set, before or after."""
        return list({**self.before.providers, **self.after.providers})


@dataclass(frozen=True)
class ChangePlan:
    """A plan of changes.

    :param command: the command that made it, without the program
    :param trees: by the names of their roots
    :param origin: the service that was read, and when
    :param digest: of its file; ``None`` before it is in a file
    """

    command: str
    trees: tuple[ChangeSet, ...]
    origin: Origin | None = None
    digest: str | None = field(default=None, compare=False)

    def tree(self, name_or_uuid: str) -> ChangeSet | None:
        """The change set of the tree whose root has this UUID or name."""
        return self._by_root.get(name_or_uuid) or self._by_root.get(normalized(name_or_uuid))

    def selected(self, names: Collection[str]) -> tuple[ChangeSet, ...]:
        """The change sets of some trees, in the order of the plan.

        :param names: names or UUIDs of roots; none: all
        :raises errors.NoSuchProvider: if one of them is not of the plan
        """
        wanted = set()
        for name in names:
            tree = self.tree(name)
            if tree is None:
                raise errors.NoSuchProvider(f'The plan has no tree {name!r}')
            wanted.add(tree.root_provider_uuid)
        return tuple(tree for tree in self.trees if not names or tree.root_provider_uuid in wanted)

    @functools.cached_property
    def _by_root(self) -> dict[str, ChangeSet]:
        by_name = {tree.root_provider_name: tree for tree in self.trees}
        return by_name | {tree.root_provider_uuid: tree for tree in self.trees}


def plan(command: str, before: Snapshot, after: Snapshot) -> ChangePlan:
    """Make a plan of all that differs between two snapshots.

    :param command: the command that it is made by, without the program
    :param before: what was read
    :param after: all of it, as it shall be
    """
    sets = (_change_set(before, after, part) for part in _parts(before, after))
    trees = sorted(sets, key=lambda tree: (tree.root_provider_name, tree.root_provider_uuid))
    return ChangePlan(command, tuple(trees), before.origin)


@dataclass(slots=True)
class _Part:
    """Trees that change together."""

    roots: dict[str, None] = field(default_factory=dict)
    provider_uuids: dict[str, None] = field(default_factory=dict)
    consumer_uuids: list[str] = field(default_factory=list)


def _parts(before: Snapshot, after: Snapshot) -> list[_Part]:
    by_root: dict[str, _Part] = {}
    for uuid in {**before.providers, **after.providers}:
        was, wanted = before.providers.get(uuid), after.providers.get(uuid)
        if _content(was) != _content(wanted):
            part = _joined(by_root, _roots_of(uuid, before, after))
            part.provider_uuids[uuid] = None
    for pair in transfers.changed_consumers(before, after):
        changing = {uuid for uuid, _, gain in pair.gains() if gain}
        roots = {
            root
            for uuid in changing or pair.provider_uuids
            for root in _roots_of(uuid, before, after)
        }
        if not changing:
            # Only its owner: any of its trees will do.
            roots = {min(roots)}
        part = _joined(by_root, sorted(roots))
        part.consumer_uuids.append(pair.after.uuid)
        part.provider_uuids.update(dict.fromkeys(sorted(pair.provider_uuids)))
    return list({id(part): part for part in by_root.values()}.values())


def _joined(by_root: dict[str, _Part], roots: Iterable[str]) -> _Part:
    """Return the part that has all of these trees."""
    found = {id(part): part for root in roots if (part := by_root.get(root))}
    first, *others = found.values() or [_Part()]
    for part in others:
        first.roots |= part.roots
        first.provider_uuids |= part.provider_uuids
        first.consumer_uuids += part.consumer_uuids
    first.roots.update(dict.fromkeys(roots))
    by_root.update(dict.fromkeys(first.roots, first))
    return first


def _roots_of(uuid: str, *snapshots: Snapshot) -> list[str]:
    states = (snapshot.providers.get(uuid) for snapshot in snapshots)
    return sorted({state.provider.root_uuid for state in states if state} or {uuid})


def _content(state: ProviderState | None) -> object:
    """All that a change can be about."""
    if state is None:
        return None
    position = state.name, state.provider.parent_provider_uuid
    return position, state.inventories, state.traits, state.aggregates


def _change_set(before: Snapshot, after: Snapshot, part: _Part) -> ChangeSet:
    sides = _excerpt(before, part), _excerpt(after, part)
    names = {state.uuid: state.name for side in reversed(sides) for state in side.roots()}
    own = [root for root in part.roots if root in names] or list(part.roots)
    root = min(own, key=lambda uuid: names.get(uuid, uuid))
    return ChangeSet(root, names.get(root, root), *sides)


def _excerpt(snapshot: Snapshot, part: _Part) -> Snapshot:
    states = {
        state.uuid: state
        for uuid in part.provider_uuids
        for state in _with_ancestors(snapshot, uuid)
    }
    consumers: Iterable[Consumer | None] = map(snapshot.consumers.get, part.consumer_uuids)
    return Snapshot(states.values(), filter(None, consumers))


def _with_ancestors(snapshot: Snapshot, uuid: str | None) -> Iterator[ProviderState]:
    while (state := snapshot.providers.get(uuid or '')) is not None:
        yield state
        uuid = state.provider.parent_provider_uuid
