"""Flavors, from a file or from Nova, and Nova's request for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from placementclient.client.wording import listed
from placementclient.commands.framework import base, compute
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.model.flavors import Flavor
    from placementclient.model.requests import CandidateRequest
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova.server_request import Scheduling

FLAVORS = Option(
    '--flavors <file>',
    help='Show how many servers of each flavor still fit. The file has the answer of GET '
    '/flavors/detail or the output of openstack flavor list --all --long -f json; nova: ask '
    'Nova',
)


def given(command: base.PlacementCommand, source: str | None) -> list[Flavor]:
    """Return the flavors of a file, or all flavors of Nova; none without the option."""
    return compute.records(command, 'flavors', source) or []


def requests(
    warn: Callable[[str], None],
    snapshot: Snapshot,
    flavors: Sequence[Flavor],
    scheduling: Scheduling,
) -> Iterator[tuple[Flavor, tuple[CandidateRequest, ...]]]:
    """Return Nova's requests for each flavor that requires something.

    :param warn: called with what is not counted, and with requests that no provider meets
    """
    from placementclient.insight import owners, unknown_names
    from placementclient.nova.server_parts import Refusal

    there, is_owned = unknown_names.Names.of(snapshot), owners.is_owner_required(snapshot)
    if flavors and (unowned := [host.name for host in owners.unowned(snapshot)]):
        warn(
            'Not counted, as Nova 34 and later requires the trait OWNER_NOVA, which other hosts '
            f'have: {listed(unowned, 3)}. Before every nova-compute is of 34 it does not; resource '
            'provider audit --id owner-missing has the command that adds it'
        )
    for flavor in flavors:
        try:
            asked = scheduling.requested(flavor, is_owned=is_owned)
        except Refusal as reason:
            warn(f'flavor {flavor.name}: Nova refuses it: {reason}')
            continue
        if asked.impossible:
            warn(f'flavor {flavor.name}: Placement refuses it: {asked.impossible}')
            continue
        if asked.uncounted:
            warn(f'flavor {flavor.name}: not counted: {", ".join(asked.uncounted)}')
        missing = [list(unknown_names.absent(there, request)) for request in asked.requests]
        for absent in missing[0] if all(missing) else ():
            warn(f'flavor {flavor.name}: {absent.sentence}')
        if asked.first.common.resources or asked.first.groups:
            yield flavor, asked.requests
        else:
            warn(f'flavor {flavor.name}: asks for nothing')
