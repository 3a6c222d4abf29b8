"""What a request asks for and nobody has: it may have been mistyped."""

from __future__ import annotations

from collections.abc import Iterator

import os_traits
from os_resource_classes import STANDARDS

from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import Snapshot
from placementclient.wording import meant


def sentences(snapshot: Snapshot, request: CandidateRequest) -> Iterator[str]:
    """A sentence for each class and each trait that no provider of a snapshot has."""
    states = snapshot.providers.values()
    classes = {name for state in states for name in state.inventories}
    traits = {trait for state in states for trait in state.traits}
    filters = (request.common, *request.groups.values())
    for name in sorted({name for each in filters for name in each.resources} - classes):
        hint = '' if name in STANDARDS else meant(name, {*classes, *STANDARDS})
        yield f'No resource provider has inventory of {name}{hint}'
    required = [*request.root_required, *(name for each in filters for name in each.required)]
    for alternatives in dict.fromkeys(required):
        names = alternatives.split(',')
        if traits.isdisjoint(names):
            known = {*traits, *os_traits.get_traits()}
            hints = (meant(name, known) for name in names if name not in known)
            yield f'No resource provider has the trait {alternatives}{"".join(hints)}'
