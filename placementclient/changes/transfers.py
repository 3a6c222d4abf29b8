# SPDX-License-Identifier: Apache-2.0
"""The requests that change inventories and allocations, each valid for Placement.

Placement checks an allocation against the inventory of its moment. So inventory that grows is
written before the allocations, inventory that shrinks after them. Where consumers leave inventory
that goes for other inventory, or a provider goes whose name another one gets with inventory of its
own, one ``POST /reshaper`` does it: at no moment both exist, or neither.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.changes.operations import Operation, Reshape, SetAllocations, SetInventories
from placementclient.model.connected import group_connected_keys
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventories, Inventory, InventoryKey
from placementclient.model.plans import ConsumerChange, find_changed_consumers
from placementclient.model.providers import restore_name
from placementclient.model.snapshots import Snapshot

#: Consumers in one request: so many take the service some seconds.
BATCH = 250


class _ProviderGroup(NamedTuple):
    """Providers whose inventories change, and the consumers that change on any of them."""

    provider_uuids: set[str]
    pairs: Sequence[ConsumerChange]


def transfer_in_steps(before: Snapshot, after: Snapshot) -> Iterator[Operation]:
    """Yield the operations from the inventories and allocations of one snapshot to another's.

    As few as possible share a request: only where neither can come first.
    """
    pairs = list(find_changed_consumers(before, after))
    transfer = _InventoryTransfer(before, after, pairs)
    groups = _group_providers(transfer, pairs, find_successors(before, after))
    reshaped = [group for group in groups if transfer.needs_reshape(group)]
    moving = {pair.uuid: pair for group in reshaped for pair in group.pairs}
    alone = [pair for pair in pairs if pair.uuid not in moving]
    together = {uuid for group in reshaped for uuid in group.provider_uuids}
    releases = [pair for pair in alone if pair.has_only_losses]
    others = [pair for pair in alone if not pair.has_only_losses]
    reshaped, peak = transfer.order_groups(releases, reshaped, others)
    between = transfer.make_temporary_inventories(pairs, together, peak)
    yield from _list_inventory_operations(transfer.before, between, transfer.gone | together)
    yield from _list_allocation_operations(releases)
    for group in reshaped:
        yield _make_reshape(transfer.before, between, group)
    yield from _list_allocation_operations([*others, *_list_owner_changes(moving.values())])
    yield from _list_inventory_operations(between, transfer.after, transfer.gone)


def transfer_at_once(before: Snapshot, after: Snapshot) -> Iterator[Operation]:
    """Yield one reshape of all inventories and allocations that change; then the new owners."""
    pairs = list(find_changed_consumers(before, after))
    transfer = _InventoryTransfer(before, after, pairs)
    changed = {
        uuid for uuid, inventories in transfer.after.items() if inventories != transfer.before[uuid]
    }
    if changed or any(pair.changes_allocations for pair in pairs):
        yield _make_reshape(transfer.before, transfer.after, _ProviderGroup(changed, pairs))
    yield from _list_allocation_operations(_list_owner_changes(pairs))


def find_successors(before: Snapshot, after: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the UUIDs of each deleted provider and of the one that then gets its name."""
    for uuid, state in before.providers.items():
        successor = after.find_by_name(restore_name(state.name, uuid))
        if uuid not in after.providers and successor is not None:
            yield uuid, successor.uuid


def _list_owner_changes(pairs: Iterable[ConsumerChange]) -> list[ConsumerChange]:
    """Return the changes of owners and types of consumers, which a reshape does not set."""
    return [
        ConsumerChange(_make_consumer_with_old_owner(pair), pair.after)
        for pair in pairs
        if not pair.keeps_owner
    ]


