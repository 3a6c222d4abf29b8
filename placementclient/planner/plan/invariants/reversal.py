"""The operations of a plan lead from before to after, and their inverse leads back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from placementclient.changes.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.model.consumers import Allocations
from placementclient.model.inventories import Inventory
from placementclient.planner.plan.invariants.subject import Subject
from placementclient.planner.plan.state_changes import ProviderContent


def faults(subject: Subject) -> Iterator[str]:
    """The operations lead from before to after, and the inverse leads back."""
    tree = subject.tree
    before = {
        change.uuid: replace(change.before, generation=None)
        for change in tree.providers
        if change.before is not None
    }
    after = {change.uuid: change.after for change in tree.providers}
    held = {change.uuid: change.before for change in tree.consumers}
    state = _ReversalSimulation(dict(before), dict(held))
    state.run(tree.operations())
    if state.providers != after or state.consumers != {
        change.uuid: change.after for change in tree.consumers
    }:
        yield 'the operations do not lead to what the plan says'
    state.run(tree.inverse())
    if state.providers != before or state.consumers != held:
        yield 'the inverse does not lead back'


class _ReversalSimulation:
    """A Placement that only knows what a plan is about."""

    def __init__(
        self, providers: dict[str, ProviderContent], consumers: dict[str, Allocations]
    ) -> None:
        self.providers, self.consumers = providers, consumers

    def run(self, operations: tuple[Operation, ...]) -> None:
        for operation in operations:
            match operation:
                case EnsureClass() | EnsureTrait():
                    pass
                case CreateProvider():
                    self.providers[operation.uuid] = ProviderContent()
                case DeleteProvider():
                    self.providers.pop(operation.uuid, None)
                case SetTraits():
                    self._change(operation.provider_uuid, traits=operation.after)
                case SetAggregates():
                    self._change(operation.provider_uuid, aggregates=operation.after)
                case Reshape():
                    for change in operation.inventories:
                        self._change(change.provider_uuid, inventories=change.after)
                    for consumer in operation.consumers:
                        self.consumers[consumer.uuid] = consumer.after

    def _change(
        self, provider_uuid: str, **fields: frozenset[str] | Mapping[str, Inventory]
    ) -> None:
        content = self.providers.get(provider_uuid)
        if content is not None:
            self.providers[provider_uuid] = replace(content, **fields)  # type: ignore[arg-type]
