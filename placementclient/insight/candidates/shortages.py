"""The reasons why a tree does not satisfy a requirement, as facts."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placementclient.insight.candidates.requirements import Kind, Requirement
from placementclient.model.snapshots import ProviderState


class Reason(enum.Enum):
    """The kind of a shortage."""

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
    Kind.TRAIT: Reason.TRAIT,
    Kind.ROOT_TRAIT: Reason.TRAIT,
    Kind.NOT_TRAIT: Reason.FORBIDDEN_TRAIT,
    Kind.NOT_ROOT_TRAIT: Reason.FORBIDDEN_TRAIT,
    Kind.AGGREGATE: Reason.AGGREGATE,
    Kind.NOT_AGGREGATE: Reason.AGGREGATE,
    Kind.IN_TREE: Reason.TREE,
}


@dataclass(frozen=True, slots=True)
class Shortage:
    """A reason why a tree does not satisfy a requirement.

    :param provider: the name of the one that comes nearest, for a resource
    :param amount: what that one has: free, or its limit, by the reason
    :param others: for the shape of the tree: what it satisfies, but not together with this
    """

    requirement: Requirement
    reason: Reason
    provider: str | None = None
    amount: int | None = None
    others: tuple[Requirement, ...] = ()


def shortages(
    requirement: Requirement,
    joint: frozenset[Requirement],
    providers: Sequence[ProviderState],
    required: Sequence[Requirement] = (),
) -> Iterator[Shortage]:
    """Return the reasons why a tree does not satisfy a requirement.

    :param joint: where it would, were it not for others: these together are too much
    :param providers: those that can serve the tree
    :param required: all requirements; traits of the same group decide which provider comes nearest
    """
    if joint:
        others = tuple(sorted(joint - {requirement}, key=str))
        yield Shortage(requirement, Reason.SHAPE, others=others)
    elif requirement.kind is Kind.RESOURCE:
        traits = [
            set(other.value.split(','))
            for other in required
            if other.kind is Kind.TRAIT and other.group == requirement.group
        ]
        yield from _of_resource(requirement, providers, traits)
    else:
        yield Shortage(requirement, _BY_KIND.get(requirement.kind, Reason.SHAPE))


def _of_resource(
    requirement: Requirement, providers: Sequence[ProviderState], traits: Sequence[set[str]]
) -> Iterator[Shortage]:
    """Return the shortage of the provider that comes nearest."""

    def distance(pair: tuple[ProviderState, list[tuple[Reason, int]]]) -> tuple[int, int, int, str]:
        state, short = pair
        without = sum(state.traits.isdisjoint(alternatives) for alternatives in traits)
        return without, len(short), -state.free(requirement.value), state.name

    able = [state for state in providers if requirement.value in state.inventories]
    if not able:
        yield Shortage(requirement, Reason.INVENTORY)
        return
    candidates = [(state, list(_shortcomings(requirement, state))) for state in able]
    state, nearest = min(candidates, key=distance)
    for reason, amount in nearest:
        yield Shortage(requirement, reason, state.name, amount)


def _shortcomings(requirement: Requirement, state: ProviderState) -> Iterator[tuple[Reason, int]]:
    inventory, amount = state.inventories[requirement.value], requirement.amount
    free = state.free(requirement.value)
    if amount > free:
        yield Reason.FREE, free
    if amount > inventory.max_unit:
        yield Reason.MAX_UNIT, inventory.max_unit
    if amount < inventory.min_unit:
        yield Reason.MIN_UNIT, inventory.min_unit
    if amount % inventory.step_size:
        yield Reason.STEP_SIZE, inventory.step_size
