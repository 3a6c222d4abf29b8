"""The hosts that a drain may use or empty, by its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from placementclient.client import errors
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.selecting import ProviderSelector
from placementclient.placing.providers import is_sharing


def selected(cloud: DrainCloud, arguments: Sequence[str], selection: ProviderSelector) -> list[str]:
    """Return the UUIDs of the roots of the selected hosts; by default of all.

    :param arguments: names, UUIDs or patterns
    :param selection: the conditions that one provider of a host has to meet
    :raises errors.PlacementError: if there is none, or an argument names no host
    """
    has_conditions = selection != ProviderSelector()
    if not (arguments or has_conditions):
        return list(cloud.hosts)
    roots = dict.fromkeys(uuid for argument in arguments for uuid in _named(cloud, argument))
    if has_conditions:
        states = [state for uuid in cloud.hosts for state in cloud.snapshot.tree(uuid)]
        roots |= dict.fromkeys(match.provider.root_uuid for match in selection.selected(states))
    return list(roots)


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
