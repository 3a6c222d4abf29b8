# SPDX-License-Identifier: Apache-2.0
"""Plans: the changes of trees, before and after, and the input of the decision. Pure."""

import enum
import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

import msgspec
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.strict_json import Integer
from placementclient.basis.wording import join_names, suggest_similar
from placementclient.model import patterns
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.providers import normalize_uuid
from placementclient.model.snapshots import Origin, ProviderState, Snapshot
from placementclient.model.specifications import Spec

S = TypeVar('S')


class RowLabel(enum.StrEnum):
    """The reason for the place of a row: an operator's row, no other place, or a choice."""

    MAPPED = 'mapped'
    FORCED = 'forced'
    INFERRED = 'inferred'


class PlannedRow(msgspec.Struct, frozen=True, gc=False):
    """An amount of one class of one consumer, and its new place.

    :param from_provider: the name of the source; ``None`` for an addition
    :param to_provider: the name of the target, which is the source if the amount stays; ``None``
        in a report on amounts that are freed
    """

    consumer_uuid: str
    resource_class: str
    amount: Integer
    from_provider: str | None
    to_provider: str | None
    to_resource_class: str
    label: RowLabel
    evidence: str | None = None

    @property
    def is_move(self) -> bool:
        """Return whether the amount goes to another provider or class."""
        origin = self.from_provider, self.resource_class
        return origin != (self.to_provider, self.to_resource_class)


class InventoryMove(msgspec.Struct, frozen=True, gc=False):
    """Inventory of one class that moves from one provider to another; both are names."""

    from_provider: str
    resource_class: str
    to_provider: str
    to_resource_class: str
    amount: Integer


class Notice(msgspec.Struct, frozen=True, gc=False):
    """Something that an operator should know before the plan is applied.

    :param kind: stable, for programs: ``capacity-lost``, ``overcommitted``, …
    :param facts: the figures and names that the message is made of
    """

    kind: str
    message: str
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)


class UnplannedTree(msgspec.Struct, frozen=True, gc=False):
    """A tree without a plan, with the reasons."""

    root_provider_uuid: str
    root_provider_name: str
    reasons: tuple[Notice, ...]


class ProviderChange(msgspec.Struct, frozen=True, gc=False):
    """A provider before and after a change; ``None`` where it does not exist."""

    before: ProviderState | None
    after: ProviderState | None

    @property
    def state(self) -> ProviderState:
        """The provider after the change; before it, if the change deletes it."""
        state = self.after or self.before
        assert state is not None
        return state

    @property
    def uuid(self) -> str:
        return self.state.uuid

    @property
    def name(self) -> str:
        """The name after the change; that before it, if the change deletes the provider."""
        return self.state.name

    @property
    def parent_provider_uuid(self) -> str | None:
        """The UUID of the parent after the change; ``None`` of a root."""
        return self.state.provider.parent_provider_uuid

    @property
    def root_provider_uuid(self) -> str:
        """The UUID of the root of the tree after the change."""
        return self.state.provider.root_uuid

    @property
    def is_created(self) -> bool:
        """Return whether the change creates the provider."""
        return self.before is None

    @property
    def content_before(self) -> ProviderState:
        """The content before the change; empty for a new provider."""
        return self.before or ProviderState(self.state.provider)

    @property
    def content_after(self) -> ProviderState:
        """The content after the change; empty for a deleted provider."""
        return self.after or ProviderState(self.state.provider)

    @property
    def is_changed(self) -> bool:
        """Return whether anything that a request can set changes."""
        return (self.before and self.before.content) != (self.after and self.after.content)

    @property
    def is_moved(self) -> bool:
        """Return whether a remaining provider gets another name, parent or root."""
        sides = self.content_before, self.content_after
        return len({(*state.position, state.provider.root_uuid) for state in sides}) > 1

    @property
    def changed_classes(self) -> set[str]:
        before, after = self.content_before.inventories, self.content_after.inventories
        return {name for name in {*before, *after} if before.get(name) != after.get(name)}

    @property
    def lost_traits(self) -> frozenset[str]:
        """The traits that a provider has only before the change."""
        return self.content_before.traits - self.content_after.traits


