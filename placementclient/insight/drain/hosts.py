"""The hosts that the arguments of a drain select."""

from __future__ import annotations

from collections.abc import Sequence

from placementclient.client import errors
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.topology import is_sharing
from placementclient.model import patterns


def selected(
    cloud: DrainCloud, arguments: Sequence[str], match: str | None, aggregate: str | None
) -> list[str]:
    """Return the UUIDs of the roots of the hosts that are selected; of all, if nothing is given.

    :param arguments: names, UUIDs or patterns
    :param match: a pattern of names of hosts
    :param aggregate: the UUID of an aggregate; with a pattern, both have to hold
    :raises errors.NoSuchProvider: if there is none, or an argument names no host
    """
    snapshot = cloud.snapshot
    known = {snapshot.providers[uuid].name: uuid for uuid in cloud.hosts}
    if not (arguments or match or aggregate):
        return list(known.values())
    found = dict.fromkeys(uuid for argument in arguments for uuid in _named(cloud, argument))
    if match or aggregate:
        names = list(known)
        if match:
            names = patterns.matching(match, names)
            if not names:
                raise errors.NoSuchProvider(patterns.unmatched(match, known, 'host'))
        if aggregate:
            names = [
                name for name in names if aggregate in snapshot.providers[known[name]].aggregates
            ]
            if not names:
                raise errors.NoSuchProvider(f'No host is in the aggregate {aggregate}')
        found |= dict.fromkeys(known[name] for name in names)
    return list(found)


def _named(cloud: DrainCloud, argument: str) -> list[str]:
    """Return the UUIDs of the roots of the hosts that an argument names; no storage of a pattern.

    :raises errors.NoSuchProvider: if it names shared storage only, or nothing
    """
    providers = cloud.snapshot.providers
    roots = cloud.snapshot.root_uuids([argument])
    hosts = [uuid for uuid in roots if uuid in cloud.hosts or not is_sharing(providers[uuid])]
    if not hosts:
        storage = ', '.join(providers[uuid].name for uuid in roots)
        raise errors.NoSuchProvider(f'{storage} is storage that others share, not a host')
    return hosts
