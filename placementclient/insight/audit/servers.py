"""Faults of servers: they hold nothing, the wrong amounts, or what belongs to somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from placementclient.insight import healing
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Fault
from placementclient.insight.audit.inventories import unlisted_usage
from placementclient.insight.healing import HealState
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.repairs import HealServer, Remedy
from placementclient.model.servers import Server, ServerDetail
from placementclient.nova.resource_request import resources

_HIDDEN = 'its host has usage that no consumer answers for'
_ELSEWHERE = (
    'it is not known which of the two is right: if openstack server show still names this host, '
    'move what the server holds there with resource provider allocation move'
)
_AMOUNT = (
    'Nova writes what a server holds anew when it is resized or migrated; resource provider '
    'allocation set does it by hand'
)


def without_allocations(cloud: Cloud) -> Iterator[Fault]:
    """A server that is on a host and holds nothing: what it uses is promised to others."""
    # That usage is told of first; a server may be behind it.
    hidden = {root for fault in unlisted_usage(cloud) for root in fault.roots}
    for server, evidence in _without(cloud):
        roots = cloud.host_roots(server.hosts)
        reason = '' if hidden.isdisjoint(roots) else _HIDDEN
        yield _fault(cloud, server, evidence, HealServer(server.uuid), passed_over=reason)


def _without(cloud: Cloud) -> Iterator[tuple[Server, Mapping[str, Any]]]:
    for heal in healing.missing(cloud.snapshot, _detailed(cloud), cloud.migrating):
        should_hold = {'should_hold': dict(heal.resources)} if heal.resources else {}
        unknown = {'unknown': heal.reason} if heal.state is HealState.UNKNOWN else {}
        yield (cloud.servers or {})[heal.server.uuid], should_hold | unknown
    for server in _servers(cloud):
        held = cloud.snapshot.consumers.get(server.uuid)
        if server.detail is None and server.hosts and (held is None or not held.allocations):
            yield server, {'unknown': 'what it should hold: the list of servers has no flavors'}


def foreign_owner(cloud: Cloud) -> Iterator[Fault]:
    """A server whose allocations count for another project, or belong to another user."""
    for heal in healing.disowned(cloud.snapshot, _detailed(cloud), cloud.migrating):
        held = cloud.snapshot.consumers[heal.server.uuid]
        evidence = {
            'project_id': held.project_id,
            'user_id': held.user_id,
            'owner': {'project_id': heal.server.project_id, 'user_id': heal.server.user_id},
        }
        server = (cloud.servers or {})[heal.server.uuid]
        yield _fault(cloud, server, evidence, HealServer(server.uuid))


def wrong_host(cloud: Cloud) -> Iterator[Fault]:
    """A server that holds all on another host than the one that Nova has it on."""
    for server, held, root in _on_one_host(cloud):
        # A driver may give its hosts other names than their providers: only a known one counts.
        is_known = server.detail is not None or cloud.host_roots(server.hosts)
        if is_known and not cloud.named([root], server.hosts):
            evidence = {
                'holds': {cloud.name(uuid): dict(each) for uuid, each in held.allocations.items()}
            }
            yield _fault(cloud, server, evidence, None, _ELSEWHERE, also=root)


def wrong_amount(cloud: Cloud) -> Iterator[Fault]:
    """A server that holds on its host another amount of a class than its flavor says."""
    for server, held, root in _on_one_host(cloud):
        detail = server.detail
        if detail is None or detail.flavor is None or not cloud.named([root], server.hosts):
            continue
        expected = _together([resources(detail.flavor, boots_from_volume=detail.boots_from_volume)])
        there = _together(held.allocations.values())
        # Other classes are of ports, devices and images, which no flavor tells.
        wrong = [
            name
            for name in sorted(expected.keys() | {'VCPU', 'MEMORY_MB', 'DISK_GB'})
            if expected.get(name, 0) != there.get(name, 0)
        ]
        if wrong:
            evidence = {
                'holds': {name: there.get(name, 0) for name in wrong},
                'should_hold': {name: expected.get(name, 0) for name in wrong},
            }
            yield _fault(cloud, server, evidence, None, _AMOUNT)


def _together(parts: Iterable[Resources]) -> dict[str, int]:
    """Amounts by class; dedicated CPUs, which an image may ask for too, count as VCPU."""
    sums: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            name = 'VCPU' if name == 'PCPU' else name
            sums[name] = sums.get(name, 0) + amount
    return sums


def _on_one_host(cloud: Cloud) -> Iterator[tuple[Server, Consumer, str]]:
    """The servers that are on a host and hold something on one, with the root of that one."""
    for server in _servers(cloud):
        held = cloud.snapshot.consumers.get(server.uuid)
        if held is None or not server.hosts:
            continue
        hosts = cloud.hosts_of(held)
        # A snapshot of some trees does not tell what a server holds on others.
        if len(hosts) == 1 and cloud.snapshot.providers.keys() >= held.allocations.keys():
            yield server, held, next(iter(hosts))


def _servers(cloud: Cloud) -> Iterable[Server]:
    return (cloud.servers or {}).values()


def _detailed(cloud: Cloud) -> list[ServerDetail]:
    return [server.detail for server in _servers(cloud) if server.detail]


def _fault(
    cloud: Cloud,
    server: Server,
    evidence: Mapping[str, Any],
    remedy: Remedy | None,
    reason: str = '',
    passed_over: str = '',
    also: str | None = None,
) -> Fault:
    """A fault of a server, which concerns the tree of its host.

    :param also: the root of another tree that it concerns
    """
    roots = [*cloud.host_roots(server.hosts), *([also] if also else [])]
    host = {'host': server.hosts[0]} if server.hosts else {}
    return Fault(
        server.uuid,
        tuple(roots),
        {**host, **evidence},
        remedy,
        reason,
        cloud.passed_over(server) or passed_over,
    )
