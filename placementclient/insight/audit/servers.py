# SPDX-License-Identifier: Apache-2.0
"""Checks of servers: no allocations, wrong amounts, or allocations of another owner."""

from collections.abc import Iterator, Mapping

from placementclient.insight.amounts import UnknownAmounts, compare_amounts
from placementclient.insight.audit.cloud import Cloud, make_finding
from placementclient.insight.audit.consumers import has_placeholder_owner
from placementclient.insight.healing import UNKNOWN, make_amounts_heal
from placementclient.model.findings import Finding
from placementclient.model.repairs import HealServer, Remedy
from placementclient.model.servers import Server

_NO_FLAVORS = 'what it should hold: the list of servers has no flavors'
_HIDDEN = 'its host has usage without a consumer'
_SET = (
    'placement resource provider allocation set {} --project-id {} --user-id {} --allocation '
    'rp={},CLASS=AMOUNT'
)
_ELSEWHERE = (
    'it is not known which of the two is right. If openstack server show still names {}, move the '
    'allocations of the server there: placement resource provider allocation move'
)


def find_servers_without_allocations(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers that are on a host and have no allocations there."""
    faults: list[tuple[Server, dict[str, object]]] = []
    for heal in cloud.heals['allocations']:
        facts: dict[str, object] = {}
        if heal.resources:
            facts['should_hold'] = dict(heal.resources)
        if heal.state == UNKNOWN:
            facts['unknown'] = heal.reason
        faults.append((heal.server, facts))
    for server in cloud.servers.values():
        consumer = cloud.snapshot.consumers.get(server.uuid)
        is_empty = consumer is None or not consumer.allocations
        if is_empty and server.host_names and not server.is_detailed:
            faults.append((server, {'unknown': _NO_FLAVORS}))
    # That usage is reported first; a server may be behind it.
    hidden = {state.provider.root_uuid for state, _ in cloud.unlisted_usage}
    for server, facts in faults:
        reason = explain_manual_healing(cloud, server.uuid)
        passed_over = '' if hidden.isdisjoint(cloud.find_host_roots(server.host_names)) else _HIDDEN
        remedy = None if reason else HealServer(server.uuid)
        yield _make_server_finding(cloud, server, facts, remedy, reason, passed_over)


def explain_manual_healing(cloud: Cloud, server_uuid: str) -> str:
    """Return why only a person can heal a server, and the next step; empty if the program can."""
    heal = cloud.unhealable_servers.get(server_uuid)
    if heal is None:
        return ''
    server = heal.server
    if not cloud.find_host_roots(server.host_names):
        return f'{heal.reason}: nova-compute makes it at its start, so see its log'
    command = _SET.format(server.uuid, server.project_id, server.user_id, server.node)
    return f'{heal.reason}. If you know what it holds: {command}'


def find_foreign_owners(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers whose allocations belong to another project or user."""
    for heal in cloud.heals['owner']:
        consumer = cloud.snapshot.consumers[heal.server.uuid]
        if has_placeholder_owner(consumer):
            continue
        facts = {
            'project_id': consumer.project_id,
            'user_id': consumer.user_id,
            'owner': {'project_id': heal.server.project_id, 'user_id': heal.server.user_id},
        }
        yield _make_server_finding(cloud, heal.server, facts, HealServer(heal.server.uuid))


def find_wrong_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers with all allocations on another host than Nova names."""
    for server, consumer, root in cloud.list_servers_on_one_host():
        # A driver may give its hosts other names than their providers: only a known one counts.
        is_comparable_host = server.is_detailed or cloud.find_host_roots(server.host_names)
        if (
            server.host_names
            and is_comparable_host
            and not cloud.select_named_roots([root], server.host_names)
        ):
            holds = {
                cloud.get_name(uuid): dict(used) for uuid, used in consumer.allocations.items()
            }
            reason = _ELSEWHERE.format(server.host_names[0])
            homes, holder = cloud.find_host_roots(server.host_names), cloud.get_name(root)
            if len(homes) == 1 and [*holds] == [holder]:
                reason += f' {server.uuid} --from {holder} --to {cloud.get_name(homes[0])}'
            yield _make_server_finding(
                cloud, server, {'holds': holds}, reason=reason, other_root=root
            )


def find_wrong_amounts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers with other amounts allocated on their host than their flavor requests."""
    for server, consumer, root in cloud.list_servers_on_one_host():
        if not (
            server.flavor
            and server.is_detailed
            and cloud.select_named_roots([root], server.host_names)
        ):
            continue
        try:
            wrong = compare_amounts(server, consumer)
        except UnknownAmounts:
            continue
        if not wrong:
            continue
        facts = {
            'holds': {name: allocated for name, (allocated, _) in wrong.items()},
            'should_hold': {name: right for name, (_, right) in wrong.items()},
        }
        heal = make_amounts_heal(cloud.snapshot, server, consumer)
        remedy = HealServer(server.uuid, corrects_amounts=True) if heal.consumer else None
        yield _make_server_finding(cloud, server, facts, remedy, heal.reason)


def _make_server_finding(
    cloud: Cloud,
    server: Server,
    facts: Mapping[str, object],
    remedy: Remedy | None = None,
    reason: str = '',
    passed_over: str = '',
    other_root: str | None = None,
) -> Finding:
    """Return the finding about a server; it concerns the trees of its host, and of another root.

    :param facts: those beside the name of the host
    :param reason: why there is no remedy, or why not to follow it at once
    :param passed_over: why the audit cannot judge the server now: it counts the server, and
        leaves the finding out; a reason of :meth:`Cloud.find_skip_reason` comes first
    :param other_root: the UUID of another root that the finding concerns
    """
    roots = [*cloud.find_host_roots(server.host_names), *([other_root] if other_root else [])]
    host = {'host': server.host_names[0]} if server.host_names else {}
    passed_over = cloud.find_skip_reason(server.uuid) or passed_over
    return make_finding(server.uuid, {**host, **facts}, tuple(roots), remedy, reason, passed_over)
