"""Faults of the providers of Neutron's agents, against what the agents are configured with."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.owners import NEUTRON
from placementclient.model.findings import Finding
from placementclient.model.servers import same_host
from placementclient.model.services import NetworkAgent

_SYNC = (
    'Neutron writes these providers itself: see in the log of neutron-server why it has not, and '
    'restart the agent, which makes Neutron try again'
)
_LEFT = (
    'Neutron deletes no provider: when no server holds anything on it, resource provider delete '
    'removes it, children first'
)
_BANDWIDTH = 'NET_BW_'


def agent_bandwidth(cloud: Cloud) -> Iterator[Finding]:
    """The bandwidth in Placement differs from the configuration of Neutron's agent.

    The check compares ``resource_provider_bandwidths`` of each agent with the inventories of the
    providers ``HOST:AGENT TYPE:DEVICE``. It also finds agents with ``resources_synced: false``:
    Neutron could not write some of their providers.

    Why it matters: servers with a minimum bandwidth go to hosts that do not have it, or find no
    valid host.

    Safe to fix: Neutron writes these providers itself, so look for the cause in its log. Often
    ``resource_provider_hypervisors`` of the agent has another name than the provider of the host.

    Look yourself: ``openstack network agent show AGENT -c configuration -c resources_synced`` and
    ``openstack resource provider inventory list PROVIDER``

    Example: ``configured (NET_BW_EGR_KILOBIT_PER_SEC 10000000), inventory
    (NET_BW_EGR_KILOBIT_PER_SEC 1000000)``
    """
    for agent in cloud.answers.agents or ():
        if agent.is_synced is False:
            roots = tuple(root.uuid for root in cloud.snapshot.roots() if _is_of(agent, root.name))
            facts = {'resources_synced': False}
            yield Finding(f'{agent.host}:{agent.type}', roots, facts, None, _SYNC)
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
                yield Finding(
                    name, roots, {'configured': dict(amounts), 'inventory': totals}, None, _SYNC
                )


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
        root = cloud.snapshot.providers[cloud.root_of(state)]
        if state is root or not NEUTRON.fullmatch(state.name):
            continue
        hypervisor, kind, *device = state.name.split(':', 2)
        agents = [
            agent
            for agent in cloud.answers.agents or ()
            if agent.type == kind and _is_of(agent, hypervisor)
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
