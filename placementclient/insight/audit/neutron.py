# SPDX-License-Identifier: Apache-2.0
"""Faults of what is Neutron's: the providers of agents and segments, and what ports hold."""

from collections import Counter
from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud, MissingFields, fault
from placementclient.insight.owners import NEUTRON
from placementclient.model.consumers import Consumer, together
from placementclient.model.findings import Finding
from placementclient.model.network import NetworkAgent, Port
from placementclient.model.servers import same_host

_SYNC = (
    'Neutron writes these providers itself: see in the log of neutron-server why it has not, and '
    'restart the agent, which makes Neutron try again'
)
_LEFT = (
    'Neutron deletes no provider: when no server holds anything on it, resource provider delete '
    'removes it, children first'
)
_BANDWIDTH = 'NET_BW_'
_REBIND = (
    'Nova and Neutron allocate when a port is attached: openstack server remove port, then '
    'openstack server add port, or a cold migration'
)
#: OVN's driver names all providers for the former, also those of gateways.
_OVN, _OVN_GATEWAY = 'OVN Controller agent', 'OVN Controller Gateway agent'
#: The name of a segment's provider, before the segment's ID.
_NAME = 'Neutron segment id '
_IPV4 = 'IPV4_ADDRESS'
_WRITTEN = (
    'Neutron writes it when a subnet of the segment changes, but only if its section [placement] '
    'and its section [nova] work: see the log of neutron-server'
)
_GONE = 'if the network is gone, resource provider delete removes it'


def agent_bandwidth(cloud: Cloud) -> Iterator[Finding]:
    """The bandwidth in Placement differs from the configuration of Neutron's agent.

    The check compares ``resource_provider_bandwidths`` of each agent with the inventories of the
    providers ``HOST:AGENT TYPE:DEVICE``. It also finds agents with ``resources_synced: false``:
    Neutron could not write some of their providers.

    Why it matters: servers with a minimum bandwidth go to hosts that do not have it, or find no
    valid host.

    Safe to fix: Neutron writes these providers itself, so look for the cause in its log. Often
    ``resource_provider_hypervisors`` of the agent has another name than the provider of the host.

    Agents of OVN report no bandwidths. If no agent does, the check is left out.

    Look yourself: ``openstack network agent show AGENT -c configuration -c resources_synced`` and
    ``openstack resource provider inventory list PROVIDER``

    Example: ``configured (NET_BW_EGR_KILOBIT_PER_SEC 10000000), inventory
    (NET_BW_EGR_KILOBIT_PER_SEC 1000000)``
    """
    agents = cloud.answers.agents or ()
    is_silent = all(agent.bandwidths is None and agent.is_synced is not False for agent in agents)
    if agents and is_silent and any(NEUTRON.fullmatch(state.name) for state in cloud.states()):
        raise MissingFields(
            'no agent reports bandwidths, as those of OVN never do: nothing can be compared'
        )
    for agent in agents:
        if agent.is_synced is False:
            roots = tuple(root.uuid for root in cloud.snapshot.roots() if _is_of(agent, root.name))
            subject = f'{agent.host}:{agent.type}'
            yield fault(subject, {'resources_synced': False}, roots, None, _SYNC)
        for (hypervisor, device), amounts in (agent.bandwidths or {}).items():
            name = f'{hypervisor}:{agent.type}:{device}'
            host, state = cloud.snapshot.named(hypervisor), cloud.snapshot.named(name)
            totals = {
                resource_class: inventory.total
                for resource_class, inventory in (state.inventories if state else {}).items()
                if resource_class.startswith(_BANDWIDTH)
            }
            if totals != amounts:
                roots = (host.uuid,) if host else ()
                facts = {'configured': dict(amounts), 'inventory': totals}
                yield fault(name, facts, roots, None, _SYNC)


