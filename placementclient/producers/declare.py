"""Read the trees that a file declares, and plan what makes them so."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

from placementclient.api import resource_provider
from placementclient.changes.plan import ChangePlan, plan_of
from placementclient.client.http import Client
from placementclient.producers.declarations import Declared
from placementclient.producers.declared import declared
from placementclient.reading.capture import capture_any


def plan(client: Client, wanted: Sequence[Declared], *, prune: bool = False) -> ChangePlan:
    """Plan what makes the trees as they are declared.

    :param prune: delete the providers below that are not declared and have no consumers
    :raises errors.BadArgument: if a declaration contradicts what is there
    :raises producers.declared.InUse: if inventory would go that is used
    """
    # The whole trees of all that is declared, as far as it exists.
    there = capture_any(client, list(dict.fromkeys(_roots(client, wanted))))
    after = declared(there, wanted, new_uuid=lambda: str(uuid.uuid4()), prune=prune)
    return plan_of('resource provider tree apply', there, after)


def _roots(client: Client, wanted: Sequence[Declared]) -> Iterator[str]:
    for each in (each for root in wanted for each in root.all()):
        found = resource_provider.list(client, name=each.name) if each.name else []
        if each.uuid:
            found += resource_provider.list(client, uuid=each.uuid)
        for provider in found:
            yield provider.root_uuid
