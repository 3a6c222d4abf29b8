"""Flavors, from a file or the compute service, and what Nova asks for, for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from placementclient.commands import base, compute
from placementclient.commands.compute import NOVA
from placementclient.commands.option import Option

if TYPE_CHECKING:
    from placementclient.model.flavors import Flavor
    from placementclient.model.requests import CandidateRequest

FLAVORS = Option(
    '--flavors',
    metavar='<file>',
    help='Show how many servers of each flavor still fit: a file of what GET /flavors/detail '
    f'answers, or what openstack flavor list --all --long -f json prints; {NOVA}: ask the compute '
    'service',
)


def given(command: base._Placement, source: str | None) -> list[Flavor]:
    """The flavors of a file, or all that Nova has; none where none are asked for."""
    if not source:
        return []
    from placementclient.nova import records, service

    return records.flavors(*compute.document(command, source, service.flavors))


def requests(
    tell: Callable[[str], None], flavors: Sequence[Flavor]
) -> Iterator[tuple[Flavor, CandidateRequest]]:
    """What Nova asks for, for each flavor; tells what of it is not counted."""
    from placementclient.nova import resource_request

    for flavor in flavors:
        if names := resource_request.unmodelled(flavor):
            tell(f'flavor {flavor.name}: not counted: {", ".join(names)}')
        request = resource_request.request(flavor)
        if request.common.resources or request.groups:
            yield flavor, request
        else:
            tell(f'flavor {flavor.name}: asks for nothing')
