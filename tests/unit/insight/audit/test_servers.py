"""Servers that hold nothing, or what belongs to somebody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Finding
from placementclient.model.consumers import Consumer
from placementclient.model.flavors import Flavor
from placementclient.model.servers import Server, ServerDetail, ServerMigration
from placementclient.render import repairs
from tests.unit.insight.clouds import cloud, provider

DETAIL = ServerDetail('s', 'a', Flavor('m', 4, 2048), 'p', 'u')
HOSTS = [provider('a', VCPU=8, MEMORY_MB=4096), provider('b', VCPU=8)]
HELD = Consumer('s', {'a': {'VCPU': 4, 'MEMORY_MB': 2048}}, 'p', 'u')
HEAL = 'openstack resource provider allocation heal --server s'


def findings(
    server: Server,
    *held: Consumer,
    migrations: list[ServerMigration] | None = None,
    unsettled: tuple[str, ...] = (),
) -> list[Finding]:
    return list(audit(Cloud(cloud(HOSTS, [*held]), {'s': server}, migrations, unsettled)))


def detailed(**changes: Any) -> Server:
    return Server('s', ('a',), detail=replace(DETAIL, **changes))


@pytest.mark.parametrize(
    ('server', 'evidence'),
    [
        (detailed(), {'host': 'a', 'should_hold': {'VCPU': 4, 'MEMORY_MB': 2048}}),
        (
            detailed(flavor=Flavor('g', 1, 0, extra_specs={'resources:VGPU': '1'})),
            {'host': 'a', 'unknown': 'which devices it has: VGPU'},
        ),
        (
            Server('s', ('a',)),
            {'host': 'a', 'unknown': 'what it should hold: the list of servers has no flavors'},
        ),
    ],
)
@pytest.mark.parametrize('held', [(), (Consumer('s', {}),)])
def test_a_server_that_holds_nothing(
    server: Server, evidence: dict[str, Any], held: tuple[Consumer, ...]
) -> None:
    [found] = findings(server, *held)
    assert (found.id, found.severity, found.fault.subject) == ('without-allocations', 'error', 's')
    assert (found.fault.roots, found.fault.evidence) == (('a',), evidence)
    assert repairs.command(found.fault.remedy, 'openstack') == HEAL
    assert found.fault.repair is None


def test_a_host_that_placement_does_not_know() -> None:
    [found] = findings(Server('s', ('z',), detail=replace(DETAIL, node='z')))
    assert found.fault.roots == ()
    assert found.fault.evidence == {'host': 'z', 'unknown': 'there is no resource provider z'}


def test_usage_that_nobody_answers_for_may_be_a_servers() -> None:
    states = [replace(HOSTS[0], usages={'VCPU': 4})]
    for server in (detailed(), Server('s', ('a',))):
        found = audit(Cloud(cloud(states), {'s': server}))
        assert [each.id for each in found] == ['unlisted-usage']


def test_the_files_of_the_lists_are_in_the_command() -> None:
    [found] = findings(detailed())
    lists = {'--servers': 'my servers.json', '--migrations': 'm.json'}
    typed = repairs.command(found.fault.remedy, 'openstack', lists)
    assert typed == f"{HEAL} --servers 'my servers.json' --migrations m.json"


def test_a_server_of_another_owner() -> None:
    [found] = findings(detailed(), replace(HELD, project_id='other', user_id=None))
    assert (found.id, found.severity) == ('foreign-owner', 'warning')
    assert found.fault.evidence == {
        'host': 'a',
        'project_id': 'other',
        'user_id': None,
        'owner': {'project_id': 'p', 'user_id': 'u'},
    }
    assert repairs.command(found.fault.remedy, 'openstack') == HEAL


@pytest.mark.parametrize(
    'server',
    [
        detailed(task='rebuilding'),
        detailed(is_resized=True),
        detailed(node=None),
        Server('s', ('a',), 'spawning'),
        Server('s'),
    ],
)
def test_a_server_under_way_or_nowhere(server: Server) -> None:
    assert not findings(server)
    if server.detail is not None and server.detail.node:
        assert not findings(server, replace(HELD, project_id='other'))


@pytest.mark.parametrize('server', [detailed(), Server('s', ('a',))])
def test_a_server_that_moves_or_has_changed_since(server: Server) -> None:
    moving = ServerMigration('m', 's', ('b',), 'running')
    assert not findings(server, migrations=[moving])
    assert not findings(server, unsettled=('s',))
    done = replace(moving, status='completed')
    assert [each.id for each in findings(server, migrations=[done])] == ['without-allocations']
