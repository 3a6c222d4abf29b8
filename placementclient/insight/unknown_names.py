"""What a request asks for and nobody has: it may have been mistyped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import os_traits
from os_resource_classes import STANDARDS

from placementclient.model.providers import is_uuid
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import Snapshot
from placementclient.wording import meant


class Absent(NamedTuple):
    """What no provider of a snapshot has.

    :param sentence: says it, with what was probably meant
    :param is_sound: whether it is a name that every service knows, or the UUID of an aggregate
    """

    sentence: str
    is_sound: bool


def absent(snapshot: Snapshot, request: CandidateRequest) -> Iterator[Absent]:
    """Each class, trait and aggregate that is asked for and that no provider has."""
    filters = (request.common, *request.groups.values())
    states = snapshot.providers.values()
    classes = {name for state in states for name in state.inventories}
    for name in sorted({name for each in filters for name in each.resources} - classes):
        hint = '' if name in STANDARDS else meant(name, {*classes, *STANDARDS})
        sentence = f'No resource provider has inventory of {name}{hint}'
        yield Absent(sentence, name in STANDARDS)
    traits = {trait for state in states for trait in state.traits}
    known = {*traits, *os_traits.get_traits()}
    required = [*request.root_required, *(name for each in filters for name in each.required)]
    for names in _missing(required, traits):
        hints = ''.join(meant(name, known) for name in names if name not in known)
        sentence = f'No resource provider has the trait {",".join(names)}{hints}'
        yield Absent(sentence, known.issuperset(names))
    aggregates = {aggregate for state in states for aggregate in state.aggregates}
    for names in _missing([name for each in filters for name in each.member_of], aggregates):
        wrong = ', '.join(name for name in names if not is_uuid(name))
        if wrong:
            yield Absent(f'{wrong} is not the UUID of an aggregate', False)
        else:
            yield Absent(f'No resource provider is in the aggregate {",".join(names)}', True)


def _missing(asked: Iterable[str], there: set[str]) -> Iterator[list[str]]:
    """Alternatives, joined by commas, none of which is there."""
    for alternatives in dict.fromkeys(asked):
        names = alternatives.split(',')
        if there.isdisjoint(names):
            yield names
