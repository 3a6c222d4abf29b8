"""Faults of servers: who holds nothing, or what belongs to somebody else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from placementclient.insight import healing
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Fault
from placementclient.insight.audit.inventories import unlisted_usage
from placementclient.insight.healing import State
from placementclient.model.repairs import HealServer
from placementclient.model.servers import Server, ServerDetail


def without_allocations(cloud: Cloud) -> Iterator[Fault]:
    """A server that is on a host and holds nothing: what it uses is promised to others."""
    # That usage is told of first; a server may be behind it.
    hidden = {root for fault in unlisted_usage(cloud) for root in fault.roots}
    return (fault for fault in _without(cloud) if hidden.isdisjoint(fault.roots))


def _without(cloud: Cloud) -> Iterator[Fault]:
    for heal in healing.missing(cloud.snapshot, _detailed(cloud), cloud.migrating):
        if heal.state is not State.LEFT_ALONE:
            should_hold = {'should_hold': dict(heal.resources)} if heal.resources else {}
            unknown = {'unknown': heal.reason} if heal.state is State.UNKNOWN else {}
            yield _fault(cloud, heal.server.uuid, should_hold | unknown)
    for server in _servers(cloud):
        if server.detail is None and _holds_nothing(cloud, server):
            unknown = {'unknown': 'what it should hold: the list of servers has no flavors'}
            yield _fault(cloud, server.uuid, unknown)


def foreign_owner(cloud: Cloud) -> Iterator[Fault]:
    """A server whose allocations count for another project, or belong to another user."""
    for heal in healing.disowned(cloud.snapshot, _detailed(cloud), cloud.migrating):
        if heal.state is not State.LEFT_ALONE:
            held = cloud.snapshot.consumers[heal.server.uuid]
            evidence = {
                'project_id': held.project_id,
                'user_id': held.user_id,
                'owner': {
                    'project_id': heal.server.project_id, 'user_id': heal.server.user_id
                },
            }  # fmt: skip
            yield _fault(cloud, heal.server.uuid, evidence)


def _servers(cloud: Cloud) -> Iterable[Server]:
    return (cloud.servers or {}).values()


def _detailed(cloud: Cloud) -> list[ServerDetail]:
    return [server.detail for server in _servers(cloud) if server.detail]


def _holds_nothing(cloud: Cloud, server: Server) -> bool:
    held = cloud.snapshot.consumers.get(server.uuid)
    is_under_way = server.task is not None or server.uuid in cloud.migrating
    return bool(server.hosts) and not is_under_way and (held is None or not held.allocations)


def _fault(cloud: Cloud, server_uuid: str, evidence: Mapping[str, Any]) -> Fault:
    hosts = (cloud.servers or {})[server_uuid].hosts
    roots = cloud.named(list(cloud.topology.trees), hosts)
    host = {'host': hosts[0]} if hosts else {}
    return Fault(server_uuid, tuple(roots), {**host, **evidence}, HealServer(server_uuid))
