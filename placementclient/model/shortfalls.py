# SPDX-License-Identifier: Apache-2.0
"""Usage that prevents a change. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from placementclient.basis import errors
from placementclient.model.consumers import Resources
from placementclient.model.plans import Notice
from placementclient.model.snapshots import ProviderState, Snapshot


def find_shortfalls(
    before: Mapping[str, ProviderState], after: Mapping[str, ProviderState]
) -> Iterator[Notice]:
    """Yield a notice for each inventory that a change would make smaller than its usage.

    A class that is over-committed may stay so, but not get less.

    :param before: providers by UUID, with their usages
    """
    for uuid, state in after.items():
        live = before.get(uuid)
        if live is None or live.inventories == state.inventories:
            continue
        for name, used in live.usages.items():
            room = state.capacity(name)
            if room < used and room < live.capacity(name):
                message = f'{used} {name} of {live.name} is in use, and there would be {room}'
                facts = {'resource_class': name, 'used': used, 'room': room}
                yield Notice('shortfall', message, {'provider': live.name, **facts})


def explain_refusal(
    state: ProviderState, resource_class: str, amount: int, more: int, taken: int = 0
) -> str:
    """Return a clause that says why a provider cannot grant an amount; empty if it can.

    :param more: the part of the amount that the consumer does not hold there yet
    :param taken: an amount of the class that others get before
    """
    inventory = state.inventories.get(resource_class)
    if inventory is None:
        return f'{state.name} has no inventory of {resource_class}'
    free = state.free(resource_class) - taken
    if more > max(free, 0):
        return f'{state.name} has no room: {more} {resource_class} needed, {max(free, 0)} free'
    if limits := inventory.units.list_violated_limits(amount):
        units = ', '.join(f'{limit} {getattr(inventory, limit)}' for limit in limits)
        return f'{state.name} does not grant {amount} {resource_class} at once ({units})'
    return ''


class UnaccountedUsage(errors.PlacementError):
    """A provider has usage of no known consumer, so it cannot be freed."""

    def __init__(self, provider: str, resources: Resources) -> None:
        amounts = ', '.join(f'{n} {name}' for name, n in resources.items())
        super().__init__(
            f'{amounts} of {provider} is used by consumers without a record: '
            'run placement-manage db online_data_migrations first'
        )


def refuse_unaccounted_usage(snapshot: Snapshot, provider_uuids: Iterable[str]) -> None:
    """Raise :class:`UnaccountedUsage` if a provider has usage of no consumer of the snapshot."""
    for uuid in provider_uuids:
        if unlisted := snapshot.unlisted_usages(uuid):
            raise UnaccountedUsage(snapshot.providers[uuid].name, unlisted)
