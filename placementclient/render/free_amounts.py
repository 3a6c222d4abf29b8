# SPDX-License-Identifier: Apache-2.0
"""The free amounts of the hosts that a drain does not empty, by availability zone and class."""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TypedDict

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.nova_facts import make_zone_alias
from placementclient.model.consumers import sum_gains
from placementclient.render.units import format_amount, sort_by_class


class FreeAmounts(TypedDict):
    """The free amounts of a class in an availability zone."""

    zone: str
    resource_class: str
    capacity: int
    free: int
    #: on one provider
    largest: int


def describe_zone(name: str) -> str:
    """Return the name of an availability zone; of the default zone in words."""
    return 'the default zone' if name == make_zone_alias('') else name


def sum_free_amounts(
    cloud: DrainCloud, moves: Iterable[ServerMove], emptied: Collection[str]
) -> list[FreeAmounts]:
    """Return the free amounts of the other hosts after the moves, by zone and class.

    :param emptied: the UUIDs of the roots of the emptied hosts
    """
    changes = sum_gains((move.before, move.after) for move in moves)
    sums: dict[tuple[str, str], FreeAmounts] = {}
    for root in set(cloud.hosts).difference(emptied):
        zone = cloud.nova_facts.zones.get(cloud.snapshot.providers[root].name, '')
        for state in cloud.topology.trees[root]:
            for name, inventory in state.inventories.items():
                amounts = sums.setdefault(
                    (zone, name),
                    FreeAmounts(zone=zone, resource_class=name, capacity=0, free=0, largest=0),
                )
                free = max(0, state.free(name) - changes[state.uuid][name])
                amounts['capacity'] += inventory.capacity
                amounts['free'] += free
                amounts['largest'] = max(amounts['largest'], free)
    classes = list(sort_by_class({name: None for _, name in sorted(sums)}))
    return [sums[key] for key in sorted(sums, key=lambda key: (key[0], classes.index(key[1])))]


def describe_free_amounts(amounts: Collection[FreeAmounts]) -> Iterator[str]:
    """Yield the lines about the free amounts of each availability zone, one for each class."""
    has_zones = any(row['zone'] for row in amounts)
    for zone, rows in groupby(amounts, itemgetter('zone')):
        parts = []
        for row in rows:
            name = row['resource_class']
            free, capacity, most = (
                format_amount(name, amount)
                for amount in (row['free'], row['capacity'], row['largest'])
            )
            parts.append(
                f'{name} {free} of {capacity}, at most {most} on a provider'
                if row['free']
                else f'{name} none of {capacity}'
            )
        where = f' in {describe_zone(make_zone_alias(zone))}' if has_zones else ''
        heading = f'Left on the other hosts{where}:'
        if parts[1:]:
            yield heading
            yield from (f'  {part}' for part in parts)
        else:
            yield f'{heading} {parts[0]}'
