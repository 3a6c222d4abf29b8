"""Operations of a plan on what is there."""

from __future__ import annotations

from placementclient.changes.operations import CreateProvider, Operation, SetTraits
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reshape import preconditions

ROOT, CHILD = 'root', 'child'


def adjusted(*operations: Operation) -> list[Operation]:
    """The operations on a host that has a trait of its own, and a trait of somebody else."""
    traits = frozenset({'OWN', 'OTHER'})
    there = Snapshot([ProviderState(Provider(ROOT, ROOT, 1, None, ROOT), traits=traits)], [])
    return list(preconditions.adjusted(operations, there))


def test_a_provider_that_gains_a_trait_and_loses_one_has_the_first_in_the_end() -> None:
    gain = SetTraits(ROOT, frozenset({'OWN'}), frozenset({'OWN', 'NEW'}))
    lose = SetTraits(ROOT, frozenset({'OWN', 'NEW'}), frozenset({'NEW'}))
    first, last = adjusted(gain, lose)
    assert isinstance(first, SetTraits)
    assert isinstance(last, SetTraits)
    assert first.after == last.before == {'OWN', 'NEW', 'OTHER'}
    assert last.after == {'NEW', 'OTHER'}


def test_what_is_done_is_not_done_again() -> None:
    own = SetTraits(ROOT, frozenset(), frozenset({'OWN'}))
    made = CreateProvider(CHILD, CHILD, ROOT)
    assert adjusted(CreateProvider(ROOT, ROOT, None), own, made) == [made]
