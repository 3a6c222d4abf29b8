"""Trees that must change together: they share a target or a consumer that is written."""

from collections.abc import Iterator, Set

from placementclient.model.consumers import Consumer
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.layout.target_state import TargetProvider, TargetState


class SharedParts:
    """Finds the parts of a tree that other trees may also change.

    :param roots: of all trees that are planned, by UUID
    """

    def __init__(self, snapshot: Snapshot, spec: Spec, roots: Set[str]) -> None:
        self._snapshot, self._roots = snapshot, roots
        self._added = frozenset(uuid for each in spec.additions for uuid in each.consumers)

    def of(self, target_state: TargetState) -> frozenset[str]:
        """Return the UUIDs of the targets and consumers that other trees may change too.

        The service judges all that a consumer holds whenever it writes it. So a tree concerns the
        consumers that move in it, and those whose amounts its new units admit or refuse.
        """
        root = target_state.root.uuid
        targets = (
            provider.uuid
            for provider in target_state.providers.values()
            if provider.before is not None
            and (provider.root_provider_uuid != root or SHARING_TRAIT in provider.before.traits)
        )
        consumers = (each.uuid for each in self._concerned(target_state) if self._spans(each))
        return frozenset({*targets, *consumers})

    def _concerned(self, target_state: TargetState) -> Iterator[Consumer]:
        snapshot = self._snapshot
        for source in dict.fromkeys(where.provider_uuid for where in target_state.places):
            yield from snapshot.consumers_on(source)
        yield from (snapshot.consumers[uuid] for uuid in target_state.added)
        for provider in target_state.providers.values():
            yield from self._judged_anew(provider)

    def _judged_anew(self, provider: TargetProvider) -> Iterator[Consumer]:
        """The consumers that hold an amount that the units of a provider admit on one side only."""
        before = provider.before.inventories if provider.before else {}
        changed = [
            (name, was, provider.inventories[name])
            for name, was in before.items()
            if name in provider.inventories and was.units != provider.inventories[name].units
        ]
        for consumer in self._snapshot.consumers_on(provider.uuid) if changed else ():
            for name, was, desired in changed:
                amount = consumer.amount(provider.uuid, name)
                if amount and was.admits(amount) != desired.admits(amount):
                    yield consumer

    def _spans(self, consumer: Consumer) -> bool:
        """Return whether several of the trees that are planned may concern a consumer."""
        if consumer.uuid in self._added:
            return True
        is_one = len(consumer.allocations) == 1
        providers = self._snapshot.providers
        states = [providers[uuid] for uuid in consumer.allocations if uuid in providers]
        roots = {state.provider.root_uuid for state in states}
        return not is_one and len(roots & self._roots) > 1
