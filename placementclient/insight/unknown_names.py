"""Names in a request that no provider has: perhaps mistyped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from os_resource_classes import STANDARDS

from placementclient.client.wording import suggestion
from placementclient.model.providers import is_uuid
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import Snapshot


class Absent(NamedTuple):
    """A name that no provider of a snapshot has.

    :param sentence: says it, with what was probably meant
    :param is_sound: whether it is a name that every service knows, or the UUID of an aggregate
    """

    sentence: str
    is_sound: bool


class Names(NamedTuple):
    """The names that providers have."""

    classes: set[str]
    traits: set[str]
    aggregates: set[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Names:
        states = snapshot.providers.values()
        return cls(
            {name for state in states for name in state.inventories},
            {trait for state in states for trait in state.traits},
            {aggregate for state in states for aggregate in state.aggregates},
        )

    def impossible(self, classes: Iterable[str], traits: Iterable[str]) -> Iterator[str]:
        """Return a sentence for each class and each trait that no service can have."""
        for kind, names, reported, standard in (
            ('resource class', classes, self.classes, lambda: STANDARDS),
            ('trait', traits, self.traits, _standard_traits),
        ):
            for name in sorted(names):
                if name not in reported and not name.startswith('CUSTOM_'):
                    possible = {*reported, *standard()}
                    if name not in possible:
                        hint = suggestion(name, possible)
                        yield f'{name} is no standard {kind}, and does not begin with CUSTOM_{hint}'


def absent(reported: Names, request: CandidateRequest) -> Iterator[Absent]:
    """Return each requested class, trait and aggregate that no provider has."""
    filters = (request.common, *request.groups.values())
    for name in sorted({name for group in filters for name in group.resources} - reported.classes):
        hint = '' if name in STANDARDS else suggestion(name, {*reported.classes, *STANDARDS})
        sentence = f'No resource provider has inventory of {name}{hint}'
        yield Absent(sentence, name in STANDARDS)
    required = [*request.root_required, *(name for group in filters for name in group.required)]
    for names in _missing(required, reported.traits):
        possible = {*reported.traits, *_standard_traits()}
        hints = suggestion((name for name in names if name not in possible), possible)
        sentence = f'No resource provider has the trait {",".join(names)}{hints}'
        yield Absent(sentence, possible.issuperset(names))
    requested = [name for group in filters for name in group.member_of]
    for names in _missing(requested, reported.aggregates):
        wrong = ', '.join(name for name in names if not is_uuid(name))
        if wrong:
            yield Absent(f'{wrong} is not the UUID of an aggregate', False)
        else:
            yield Absent(f'No resource provider is in the aggregate {",".join(names)}', True)


def _standard_traits() -> list[str]:
    # Loaded only here: it takes longer than all the rest of this module.
    import os_traits

    traits: list[str] = os_traits.get_traits()
    return traits


def _missing(requested: Iterable[str], reported: set[str]) -> Iterator[list[str]]:
    """Alternatives, joined by commas, none of which is there."""
    for alternatives in dict.fromkeys(requested):
        names = alternatives.split(',')
        if reported.isdisjoint(names):
            yield names