class ConsumerChange(msgspec.Struct, frozen=True, gc=False):
    """A consumer before and after a change; where it does not exist, it has no allocations."""

    before: Consumer
    after: Consumer

    @property
    def uuid(self) -> str:
        return self.before.uuid

    @property
    def provider_uuids(self) -> set[str]:
        """The providers with allocations of the consumer, before or after."""
        return {*self.before.allocations, *self.after.allocations}

    @property
    def changes_allocations(self) -> bool:
        return self.before.allocations != self.after.allocations

    @property
    def keeps_owner(self) -> bool:
        return self.before.owner == self.after.owner

    @property
    def has_only_losses(self) -> bool:
        """Return whether the consumer only gives allocations back."""
        return self.changes_allocations and all(gain <= 0 for _, _, gain in self.gains())

    def has_outdated_losses(self, live: Consumer | None) -> bool:
        """Return whether the change only frees allocations, and its consumer has changed since.

        The plan was right to free them only for the consumer as it was then.

        :param live: the consumer as it is now
        """
        then, now = self.before.generation, live.generation if live else None
        return self.has_only_losses and None not in (then, now) and then != now

    def with_owner_of(self, live: Consumer) -> Self:
        """Return the change with the live owner before and after, unless it sets another owner."""
        after = self.after
        if after.allocations:
            # Placement lets no consumer lose its type.
            after = replace(after, type=after.type or live.type)
        sides = [side.owner if side.allocations else None for side in (self.before, after)]
        if sides[0] != sides[1]:
            return replace(self, after=after)
        owner = {'project_id': live.project_id, 'user_id': live.user_id, 'type': live.type}
        return replace(self, before=replace(self.before, **owner), after=replace(after, **owner))

    def gains(self) -> Iterator[tuple[str, str, int]]:
        """Yield a provider's UUID, a class, and the gained amount; a loss is negative."""
        for uuid in self.provider_uuids:
            before = self.before.allocations.get(uuid, {})
            after = self.after.allocations.get(uuid, {})
            for name in {**before, **after}:
                yield uuid, name, after.get(name, 0) - before.get(name, 0)


