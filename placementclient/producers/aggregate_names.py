"""Aggregates by the names that Nova has for them; Placement knows their UUIDs alone."""

from __future__ import annotations

from collections.abc import Sequence

from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import suggestion
from placementclient.model.providers import is_uuid, normalized
from placementclient.model.services import COMPUTE_SERVICE
from placementclient.nova import records, service


def of_nova(client: Client) -> dict[str, str]:
    """Return the names of the host aggregates of Nova, by UUID.

    :raises service.NoCompute: if the session has no catalog
    """
    listed = records.aggregates(service.aggregates(client), COMPUTE_SERVICE)
    return {each.uuid: each.name for each in listed}


def uuids(client: Client, names: Sequence[str], *, is_checked: bool = True) -> list[str]:
    """Return the UUIDs of aggregates; Nova is asked where there is a name among them.

    :param names: UUIDs, or names of host aggregates of Nova
    :param is_checked: refuse names where there is no Nova; otherwise they stay as they are
    :raises errors.BadArgument: if a name cannot be looked up, or Nova does not have it
    """
    named = [name for name in names if not is_uuid(name)]
    known: dict[str, str] = {}
    if named:
        try:
            known = {name: uuid for uuid, name in of_nova(client).items()}
        except service.NoCompute as reason:
            if isinstance(reason, service.NoCatalog) and not is_checked:
                return list(map(normalized, names))
            raise errors.BadArgument(
                f'{named[0]!r} is not the UUID of an aggregate; its name cannot be looked up: '
                f'{reason}'
            ) from None
    for name in named:
        if name not in known:
            near = suggestion(name, known)
            raise errors.BadArgument(f'Nova has no host aggregate {name!r}{near}')
    # Refusals and explanations have the name beside the UUID.
    client.names |= {known[name]: name for name in named}
    return [known.get(name) or normalized(name) for name in names]
