# SPDX-License-Identifier: Apache-2.0
"""Amounts that a server holds on its host, and those that its flavor asks for."""

from collections import Counter

from msgspec import structs

from placementclient.model.consumers import Consumer, Resources, sum_resources
from placementclient.model.servers import Flavor, Server
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.server_parts import Refusal
from placementclient.nova.server_request import find_device_requests, sum_flavor_amounts

#: The classes that each server is compared in; other ones only where its flavor has them.
_USUAL = frozenset({'VCPU', 'MEMORY_MB', 'DISK_GB'})


#: The reason why the devices of a server are not known.
NO_DEVICES = 'the lists do not say which {} it has'


class UnknownAmounts(Exception):
    """The right amounts of a server are not known; the message is the reason, a clause."""


def compare_amounts(server: Server, consumer: Consumer) -> dict[str, tuple[int, int]]:
    """Return by class the allocated amount and that of the flavor, where they differ.

    Shared and dedicated CPUs are added up as VCPU: the image may ask for the latter, too. Classes
    of ports, devices and images are in no flavor, and are not compared.
    """
    requested = sum_requested_amounts(server)
    expected = count_pcpu_as_vcpu(requested)
    allocated = count_pcpu_as_vcpu(sum_resources(consumer.allocations.values()))
    return {
        name: (allocated[name], expected[name])
        for name in sorted(expected.keys() | _USUAL)
        if expected[name] != allocated[name]
    }


def correct_amounts(snapshot: Snapshot, server: Server, consumer: Consumer) -> Consumer:
    """Return a consumer with the amounts of its flavor, on the providers that it uses already.

    :param snapshot: has the whole tree of its host
    :raises UnknownAmounts: if the amounts or their providers are not known
    """
    wrong = compare_amounts(server, consumer)
    if not wrong:
        return consumer
    host = snapshot.find_by_name(server.node or '')
    if host is None:
        raise UnknownAmounts(f'there is no resource provider {server.node}')
    requested = sum_requested_amounts(server)
    if chosen := sorted(wrong.keys() & set(find_device_requests(_require_flavor(server)))):
        raise UnknownAmounts(NO_DEVICES.format(', '.join(chosen)))
    allocations = {uuid: dict(amounts) for uuid, amounts in consumer.allocations.items()}
    for name, (_, amount) in wrong.items():
        resource_class = _choose_class_to_correct(name, consumer, requested)
        places = [uuid for uuid, amounts in allocations.items() if resource_class in amounts]
        if len(places) > 1:
            raise UnknownAmounts(f'it holds {resource_class} on {len(places)} providers')
        place = (
            places[0] if places else _require_root_as_only_provider(snapshot, host, resource_class)
        )
        allocations.setdefault(place, {})[resource_class] = amount
        if not amount:
            del allocations[place][resource_class]
    held = {uuid: amounts for uuid, amounts in allocations.items() if amounts}
    return structs.replace(consumer, allocations=held)


def _choose_class_to_correct(name: str, consumer: Consumer, requested: Resources) -> str:
    """Return the class of which a server holds a wrong amount: of CPUs the one that it uses.

    :param name: the class as :func:`compare_amounts` has it, ``VCPU`` for all CPUs
    :param requested: the amounts that the server's flavor requests
    :raises UnknownAmounts: if the server has CPUs of both classes
    """
    if name != 'VCPU':
        return name
    classes = [cpu for cpu in ('VCPU', 'PCPU') if sum_resources(consumer.allocations.values())[cpu]]
    if len(classes) > 1 or ('VCPU' in requested and 'PCPU' in requested):
        raise UnknownAmounts('how its CPUs are divided into shared and dedicated ones')
    return classes[0] if classes else next((c for c in ('PCPU', 'VCPU') if c in requested), name)


def _require_root_as_only_provider(
    snapshot: Snapshot, host: ProviderState, resource_class: str
) -> str:
    """Return the UUID of a host's root; raise UnknownAmounts unless only the root has a class."""
    tree = snapshot.tree(host.provider.root_uuid)
    having = [state for state in tree if resource_class in state.inventories]
    if having != [host]:
        raise UnknownAmounts(f'{len(having)} providers of {host.name} have {resource_class}')
    return host.uuid


def sum_requested_amounts(server: Server) -> Resources:
    """Return the amounts, by class, that the flavor of a server requests.

    :raises UnknownAmounts: if the flavor is not known, or Nova refuses it
    """
    try:
        return sum_flavor_amounts(
            _require_flavor(server), boots_from_volume=server.boots_from_volume
        )
    except Refusal as refusal:
        raise UnknownAmounts(f'Nova refuses its flavor: {refusal}') from None


def _require_flavor(server: Server) -> Flavor:
    """Return the flavor of a server; raise :class:`UnknownAmounts` if it is not known."""
    if not server.flavor:
        raise UnknownAmounts('its flavor with extra specs is not known')
    return server.flavor


def count_pcpu_as_vcpu(amounts: Resources) -> Counter[str]:
    """Return amounts by class, in which those of ``PCPU`` are added to ``VCPU``."""
    cpus = amounts.get('VCPU', 0) + amounts.get('PCPU', 0)
    return Counter({**amounts, 'PCPU': 0, 'VCPU': cpus})
