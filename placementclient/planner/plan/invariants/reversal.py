"""The operations of a plan lead from before to after, and their inverse leads back."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient.changes.simulation import Simulation
from placementclient.model.snapshots import ProviderState
from placementclient.planner.plan.invariants.subject import Subject
from placementclient.planner.plan.sides import before_of
from placementclient.planner.plan.state_changes import ProviderContent


def faults(subject: Subject) -> Iterator[str]:
    """The operations lead from before to after, and the inverse leads back."""
    tree = subject.tree
    begin = before_of(tree)
    simulation = Simulation(begin.providers, begin.consumers)
    before = _there(simulation)
    after = (
        {
            each.uuid: (each.name, each.parent_provider_uuid, *_values(each.after))
            for each in tree.providers
        },
        {each.uuid: each.after for each in tree.consumers if each.after},
    )
    simulation.run(tree.operations)
    if _there(simulation) != after:
        yield 'the operations do not lead to what the plan says'
    simulation.run(tree.inverse())
    if _there(simulation) != before:
        yield 'the inverse does not lead back'


def _there(simulation: Simulation) -> tuple[object, ...]:
    """Return all that operations change."""
    return (
        {
            uuid: (state.name, state.provider.parent_provider_uuid, *_values(state))
            for uuid, state in simulation.states.items()
        },
        {
            uuid: consumer.allocations
            for uuid, consumer in simulation.consumers.items()
            if consumer.allocations
        },
    )


def _values(content: ProviderState | ProviderContent) -> tuple[object, ...]:
    return content.inventories, content.traits, content.aggregates
