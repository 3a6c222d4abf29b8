"""A plan of changes: written by one command, reviewed, and carried out by another. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placementclient.changes import transfers
from placementclient.changes.diff import diff
from placementclient.changes.operations import Operation
from placementclient.changes.simulation import simulate
from placementclient.model.origin import Origin
from placementclient.model.planned_trees import PlannedTrees
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True)
class ChangeSet:
    """The changes of one tree, or of several trees between which consumers move.

    :param root_provider_uuid: of the first of the trees
    :param before: every provider and consumer that changes, the providers above them, and those
        that the consumers use
    :param after: the same in its wanted state
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
class ChangePlan(PlannedTrees[ChangeSet]):
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


def plan(command: str, before: Snapshot, after: Snapshot) -> ChangePlan:
    """Make a plan of all that differs between two snapshots.

    :param command: the command that it is made by, without the program
    :param before: what was read
    :param after: all of it in its wanted state
    """
    # With the roots and usages that follow from the rest.
    after = simulate(before, diff(before, after))
    parts = _parts(before, after)
    owners = {uuid: part for part in parts for uuid in part.changed}
    sets = (_change_set(before, after, part, owners) for part in parts)
    trees = sorted(sets, key=lambda tree: (tree.root_provider_name, tree.root_provider_uuid))
    return ChangePlan(command, tuple(trees), before.origin)


@dataclass(slots=True)
class _JoinedTrees:
    """Trees that change together.

    :param changed: the UUIDs of the providers that change
    :param used: those of the providers that the consumers use, which may change or not
    """

    roots: dict[str, None] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    consumer_uuids: list[str] = field(default_factory=list)


def _parts(before: Snapshot, after: Snapshot) -> list[_JoinedTrees]:
    by_root: dict[str, _JoinedTrees] = {}
    for uuid in {**before.providers, **after.providers}:
        was, wanted = before.providers.get(uuid), after.providers.get(uuid)
        if _content(was) != _content(wanted):
            part = _joined(by_root, _roots_of(uuid, before, after))
            part.changed[uuid] = None
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
        part.used.update(dict.fromkeys(sorted(pair.provider_uuids)))
    _join_by_name(by_root, before, after)
    return list({id(part): part for part in by_root.values()}.values())


def _join_by_name(by_root: dict[str, _JoinedTrees], before: Snapshot, after: Snapshot) -> None:
    """Join the parts of two providers of which one has, or gets, the name that the other had."""
    pairs = {*transfers.successions(before, after)}
    for uuid, state in after.providers.items():
        holder = before.named(state.name)
        if holder is not None and holder.uuid != uuid:
            pairs.add((holder.uuid, uuid))
    for pair in sorted(pairs):
        _joined(by_root, [root for uuid in pair for root in _roots_of(uuid, before, after)])


def _joined(by_root: dict[str, _JoinedTrees], roots: Iterable[str]) -> _JoinedTrees:
    """Return the part that has all of these trees."""
    found = {id(part): part for root in roots if (part := by_root.get(root))}
    first, *others = found.values() or [_JoinedTrees()]
    for part in others:
        first.roots |= part.roots
        first.changed |= part.changed
        first.used |= part.used
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


def _change_set(
    before: Snapshot, after: Snapshot, part: _JoinedTrees, owners: Mapping[str, _JoinedTrees]
) -> ChangeSet:
    surroundings = _with_ancestors(before, after, [*part.changed, *part.used])
    # Each provider that changes is in one change set.
    uuids = [uuid for uuid in surroundings if owners.get(uuid, part) is part]
    sides = _excerpt(before, part, uuids), _excerpt(after, part, uuids)
    names = {state.uuid: state.name for side in reversed(sides) for state in side.roots()}
    own = [root for root in part.roots if root in names] or list(part.roots)
    root = min(own, key=lambda uuid: names.get(uuid, uuid))
    return ChangeSet(root, names.get(root, root), *sides)


def _excerpt(snapshot: Snapshot, part: _JoinedTrees, uuids: Iterable[str]) -> Snapshot:
    states = (snapshot.providers.get(uuid) for uuid in uuids)
    consumers = (snapshot.consumers.get(uuid) for uuid in part.consumer_uuids)
    return Snapshot(filter(None, states), filter(None, consumers))


def _with_ancestors(before: Snapshot, after: Snapshot, uuids: Iterable[str]) -> list[str]:
    """Return providers and all above them, on either side.

    Both sides of a change set have the same ones: a provider that is on one side alone comes or
    goes.
    """
    pending, found = list(uuids), dict[str, None]()
    while pending:
        uuid = pending.pop()
        if uuid in found:
            continue
        found[uuid] = None
        for side in (before, after):
            state = side.providers.get(uuid)
            if state is not None and state.provider.parent_provider_uuid is not None:
                pending.append(state.provider.parent_provider_uuid)
    return list(found)
