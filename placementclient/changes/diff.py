# SPDX-License-Identifier: Apache-2.0
"""The operations that lead from one snapshot to another, in an order that Placement accepts.

Pure. :func:`diff` and :func:`placementclient.changes.simulation.simulate` are each other's test.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from placementclient.changes import operations as ops
from placementclient.changes.transfers import transfer_at_once, transfer_in_steps
from placementclient.model.plans import Change
from placementclient.model.providers import make_temporary_name
from placementclient.model.snapshots import Snapshot

#: Returns the operations between the inventories and allocations of two snapshots.
Transfer = Callable[[Snapshot, Snapshot], Iterable[ops.Operation]]


def diff(
    before: Snapshot, after: Snapshot, transfer: Transfer = transfer_in_steps
) -> tuple[ops.Operation, ...]:
    """Return the operations that lead from one snapshot to another; none if they are equal.

    Generations and any order do not count. Usages follow from the consumers. Providers
    gain traits before inventories and allocations change, and lose them after it: at no moment a
    tree lacks them.

    :param before: all providers and consumers that change, as they are
    :param after: these providers and consumers in their desired state: one that is missing goes.
        Every allocation has an inventory
    :param transfer: of inventories and allocations: in steps, or in one request
    """
    positions = _Positions(before, after)
    transferred = list(transfer(before, after))
    emptied = {
        change.provider_uuid
        for operation in transferred
        if isinstance(operation, ops.Reshape)
        for change in operation.inventories
    }
    return (
        *_list_class_and_trait_creations(before, after),
        *positions.list_position_changes(),
        *_list_trait_and_aggregate_writes(before, after, keeps_traits=bool(transferred)),
        *transferred,
        *(_list_trait_removals(before, after) if transferred else ()),
        *positions.list_deletions(emptied),
    )


def list_operations(change: Change, *, backward: bool = False) -> tuple[ops.Operation, ...]:
    """Return the operations of a change, or those of its rollback if it runs backward."""
    transfer = transfer_at_once if change.is_atomic else transfer_in_steps
    return diff(*change.order_snapshots(backward=backward), transfer)


def _list_class_and_trait_creations(before: Snapshot, after: Snapshot) -> Iterator[ops.Operation]:
    """Yield the operations that create the custom classes and traits which providers gain."""
    for kind, facet in ((ops.EnsureClass, 'inventories'), (ops.EnsureTrait, 'traits')):
        existing, desired = (
            {name for state in side.providers.values() for name in getattr(state, facet)}
            for side in (before, after)
        )
        for name in sorted(desired - existing):
            if name.startswith('CUSTOM_'):
                yield kind(name)


def _list_trait_and_aggregate_writes(
    before: Snapshot, after: Snapshot, *, keeps_traits: bool
) -> Iterator[ops.Operation]:
    """Yield the operations that set the traits and aggregates of providers.

    :param keeps_traits: whether providers keep the traits that they lose, for now
    """
    for uuid, state in after.providers.items():
        live = before.providers.get(uuid)
        traits = live.traits if live else frozenset()
        desired = state.traits | traits if keeps_traits else state.traits
        if traits != desired:
            yield ops.SetTraits(uuid, traits, desired)
        aggregates = live.aggregates if live else frozenset()
        if aggregates != state.aggregates:
            yield ops.SetAggregates(uuid, aggregates, state.aggregates)


def _list_trait_removals(before: Snapshot, after: Snapshot) -> Iterator[ops.Operation]:
    """Yield the operations that remove the traits which providers lose."""
    for uuid, state in after.providers.items():
        live = before.providers.get(uuid)
        if live is not None and not live.traits <= state.traits:
            yield ops.SetTraits(uuid, live.traits | state.traits, state.traits)


class _Positions:
    """The names and parents of providers, as they are after the operations so far."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self._before, self._after = before, after
        self._now = {
            uuid: ops.Position(*state.position) for uuid, state in before.providers.items()
        }
        self._holders = {position.name: uuid for uuid, position in self._now.items()}

    def list_position_changes(self) -> Iterator[ops.Operation]:
        """Yield the operations that create and move providers, parents first, and then rename them.

        So, wherever they end early, the names below a provider begin with its own as before.
        """
        # Some may be below a provider that does not change, which a snapshot need not have.
        states = self._after.providers
        tops = [s for s in states.values() if s.provider.parent_provider_uuid not in states]
        tops.sort(key=lambda state: state.name)
        ordered = [state.uuid for top in tops for state in self._after.tree(top.uuid)]
        pending = [
            uuid for uuid in ordered if self._now.get(uuid) != self._get_desired_position(uuid)
        ]
        renamed = [uuid for uuid in reversed(pending) if self._has_desired_parent(uuid)]
        pending = [*(uuid for uuid in pending if not self._has_desired_parent(uuid)), *renamed]
        while pending:
            waiting = []
            for uuid in pending:
                if self._is_position_possible(uuid):
                    yield self._change_position(uuid, self._get_desired_position(uuid))
                else:
                    waiting.append(uuid)
            if len(waiting) == len(pending):
                yield self._release_needed_name(waiting)
            pending = waiting

    def list_deletions(self, emptied: Set[str]) -> Iterator[ops.Operation]:
        """Yield the operations that delete providers, children before their parents.

        :param emptied: the UUIDs of providers whose inventories a reshape removes
        """
        gone = [uuid for uuid in self._now if uuid not in self._after.providers]
        for uuid in sorted(
            gone, key=lambda uuid: (-len(self._find_ancestors(uuid)), self._now[uuid].name)
        ):
            state = self._before.providers[uuid]
            inventories = {} if uuid in emptied else state.inventories
            yield ops.DeleteProvider(
                uuid, *self._now[uuid], inventories, state.traits, state.aggregates
            )

    def _get_desired_position(self, uuid: str) -> ops.Position:
        return ops.Position(*self._after.providers[uuid].position)

    def _has_desired_parent(self, uuid: str) -> bool:
        live, desired = self._now.get(uuid), self._get_desired_position(uuid)
        return live is not None and live.parent_provider_uuid == desired.parent_provider_uuid

    def _is_position_possible(self, uuid: str) -> bool:
        """Return whether Placement would accept the desired name and parent of a provider now."""
        name, parent = self._get_desired_position(uuid)
        is_name_free = self._holders.get(name, uuid) == uuid
        # A snapshot may name a parent that it does not have.
        is_there = parent in self._now or parent not in self._after.providers
        return is_name_free and is_there and uuid not in self._find_ancestors(parent)

    def _change_position(self, uuid: str, position: ops.Position) -> ops.Operation:
        """Return the operation that creates a provider, or gives it another name and parent."""
        live = self._now.get(uuid)
        if live is not None:
            del self._holders[live.name]
        self._now[uuid] = position
        self._holders[position.name] = uuid
        if live is None:
            return ops.CreateProvider(uuid, *position)
        return ops.UpdateProvider(uuid, live, position)

    def _release_needed_name(self, pending: Sequence[str]) -> ops.Operation:
        """Return the operation that renames a provider whose name one of ``pending`` needs."""
        desired = ((self._get_desired_position(uuid).name, uuid) for uuid in pending)
        holders = ((self._holders.get(name, uuid), uuid) for name, uuid in desired)
        holder = next(holder for holder, uuid in holders if holder != uuid)
        live = self._now[holder]
        return self._change_position(
            holder, live._replace(name=make_temporary_name(live.name, holder))
        )

    def _find_ancestors(self, uuid: str | None) -> set[str]:
        """Return the UUIDs of a provider and of all above it now; nothing for ``None``."""
        ancestors: set[str] = set()
        while uuid is not None and uuid not in ancestors:
            ancestors.add(uuid)
            uuid = self._now[uuid].parent_provider_uuid if uuid in self._now else None
        return ancestors
