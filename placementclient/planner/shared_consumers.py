"""Consumers of several trees: the service judges all that they hold whenever it writes them.

A tree that changes units may so make that another tree can be planned, or that it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from placementclient.model.consumers import Consumer
from placementclient.planner.layout.overlay import SnapshotOverlay
from placementclient.planner.layout.target_state import TargetState
from placementclient.planner.specification.values import Spec


class SharedConsumers:
    """The consumers that trees have in common, collected tree by tree.

    :param roots: of all trees that are planned, by UUID
    """

    def __init__(self, spec: Spec, roots: Set[str]) -> None:
        self._roots = roots
        self._added = frozenset(uuid for each in spec.additions for uuid in each.consumers)
        #: of each tree, those that it may write, or whose writing it allows or forbids
        self._concerned: dict[str, frozenset[str]] = {}
        #: those whose writing some tree allows or forbids
        self._rejudged: set[str] = set()

    def add(self, overlay: SnapshotOverlay, target_state: TargetState) -> frozenset[str]:
        """Take the consumers of one more tree.

        :return: those that it could not write at present, by UUID
        """
        root = target_state.root.uuid
        written = [each for each in _written(overlay, target_state) if self._spans(overlay, each)]
        rejudged = {
            consumer.uuid
            for consumer, _ in _rejudged(overlay, target_state)
            if self._spans(overlay, consumer)
        }
        self._rejudged |= rejudged
        self._concerned[root] = frozenset(rejudged).union(each.uuid for each in written)
        return frozenset(each.uuid for each in written if _is_stuck(overlay, each))

    def of(self, root: str) -> frozenset[str]:
        """Return the consumers of a tree whose writing some tree so far allows or forbids.

        :param root: its UUID
        """
        return self._concerned[root] & self._rejudged

    def _spans(self, overlay: SnapshotOverlay, consumer: Consumer) -> bool:
        """Return whether several of the trees that are planned may write a consumer, or bar it."""
        if consumer.uuid in self._added:
            return True
        is_one = len(consumer.allocations) == 1
        return not is_one and len(overlay.roots_of(consumer) & self._roots) > 1


def is_judged_by_order(overlay: SnapshotOverlay, target_states: Sequence[TargetState]) -> bool:
    """Return whether some consumer can only be written in one tree as long as another one is as it
    was."""
    written = {
        where.provider_uuid: target_state.root.uuid
        for target_state in target_states
        for where in target_state.places
    }
    added: dict[str, set[str]] = {}
    for target_state in target_states:
        for consumer_uuid in target_state.added:
            added.setdefault(consumer_uuid, set()).add(target_state.root.uuid)
    return any(
        added.get(consumer.uuid, {root}) != {root}
        or any(written.get(uuid, root) != root for uuid in consumer.allocations)
        for target_state in target_states
        for root in [target_state.root.uuid]
        for consumer, is_barred in _rejudged(overlay, target_state)
        if is_barred
    )


def _written(overlay: SnapshotOverlay, target_state: TargetState) -> list[Consumer]:
    """The consumers that a tree may write, since something of them moves or comes."""
    consumers = {
        consumer.uuid: consumer
        for source in dict.fromkeys(where.provider_uuid for where in target_state.places)
        for consumer in overlay.consumers_on(source)
    }
    consumers |= {uuid: overlay.consumer(uuid) for uuid in target_state.added}
    return [*consumers.values()]


def _is_stuck(overlay: SnapshotOverlay, consumer: Consumer) -> bool:
    """Return whether a consumer holds an amount against the units.

    The service would not write it again, until the tree goes first in which that changes.
    """
    states = [state for uuid in consumer.allocations if (state := overlay.state(uuid))]
    return any(
        name in state.inventories and not state.inventories[name].admits(amount)
        for state in states
        for name, amount in consumer.allocations[state.uuid].items()
    )


def _rejudged(
    overlay: SnapshotOverlay, target_state: TargetState
) -> Iterator[tuple[Consumer, bool]]:
    """The consumers that hold an amount of which a tree changes whether the units admit it.

    :return: each with whether they admit it only as long as the tree is as it was
    """
    for provider in target_state.providers.values():
        if provider.before:
            before = provider.before.inventories
            yield from overlay.rejudged(provider.uuid, before, provider.inventories)
