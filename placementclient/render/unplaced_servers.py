# SPDX-License-Identifier: Apache-2.0
"""The servers for which a drain finds no place, in sentences."""

from collections import Counter
from collections.abc import Collection, Iterator

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.nova_facts import (
    make_affinity_group_alias,
    make_cell_alias,
    make_zone_alias,
)
from placementclient.insight.drain.packing import Packing
from placementclient.placing.requests import Request
from placementclient.render.facts import format_amounts_with_units
from placementclient.render.free_amounts import describe_zone


def describe_unplaced_servers(cloud: DrainCloud, packing: Packing) -> Iterator[str]:
    """Yield a sentence for each kind of servers without a place."""
    totals, placed = Counter[str](), Counter[str]()
    for kind, count in packing.problem.server_counts.items():
        words = _describe_request(cloud, packing.problem.requests[kind])
        totals[words] += count
        placed[words] += len(packing.places[kind])
    for words, total in sorted(totals.items()):
        if placed[words] < total:
            yield f'{format_count(total, "server")} of {words}: room for {placed[words]}'


def _describe_request(cloud: DrainCloud, request: Request) -> str:
    """Return in words the amounts, groups, zones, aggregates and rare traits of a request."""
    required = {*request.root_required, *request.covering}
    required |= {names for part in request.parts for names in part.required}
    single = {name for names in required if len(names) == 1 for name in names}
    # The drain has a name for each group, zone and cell, and requires it like a trait.
    group_prefix = make_affinity_group_alias('')
    words = [f'in the {name}' for name in sorted(single) if name.startswith(group_prefix)]
    if rare := sorted(single & cloud.rare_traits):
        words.append(f'with {join_names(rare, 5)}')
    words += _describe_zones_and_aggregates(
        cloud, {name for names in request.root_member_of for name in names}
    )
    return ' '.join((format_amounts_with_units(request.totals), *words))


def _describe_zones_and_aggregates(cloud: DrainCloud, names: Collection[str]) -> Iterator[str]:
    """Yield phrases with the zones, cells and aggregates that a request is limited to.

    :param names: as the drain has them: of zones and cells with a prefix, of aggregates the UUIDs
    """
    others = []
    for name in sorted(names):
        if name.startswith((make_zone_alias(''), make_cell_alias(''))):
            yield f'in {describe_zone(name)}'
        else:
            others.append(cloud.nova_facts.aggregates.get(name, name))
    if others:
        yield f'in aggregate {join_names(others, 2)}'
