# SPDX-License-Identifier: Apache-2.0
"""Checks of the providers of Neutron's agents and segments, and of what its ports request."""

from collections import Counter
from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.insight.owners import NEUTRON_PROVIDER
from placementclient.model.consumers import Consumer, sum_resources
from placementclient.model.findings import Finding
from placementclient.model.network import NetworkAgent, Port
from placementclient.model.servers import is_same_host

#: OVN's driver names all providers for the former, also those of gateways.
_OVN, _OVN_GATEWAY = 'OVN Controller agent', 'OVN Controller Gateway agent'
_BANDWIDTH_PREFIX = 'NET_BW_'
_RESTART_AGENT = (
    'Neutron writes these providers itself: see in the log of neutron-server why it has not, and '
    'restart the agent, which makes Neutron try again'
)
_DELETE_PROVIDER = (
    'Neutron deletes no provider. When no server has allocations on it, delete it, children first: '
    'placement resource provider delete PROVIDER'
)
_REATTACH_PORT = (
    'Nova and Neutron allocate when a port is attached: openstack server remove port, then '
    'openstack server add port, or a cold migration'
)
#: The name of a segment's provider, before the segment's ID.
_SEGMENT_PREFIX = 'Neutron segment id '
_IPV4 = 'IPV4_ADDRESS'
_READ_LOG = (
    'Neutron writes it when a subnet of the segment changes, but only if its section [placement] '
    'and its section [nova] work: see the log of neutron-server'
)
_DELETE_SEGMENT = 'if the network is gone, delete it: placement resource provider delete PROVIDER'


def find_bandwidth_differences(cloud: Cloud) -> Iterator[Finding]:
    """Yield the devices whose bandwidth differs from the configuration of Neutron's agent."""
    agents = cloud.lists.agents or ()
    has_providers = any(NEUTRON_PROVIDER.fullmatch(state.name) for state in cloud.list_providers())
    # An agent that is not synced reports bandwidths that Neutron has not written.
    is_comparable = any(a.bandwidths is not None or a.is_synced is False for a in agents)
    if agents and has_providers and not is_comparable:
        raise MissingFields(
            'no agent reports bandwidths, as those of OVN never do: nothing can be compared'
        )
    for agent in agents:
        if agent.is_synced is False:
            roots = tuple(
                root.uuid for root in cloud.snapshot.roots() if _is_agent_on_host(agent, root.name)
            )
            subject = f'{agent.host}:{agent.type}'
            yield make_finding(subject, {'resources_synced': False}, roots, reason=_RESTART_AGENT)
        yield from _compare_bandwidths(cloud, agent)


def _compare_bandwidths(cloud: Cloud, agent: NetworkAgent) -> Iterator[Finding]:
    """Yield the devices of an agent whose bandwidth in Placement is not the configured one."""
    for (hypervisor, device), amounts in (agent.bandwidths or {}).items():
        name = f'{hypervisor}:{agent.type}:{device}'
        host, state = cloud.snapshot.find_by_name(hypervisor), cloud.snapshot.find_by_name(name)
        totals = {
            resource_class: inventory.total
            for resource_class, inventory in (state.inventories if state else {}).items()
            if resource_class.startswith(_BANDWIDTH_PREFIX)
        }
        if totals != amounts:
            facts = {'configured': dict(amounts), 'inventory': totals}
            yield make_finding(name, facts, (host.uuid,) if host else (), reason=_RESTART_AGENT)


def find_providers_without_agent(cloud: Cloud) -> Iterator[Finding]:
    """Yield the providers named after a Neutron agent that is gone or on another host."""
    for state in cloud.list_providers():
        root = cloud.snapshot.providers[state.provider.root_uuid]
        if state is root or not NEUTRON_PROVIDER.fullmatch(state.name):
            continue
        hypervisor, kind, *device = state.name.split(':', 2)
        agents = [
            agent
            for agent in cloud.lists.agents or ()
            if kind == (_OVN if agent.type == _OVN_GATEWAY else agent.type)
            and _is_agent_on_host(agent, hypervisor)
        ]
        is_current = any(
            not device or agent.bandwidths is None or (hypervisor, device[0]) in agent.bandwidths
            for agent in agents
        )
        if is_current and hypervisor == root.name:
            continue
        consumers = [consumer.uuid for consumer in cloud.snapshot.consumers_on(state.uuid)]
        facts = {'named_for': hypervisor, 'host': root.name, 'consumers': consumers}
        yield cloud.make_finding(state, facts, reason=_DELETE_PROVIDER)


def _is_agent_on_host(agent: NetworkAgent, hypervisor: str) -> bool:
    reported = {name for name, _ in agent.bandwidths or ()}
    return hypervisor in reported or is_same_host(agent.host, hypervisor)


def find_missing_port_resources(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers without the bandwidth or packets that their ports request."""
    by_server: dict[str, list[Port]] = {}
    for port in cloud.lists.ports or ():
        by_server.setdefault(port.server_uuid, []).append(port)
    for uuid, ports in sorted(by_server.items()):
        consumer = cloud.snapshot.consumers.get(uuid)
        if consumer is None or not consumer.allocations:
            continue
        if facts := _find_missing_amounts(ports, consumer):
            passed_over = cloud.find_skip_reason(uuid)
            if uuid in cloud.migrating:
                passed_over = passed_over or 'a migration is not over'
            facts = {'ports': [port.uuid for port in ports], **facts}
            yield make_finding(
                uuid,
                facts,
                cloud.find_roots(consumer),
                reason=_REATTACH_PORT,
                passed_over=passed_over,
            )


def _find_missing_amounts(ports: list[Port], consumer: Consumer) -> dict[str, object]:
    """Return facts on the amounts that the ports of a server request and it lacks; empty: none.

    ``asked`` and ``holds`` are the requested and the allocated amounts, by class. If the server has
    enough of each class, ``noted_by_neutron`` is by provider the requested amounts, where Neutron
    has recorded that the provider grants them, and the server holds less there.
    """
    requested = sum_resources(group.resources for port in ports for group in port.groups)
    allocated = sum_resources(consumer.allocations.values())
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


def find_address_differences(cloud: Cloud) -> Iterator[Finding]:
    """Yield the segments of routed networks whose providers have other addresses or no host."""
    segments = cloud.lists.subnets or {}
    hosts = [
        state for state in cloud.snapshot.roots() if not state.name.startswith(_SEGMENT_PREFIX)
    ]
    for uuid, addresses in sorted(segments.items()):
        facts = {'addresses': addresses, 'inventory': 0, 'hosts_in_aggregate': 0}
        state = cloud.snapshot.providers.get(uuid)
        if state is None:
            yield make_finding(f'{_SEGMENT_PREFIX}{uuid}', facts, (), reason=_READ_LOG)
            continue
        members = sum(not host.aggregates.isdisjoint(state.aggregates) for host in hosts)
        total = state.inventories[_IPV4].total if _IPV4 in state.inventories else 0
        if total != addresses or not members:
            facts |= {'inventory': total, 'hosts_in_aggregate': members}
            yield make_finding(state.name, facts, (uuid,), reason=_READ_LOG)
    for state in cloud.snapshot.roots():
        if state.name.startswith(_SEGMENT_PREFIX) and state.uuid not in segments:
            yield cloud.make_finding(state, {'addresses': 0}, reason=_DELETE_SEGMENT)
