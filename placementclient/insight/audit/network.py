"""Ports that ask Placement for something which their servers do not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.consumers import Consumer, together
from placementclient.model.findings import Finding
from placementclient.model.services import Port

_REBIND = (
    'Nova and Neutron allocate when a port is attached: openstack server remove port, then '
    'openstack server add port, or a cold migration'
)


def port_resources(cloud: Cloud) -> Iterator[Finding]:
    """A port of a server asks for bandwidth or packets that the server is not allocated.

    The check adds up the requests of all bound ports of a server, and compares the sum with the
    allocations of the server. It also looks at the provider that Neutron has recorded for each
    port. It skips servers that are under way. Servers without any allocations are
    ``without-allocations``.

    Why it matters: Placement promises the same bandwidth to others. This happens if someone sets a
    QoS policy with a minimum bandwidth or packet rate on a port in use.

    Safe to fix: attach the port again. Detaching it interrupts the network of the server; nothing
    is lost in Placement.

    Look yourself: ``openstack port show PORT -c resource_request -c binding_profile`` and
    ``openstack resource provider allocation show SERVER``

    Example: ``ports (6f2c…), asked (NET_BW_EGR_KILOBIT_PER_SEC 1000), holds
    (NET_BW_EGR_KILOBIT_PER_SEC 0)``
    """
    by_server: dict[str, list[Port]] = {}
    for port in cloud.answers.ports or ():
        by_server.setdefault(port.server_uuid, []).append(port)
    for uuid, ports in sorted(by_server.items()):
        consumer = cloud.snapshot.consumers.get(uuid)
        if consumer is None or not consumer.allocations:
            continue
        facts = _lacking(ports, consumer) or _elsewhere(ports, consumer)
        if facts:
            server = (cloud.servers or {}).get(uuid)
            passed_over = cloud.passed_over(server) if server else ''
            if uuid in cloud.migrating:
                passed_over = passed_over or 'a migration is not over'
            facts = {'ports': [port.uuid for port in ports], **facts}
            yield Finding(uuid, tuple(cloud.roots_of(consumer)), facts, None, _REBIND, passed_over)


def _lacking(ports: list[Port], consumer: Consumer) -> dict[str, object]:
    """Return the resources that all ports ask for, and the server's share, if that is less."""
    requested = together(group for port in ports for group in port.groups.values())
    allocated = together(consumer.allocations.values())
    short = sorted(name for name, amount in requested.items() if allocated[name] < amount)
    if not short:
        return {}
    return {
        'asked': {name: requested[name] for name in short},
        'holds': {name: allocated[name] for name in short},
    }


def _elsewhere(ports: list[Port], consumer: Consumer) -> dict[str, object]:
    """The providers that Neutron has noted, where the server holds too little."""
    requested: dict[str, Counter[str]] = {}
    for port in ports:
        for group, resources in port.groups.items():
            if group in port.providers:
                requested.setdefault(port.providers[group], Counter()).update(resources)
    wrong = {
        provider: dict(resources)
        for provider, resources in requested.items()
        if not _covers(consumer.allocations.get(provider, {}), resources)
    }
    return {'noted_by_neutron': wrong} if wrong else {}


def _covers(allocated: Mapping[str, int], requested: Mapping[str, int]) -> bool:
    return all(allocated.get(name, 0) >= amount for name, amount in requested.items())
