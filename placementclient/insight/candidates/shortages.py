# SPDX-License-Identifier: Apache-2.0
"""The reasons why a tree does not satisfy a requirement, as facts."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placementclient.insight.candidates.requirements import Requirement, RequirementKind
from placementclient.model.snapshots import ProviderState


class ShortageReason(enum.Enum):
    """The property of a tree that is not as requested."""

    INVENTORY = 'inventory'
    FREE = 'free'
    MIN_UNIT = 'min_unit'
    MAX_UNIT = 'max_unit'
    STEP_SIZE = 'step_size'
    TRAIT = 'trait'
    FORBIDDEN_TRAIT = 'forbidden trait'
    AGGREGATE = 'aggregate'
    TREE = 'tree'
    SHAPE = 'tree shape'


_BY_KIND = {
    RequirementKind.TRAIT: ShortageReason.TRAIT,
    RequirementKind.ROOT_TRAIT: ShortageReason.TRAIT,
    RequirementKind.NOT_TRAIT: ShortageReason.FORBIDDEN_TRAIT,
    RequirementKind.NOT_ROOT_TRAIT: ShortageReason.FORBIDDEN_TRAIT,
    RequirementKind.AGGREGATE: ShortageReason.AGGREGATE,
    RequirementKind.NOT_AGGREGATE: ShortageReason.AGGREGATE,
    RequirementKind.IN_TREE: ShortageReason.TREE,
}


@dataclass(frozen=True, slots=True)
class Shortage:
    """A reason why a tree does not satisfy a requirement.

    :param provider: the name of the one that comes nearest, for a resource
    :param amount: the free amount of that provider, or its limit, by the reason
    :param others: for :attr:`ShortageReason.SHAPE`: requirements that the tree satisfies, but not
        together with this one
    :param reason: the property of the tree that is not as requested
    """

    requirement: Requirement
    reason: ShortageReason
    provider: str | None = None
    amount: int | None = None
    others: tuple[Requirement, ...] = ()


def find_shortages(
    requirement: Requirement, providers: Sequence[ProviderState], required: Sequence[Requirement]
) -> list[Shortage]:
    """Return the reasons why a tree does not satisfy a requirement, were it the only one.

    :param providers: those that can serve the tree
    :param required: all requirements; traits of the same group decide which provider comes nearest
    """
    if not requirement.is_resource:
        return [Shortage(requirement, _BY_KIND.get(requirement.kind, ShortageReason.SHAPE))]
    name = requirement.value
    traits = [
        set(other.value.split(','))
        for other in required
        if other.kind is RequirementKind.TRAIT and other.group == requirement.group
    ]
    short = {
        state.uuid: list(_find_amount_shortages(requirement, state))
        for state in providers
        if name in state.inventories
    }

    def sort_key(state: ProviderState) -> tuple[int, int, int, str]:
        lacking = sum(map(state.traits.isdisjoint, traits))
        return lacking, len(short[state.uuid]), -state.free(name), state.name

    able = [state for state in providers if state.uuid in short]
    return (
        short[min(able, key=sort_key).uuid]
        if able
        else [Shortage(requirement, ShortageReason.INVENTORY)]
    )


def _find_amount_shortages(requirement: Requirement, state: ProviderState) -> Iterator[Shortage]:
    """Yield the reasons why a provider cannot grant a requested amount: free amount, units."""
    units, free = state.inventories[requirement.value].units, state.free(requirement.value)
    limits = units._asdict()
    if requirement.amount > free:
        yield Shortage(requirement, ShortageReason.FREE, state.name, free)
    for name in units.list_violated_limits(requirement.amount):
        yield Shortage(requirement, ShortageReason(name), state.name, limits[name])
