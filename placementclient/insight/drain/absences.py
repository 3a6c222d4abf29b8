# SPDX-License-Identifier: Apache-2.0
"""The servers that Nova has on a host and that hold nothing there in Placement."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from placementclient.basis.wording import join_names
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.insight.audit.servers import find_servers_without_allocations, find_wrong_hosts
from placementclient.insight.drain.departures import (
    GONE,
    Departure,
    Hindrance,
    MoveState,
    choose_departure,
)
from placementclient.model.consumers import Allocations
from placementclient.model.findings import Finding
from placementclient.model.servers import Server, ServerMigration
from placementclient.model.snapshots import Snapshot

#: Returns the command that repairs what an audit finds, or the reason for none; one is empty.
RepairChoice = Callable[[Finding], tuple[str, str]]


def find_absent_servers(
    snapshot: Snapshot,
    servers: Iterable[Server],
    migrations: Sequence[ServerMigration] | None,
    states: Mapping[str, str],
    choose_repair: RepairChoice,
) -> tuple[dict[str, list[Hindrance]], dict[str, Departure]]:
    """Return, by the UUID of a host's root, the servers that Nova has there and that hold nothing.

    Neither such a server nor an unfinished migration of it holds anything on the host.

    The second result has, by UUID, the departures of servers that hold all on other hosts.

    :param states: of the servers, in small letters
    """
    absent = defaultdict[str, list[Hindrance]](list)
    departures: dict[str, Departure] = {}
    present = {server.uuid: server for server in servers if server.state not in GONE}
    cloud = Cloud(snapshot, CloudLists(present, migrations))
    elsewhere = list(_list_servers_elsewhere(cloud))
    checks = (find_servers_without_allocations, find_wrong_hosts) if elsewhere else ()
    findings = {finding.subject: finding for check in checks for finding in check(cloud)}
    for server, homes, held in elsewhere:
        state, finding = states[server.uuid], findings.get(server.uuid)
        command, reason, wait = _choose_first_step(cloud, server, state, finding, choose_repair)
        place = _describe_whereabouts(cloud, homes, held)
        reason = f'{place}; {reason}' if reason else place
        if held:
            # Only a server that is moving to the hosts of its allocations needs a place after them.
            departures[server.uuid] = Departure(
                MoveState.CANNOT_MOVE, command, reason, needs_place=bool(wait)
            )
        if not _has_migration_on(cloud, server, homes):
            for uuid in homes:
                absent[uuid].append(Hindrance(server.uuid, reason, command))
    return absent, departures


def _choose_first_step(
    cloud: Cloud, server: Server, state: str, finding: Finding | None, choose_repair: RepairChoice
) -> tuple[str, str, str]:
    """Return the next command for a server that holds nothing on its host, and two reasons.

    The first says why no command repairs that or why to wait, the second only why to wait; each
    may be empty.

    :param finding: of the audit, on the server; ``None`` if it has none
    """
    command, reason = choose_repair(finding) if finding else ('', '')
    wait = cloud.find_skip_reason(server.uuid)
    if finding and not reason:
        wait = wait or finding.passed_over
    if finding and not wait:
        return command, reason, ''
    # The audit has no command, and "allocation heal" leaves the server alone.
    way = choose_departure(state, None)
    is_blocked = way.state is MoveState.CANNOT_MOVE
    command = way.command if is_blocked else 'openstack server show {server}'
    return command.format(server=server.uuid), wait, wait


def _list_servers_elsewhere(cloud: Cloud) -> Iterator[tuple[Server, list[str], Allocations]]:
    """Yield each server with nothing on its host, the host's roots, and what it holds elsewhere."""
    for server in cloud.servers.values():
        homes = cloud.find_host_roots(server.host_names)
        consumer = cloud.snapshot.consumers.get(server.uuid)
        held = cloud.find_providers_by_root(consumer) if consumer else {}
        if homes and held.keys().isdisjoint(homes):
            yield server, homes, consumer.allocations if consumer else {}


def _has_migration_on(cloud: Cloud, server: Server, root_uuids: list[str]) -> bool:
    """Return True if an unfinished migration of a server has allocations on one of some hosts."""
    holders = (
        cloud.snapshot.consumers.get(migration.uuid or '')
        for migration in cloud.migrations_of[server.uuid]
        if not migration.is_over
    )
    held = chain.from_iterable(map(cloud.find_providers_by_root, filter(None, holders)))
    return not set(held).isdisjoint(root_uuids)


def _describe_whereabouts(cloud: Cloud, homes: list[str], held: Allocations) -> str:
    """Return a clause: a server holds nothing, or all on other hosts than it is on for Nova."""
    if not held:
        return (
            'holds no allocations in Placement: the scheduler does not count it, nor has this plan '
            'a place for it'
        )
    names = join_names(list(cloud.insert_provider_names(held)), 5)
    home = ' or '.join(map(cloud.get_name, homes))
    return f'is on {home} for Nova, but all its allocations are on {names}'