def find_changed_providers(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Yield the UUIDs of the providers that differ in two snapshots, those of ``before`` first."""
    for uuid in {**before.providers, **after.providers}:
        if ProviderChange(before.providers.get(uuid), after.providers.get(uuid)).is_changed:
            yield uuid


def find_changed_consumers(before: Snapshot, after: Snapshot) -> Iterator[ConsumerChange]:
    """Yield the consumers whose allocations or owners change, by UUID."""
    for uuid in sorted({*before.consumers, *after.consumers}):
        change = _make_consumer_change(before.consumers.get(uuid), after.consumers.get(uuid))
        if change.changes_allocations or not change.keeps_owner:
            yield change


def _make_consumer_change(before: Consumer | None, after: Consumer | None) -> ConsumerChange:
    """Return the change of a consumer that may not exist before (``None``) or after."""
    if after is None:
        assert before is not None
        return ConsumerChange(before, replace(before, allocations={}))
    if before is None:
        new = replace(after, generation=None)
        return ConsumerChange(replace(new, allocations={}, type=None), new)
    # Placement lets no consumer lose its type.
    kind = after.type or before.type
    if (after.generation, after.type) == (before.generation, kind):
        return ConsumerChange(before, after)
    return ConsumerChange(before, replace(after, generation=before.generation, type=kind))


@dataclass(frozen=True)
class Change:
    """The change of one tree, or of several trees that change together.

    :param roots: the names of the roots of its trees, by UUID; the first one names the change
    :param before: every provider and consumer that changes, and the providers around them
    :param is_atomic: whether all inventories and allocations change in one request
    :param reasons: of a reshape, the rows that give each allocation its place
    :param moves: of a reshape, the inventories that move
    :param residents: consumers that hold a moved class on a target of this tree from before, and
        keep it there, also after a rollback
    """

    roots: Mapping[str, str]
    before: Snapshot
    after: Snapshot
    is_atomic: bool = False
    reasons: tuple[PlannedRow, ...] = ()
    moves: tuple[InventoryMove, ...] = ()
    residents: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()

    @functools.cached_property
    def root_provider_uuid(self) -> str:
        return next(iter(self.roots))

    @property
    def root_provider_name(self) -> str:
        return self.roots[self.root_provider_uuid]

    @functools.cached_property
    def concerned_roots(self) -> tuple[str, ...]:
        """The UUIDs of the roots of its trees, then of those that share inventory with them."""
        sides = self.before, self.after
        others = {state.provider.root_uuid for side in sides for state in side.providers.values()}
        return (*self.roots, *sorted(others - self.roots.keys()))

    @functools.cached_property
    def providers(self) -> tuple[ProviderChange, ...]:
        """All its providers: in the order of the trees afterwards, then the deleted ones."""
        before, after = self.before.providers, self.after.providers
        return tuple(
            ProviderChange(before.get(uuid), after.get(uuid)) for uuid in {**after, **before}
        )

    @functools.cached_property
    def consumers(self) -> tuple[ConsumerChange, ...]:
        """The consumers whose allocations or owners change, by UUID."""
        return tuple(find_changed_consumers(self.before, self.after))

    def order_snapshots(self, *, backward: bool = False) -> tuple[Snapshot, Snapshot]:
        """Return the snapshots before and after the change; of its rollback if it runs backward.

        :param backward: whether the change is rolled back
        """
        return (self.after, self.before) if backward else (self.before, self.after)

    def list_local_providers(self) -> Iterator[ProviderChange]:
        """Yield the providers in its trees, without those of other trees that share with them."""
        roots = self.roots
        return (provider for provider in self.providers if provider.root_provider_uuid in roots)

    def list_created_providers(self) -> Iterator[ProviderChange]:
        """Yield the new providers, parents before their children."""
        return (provider for provider in self.providers if provider.is_created)

    @property
    def is_empty(self) -> bool:
        """Return True if the change needs no request."""
        return not self.consumers and not any(provider.is_changed for provider in self.providers)


class PlanOptions(msgspec.Struct, frozen=True):
    """The options of the planning.

    :param allow_inferred: whether rows that had a choice were given a place
    :param skip_infeasible: whether trees that cannot be planned were left out
    """

    allow_inferred: bool
    skip_infeasible: bool


class Recipe(msgspec.Struct, Generic[S], frozen=True):
    """The input of a reshape, from which its trees are planned again."""

    spec: S
    assignments: tuple[AssignmentRow, ...]
    options: PlanOptions


@dataclass(frozen=True)
class Plan:
    """The changes of one tree or of thousands, and the input from which they were planned.

    :param command: the command that made it, without the program
    :param recipe: the input of a reshape; ``None`` of other changes
    :param left_out: trees that could not be planned, where that was allowed
    :param digest: of its file, which identifies the plan; ``None`` before the plan is in a file
    """

    changes: tuple[Change, ...]
    command: str = ''
    recipe: Recipe[Spec] | None = None
    left_out: tuple[UnplannedTree, ...] = ()
    origin: Origin | None = None
    digest: str | None = field(default=None, compare=False)

    def find_change(self, name_or_uuid: str) -> Change | None:
        """Return the change of the tree whose root has this UUID or name; ``None`` without one."""
        return self._changes_by_root.get(name_or_uuid) or self._changes_by_root.get(
            normalize_uuid(name_or_uuid)
        )

    def select_changes(self, names: Collection[str]) -> tuple[Change, ...]:
        """Return the changes of some trees, in the order of the plan.

        :param names: names or UUIDs of roots, or patterns of names; none: all
        :raises errors.NoSuchProvider: if one of them is not of the plan
        """
        selected = set()
        for name in patterns.expand_patterns(names, self._root_uuids, 'tree of the plan'):
            change = self.find_change(name)
            if change is None:
                roots = [change.root_provider_name for change in self.changes]
                near = suggest_similar(name, roots) or f'. It has {join_names(roots, 5) or "none"}'
                raise errors.NoSuchProvider(f'The plan has no tree {name!r}{near}')
            selected.add(change.root_provider_uuid)
        return tuple(
            change for change in self.changes if not names or change.root_provider_uuid in selected
        )

    def _root_uuids(self) -> dict[str, str]:
        """Return the UUIDs of the roots of all trees by name."""
        return {name: uuid for change in self.changes for uuid, name in change.roots.items()}

    @functools.cached_property
    def _changes_by_root(self) -> dict[str, Change]:
        """The changes by the names and the UUIDs of their roots; a UUID wins."""
        by_name = {name: change for change in self.changes for name in change.roots.values()}
        return by_name | {uuid: change for change in self.changes for uuid in change.roots}