class _UsageCount:
    """The usages while requests are sent: ``now``, and ``peak``, the highest at any moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.now = {uuid: Counter(state.usages) for uuid, state in snapshot.providers.items()}
        self.restart_peak()

    def restart_peak(self) -> None:
        """Forget the peak so far: it begins anew with the usages of now."""
        self.peak = {uuid: used.copy() for uuid, used in self.now.items()}

    def add_consumers(self, pairs: Sequence[ConsumerChange], *, is_unordered: bool = False) -> None:
        """Count the consumers of one request.

        :param is_unordered: whether its place among the requests is open: then only gains count
        """
        for (uuid, name), gain in _sum_net_gains(pairs).items():
            if gain < 0 and is_unordered:
                continue
            used = self.now.setdefault(uuid, Counter())
            used[name] += gain
            peak = self.peak.setdefault(uuid, Counter())
            peak[name] = max(peak[name], used[name])


class _InventoryTransfer:
    """The inventories that change, and the temporary ones while allocations are written."""

    def __init__(
        self, before: Snapshot, after: Snapshot, consumers: Iterable[ConsumerChange]
    ) -> None:
        self._snapshot = before
        self.gone = before.providers.keys() - after.providers.keys()
        uuids = [*before.providers, *(after.providers.keys() - before.providers.keys())]
        self.before = {uuid: _get_inventories(before, uuid) for uuid in uuids}
        self.after = {uuid: _get_inventories(after, uuid) for uuid in uuids}
        self._gained = {
            (uuid, name) for change in consumers for uuid, name, gain in change.gains() if gain > 0
        }

    def order_groups(
        self,
        releases: Iterable[ConsumerChange],
        groups: Sequence[_ProviderGroup],
        others: Iterable[ConsumerChange],
    ) -> tuple[list[_ProviderGroup], Mapping[str, Counter[str]]]:
        """Return the groups in the order of their requests, and the highest usages meanwhile.

        A group that makes room for another one comes before it, if there is such an order.

        :param releases: the changes of consumers before all groups
        :param others: the changes of consumers after all groups, in any order
        :return: with the usages by provider UUID and class
        """
        usage = _UsageCount(self._snapshot)
        for pair in releases:
            usage.add_consumers([pair])
        usage.restart_peak()
        pending, result = deque(groups), list[_ProviderGroup]()
        waiting = 0
        while pending:
            group = pending.popleft()
            if waiting < len(pending) and not self._has_room(group, usage.now):
                waiting += 1
                pending.append(group)
                continue
            waiting = 0
            usage.add_consumers(group.pairs)
            result.append(group)
        for pair in others:
            usage.add_consumers([pair], is_unordered=True)
        return result, usage.peak

    def _has_room(self, group: _ProviderGroup, used_now: Mapping[str, Counter[str]]) -> bool:
        """Return whether the consumers of a group have room outside its providers.

        :param used_now: the usages before its request, by provider UUID and class
        """
        return all(
            used_now.get(uuid, Counter[str]())[name] + gain <= self.after[uuid][name].capacity
            for (uuid, name), gain in _sum_net_gains(group.pairs).items()
            if gain > 0 and uuid not in group.provider_uuids and name in self.after.get(uuid, {})
        )

    def needs_reshape(self, group: _ProviderGroup) -> bool:
        """Return whether a group needs a reshape: inventory goes, and inventory or amounts come.

        One provider without consumers in its group needs none: a request sets all its inventories.
        """
        uuids = group.provider_uuids
        is_tied = group.pairs or len(uuids) > 1
        comes = any(_grants_more(self.before[uuid], self.after[uuid]) for uuid in uuids)
        gained = any(gain > 0 for pair in group.pairs for _, _, gain in pair.gains())
        goes = any(_grants_more(self.after[uuid], self.before[uuid]) for uuid in uuids)
        return bool(is_tied and goes and (comes or gained))

    def make_temporary_inventories(
        self, pairs: Sequence[ConsumerChange], together: Set[str], peak: Mapping[str, Counter[str]]
    ) -> dict[str, Inventories]:
        """Return the inventories of all providers, by their UUID, while allocations are written.

        Placement checks all allocations of a consumer against the present inventory, also older
        ones. If that is too small, a temporary inventory has exactly the needed amount.

        :param together: the UUIDs of the providers whose inventories a reshape changes
        :param peak: the highest usages meanwhile
        """
        touched = {uuid for pair in pairs for uuid in pair.provider_uuids}
        result: dict[str, Inventories] = {}
        for uuid, after in self.after.items():
            grows = _grants_more(self.before[uuid], after)
            is_last = uuid in together or uuid not in touched or grows
            result[uuid] = after if is_last else self.before[uuid]
        for pair in pairs:
            for uuid, resources in pair.after.allocations.items():
                if uuid not in result:
                    # The provider does not change: Placement decides.
                    continue
                for name, amount in resources.items():
                    inventory = result[uuid].get(name)
                    most = peak[uuid][name]
                    # Placement allows too high a usage while no consumer gets more.
                    is_grown = (uuid, name) in self._gained
                    is_granted = inventory is not None and inventory.admits(amount)
                    if not is_granted or (is_grown and most > result[uuid][name].capacity):
                        # Room for this amount in any parts, and for nothing else.
                        result[uuid] = {**result[uuid], name: Inventory(most, max_unit=most)}
        return result


def _sum_net_gains(pairs: Iterable[ConsumerChange]) -> Counter[InventoryKey]:
    """Return how much more all the consumers have afterwards, by provider and class."""
    gains = Counter[InventoryKey]()
    for pair in pairs:
        for uuid, name, gain in pair.gains():
            gains[InventoryKey(uuid, name)] += gain
    return gains


def _get_inventories(snapshot: Snapshot, uuid: str) -> Inventories:
    state = snapshot.providers.get(uuid)
    return state.inventories if state else {}


def _grants_more(before: Inventories, after: Inventories) -> bool:
    """Return True if Placement may grant an allocation afterwards that it refuses before."""
    return any(
        name not in before or not before[name].covers(inventory)
        for name, inventory in after.items()
    )


def _group_providers(
    transfer: _InventoryTransfer,
    pairs: Sequence[ConsumerChange],
    successions: Iterable[tuple[str, str]],
) -> Iterator[_ProviderGroup]:
    """Yield the providers whose inventories change, grouped by common consumers and names.

    :param successions: as :func:`find_successors` yields them
    """
    ties: dict[str, list[int]] = {
        uuid: []
        for uuid, inventories in transfer.after.items()
        if inventories != transfer.before[uuid]
    }
    for number, uuids in enumerate([*(pair.provider_uuids for pair in pairs), *successions]):
        for uuid in ties.keys() & set(uuids):
            ties[uuid].append(number)
    for group in group_connected_keys(ties):
        numbers = sorted({number for uuid in group for number in ties[uuid]})
        yield _ProviderGroup(set(group), [pairs[n] for n in numbers if n < len(pairs)])


def _list_inventory_operations(
    before: Mapping[str, Inventories], after: Mapping[str, Inventories], excluded_uuids: Set[str]
) -> Iterator[Operation]:
    """Yield the operations that set changed inventories."""
    for uuid, desired in after.items():
        if uuid not in excluded_uuids and desired != before[uuid]:
            yield SetInventories(uuid, before[uuid], desired)


def _make_reshape(
    before: Mapping[str, Inventories], after: Mapping[str, Inventories], group: _ProviderGroup
) -> Operation:
    inventories = (
        SetInventories(uuid, before[uuid], after[uuid]) for uuid in sorted(group.provider_uuids)
    )
    consumers = (
        ConsumerChange(pair.before, _make_consumer_with_old_owner(pair))
        for pair in sorted(group.pairs, key=lambda pair: pair.uuid)
        if pair.changes_allocations
    )
    return Reshape(tuple(inventories), tuple(consumers))


def _list_allocation_operations(pairs: Sequence[ConsumerChange]) -> Iterator[Operation]:
    """Yield the operations that write consumers, many at a time.

    Those that get a type have their own operations: a request can set a type for all or none.
    """

    def sets_type(pair: ConsumerChange) -> bool:
        return bool(pair.after.allocations) and pair.before.type != pair.after.type

    for is_with_type in (False, True):
        pending = iter([pair for pair in pairs if sets_type(pair) is is_with_type])
        while batch := list(islice(pending, BATCH)):
            before, after = (pair.before for pair in batch), (pair.after for pair in batch)
            yield SetAllocations(tuple(before), tuple(after))


def _make_consumer_with_old_owner(pair: ConsumerChange) -> Consumer:
    """Return a consumer with its new allocations, and still its old owner and type."""
    return replace(pair.before, allocations=pair.after.allocations)