def agent_gone(cloud: Cloud) -> Iterator[Finding]:
    """The name of a provider has a Neutron agent that is gone, or another host than its own.

    An agent is gone if Neutron lists none of its type on the host, or if the agent reports
    bandwidths of other devices only. A renamed host keeps the old providers beside the new ones.

    Why it matters: the bandwidth counts although it does not exist, or it counts twice.

    Safe to fix: delete the provider only when no server has allocations on it. Move the servers
    away first, or detach and attach their ports.

    Look yourself: ``openstack network agent list`` and ``openstack resource provider show
    --allocations PROVIDER``

    Example: ``named_for compute1.old.example, host compute1, consumers (7a1e…)``
    """
    for state in cloud.states():
        root = cloud.snapshot.providers[state.provider.root_uuid]
        if state is root or not NEUTRON.fullmatch(state.name):
            continue
        hypervisor, kind, *device = state.name.split(':', 2)
        agents = [
            agent
            for agent in cloud.answers.agents or ()
            if kind == (_OVN if agent.type == _OVN_GATEWAY else agent.type)
            and _is_of(agent, hypervisor)
        ]
        is_current = any(
            not device or agent.bandwidths is None or (hypervisor, device[0]) in agent.bandwidths
            for agent in agents
        )
        if is_current and hypervisor == root.name:
            continue
        consumers = [consumer.uuid for consumer in cloud.snapshot.consumers_on(state.uuid)]
        facts = {'named_for': hypervisor, 'host': root.name, 'consumers': consumers}
        yield cloud.finding(state, facts, None, _LEFT)


def _is_of(agent: NetworkAgent, hypervisor: str) -> bool:
    """Return True if an agent is on the host of a hypervisor."""
    reported = {name for name, _ in agent.bandwidths or ()}
    return hypervisor in reported or same_host(agent.host, hypervisor)


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
        if facts := _missing(ports, consumer):
            passed_over = cloud.passed_over(uuid)
            if uuid in cloud.migrating:
                passed_over = passed_over or 'a migration is not over'
            facts = {'ports': [port.uuid for port in ports], **facts}
            yield fault(uuid, facts, cloud.roots_of(consumer), None, _REBIND, passed_over)


def _missing(ports: list[Port], consumer: Consumer) -> dict[str, object]:
    """Return the missing resources of all ports of a server: sums, or by Neutron's provider."""
    requested = together(group.resources for port in ports for group in port.groups)
    allocated = together(consumer.allocations.values())
    if short := sorted(name for name, amount in requested.items() if allocated[name] < amount):
        amounts = ({name: sums[name] for name in short} for sums in (requested, allocated))
        return dict(zip(('asked', 'holds'), amounts, strict=True))
    noted: dict[str, Counter[str]] = {}
    for port in ports:
        for group in port.groups:
            if provider := port.providers.get(group.id):
                noted.setdefault(provider, Counter()).update(group.resources)
    wrong = {
        provider: dict(resources)
        for provider, resources in noted.items()
        if not resources <= Counter(consumer.allocations.get(provider, {}))
    }
    return {'noted_by_neutron': wrong} if wrong else {}


def segment_addresses(cloud: Cloud) -> Iterator[Finding]:
    """A segment of a routed network and its provider in Placement disagree.

    The provider has the UUID of the segment. Its ``IPV4_ADDRESS`` are the addresses in the pools of
    the segment's IPv4 subnets, with a gateway for each. It is in the aggregate of the hosts that
    reach the segment. The check finds segments without a provider, with another total, without an
    aggregate, or in an aggregate without hosts. It also finds providers of segments that are gone.

    Why it matters: Nova looks for a host by these aggregates and addresses. Without them a server
    goes to a host that its port cannot be bound on, or finds no valid host.

    Safe to fix: yes, but not by ``--fix``: Neutron and Nova write these providers. ``resource
    provider aggregate sync`` puts the hosts into Nova's aggregate of the segment, and frees
    nothing.

    Look yourself: ``openstack subnet list --long``, ``openstack network segment list`` and
    ``openstack resource provider inventory list SEGMENT``

    Example: ``addresses 252, inventory 126, hosts_in_aggregate 4``
    """
    segments = cloud.answers.subnets or {}
    hosts = [state for state in cloud.snapshot.roots() if not state.name.startswith(_NAME)]
    for uuid, addresses in sorted(segments.items()):
        state = cloud.snapshot.providers.get(uuid)
        inventory = state.inventories.get(_IPV4) if state else None
        aggregates = state.aggregates if state else ()
        members = sum(not host.aggregates.isdisjoint(aggregates) for host in hosts)
        total = inventory.total if inventory else 0
        if total != addresses or not members:
            facts = {'addresses': addresses, 'inventory': total, 'hosts_in_aggregate': members}
            roots = (uuid,) if state else ()
            yield fault(state.name if state else f'{_NAME}{uuid}', facts, roots, None, _WRITTEN)
    for state in cloud.snapshot.roots():
        if state.name.startswith(_NAME) and state.uuid not in segments:
            yield cloud.finding(state, {'addresses': 0}, None, _GONE)
