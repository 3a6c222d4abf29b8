# SPDX-License-Identifier: Apache-2.0
"""Servers that get their allocations, as far as there is room on their host."""

import pytest
from msgspec.structs import replace

from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.servers import Flavor, Server
from placementclient.model.snapshots import Snapshot
from placementclient.producers.heal import heal_servers
from tests.unit.insight.clouds import cloud, consumer, provider

FLAVOR = Flavor('m', 2, 1024, 0)


def server(uuid, flavor=FLAVOR):
    return Server(uuid, node='host', flavor=flavor, project_id='p', user_id='u')


def host(**limits):
    """A host with 8 VCPU, of which 3 are used."""
    state = provider('host', VCPU=8, MEMORY_MB=8192)
    inventories = {**state.inventories, 'VCPU': replace(Inventory(8), **limits)}
    state = replace(state, inventories=inventories, usages={'VCPU': 3})
    return cloud([state], [consumer('there', host={'VCPU': 3})])


def test_the_servers_share_the_room_of_their_host():
    live = host()
    after, notes = heal_servers(live, [server(uuid) for uuid in ('a', 'b', 'c')], ())
    [uuid] = live.providers
    resources = {uuid: {'VCPU': 2, 'MEMORY_MB': 1024}}
    assert after.consumers.keys() - live.consumers.keys() == {'a', 'b'}
    assert after.consumers['a'] == Consumer('a', resources, 'p', 'u', type='INSTANCE')
    reason = 'host has no room: 2 VCPU needed, 1 free'
    assert notes == [Finding('failed', 'consumer c', {}, reason=reason)]


@pytest.mark.parametrize('limits', [{'max_unit': 1}, {'min_unit': 4}, {'step_size': 4}])
def test_heal_refuses_an_amount_that_the_host_does_not_grant(limits):
    live = host(**limits)
    after, notes = heal_servers(live, [server('a')], ())
    assert after.consumers == live.consumers
    [(limit, number)] = limits.items()
    reason = f'host does not grant 2 VCPU at once ({limit} {number})'
    assert notes == [Finding('failed', 'consumer a', {}, reason=reason)]


def test_heal_writes_no_types_to_a_service_without_them():
    after, _ = heal_servers(host(), [server('a')], (), types=False)
    assert after.consumers['a'].type is None


def test_heal_writes_nothing_for_a_server_that_is_left_alone():
    live = host()
    after, notes = heal_servers(live, [server('a'), server('b', Flavor('m', 0, 0, 0))], {'a'})
    assert after.consumers == live.consumers
    assert [(note.subject, note.kind, note.reason, note.severity) for note in notes] == [
        ('consumer a', 'left alone', 'a migration is not over', Severity.WARNING),
        ('consumer b', 'not known', 'its flavor asks for nothing', Severity.ERROR),
    ]


def test_heal_of_owners_needs_no_room():
    live = host(total=1)
    foreign = replace(live.consumers['there'], project_id='nobody')
    live = Snapshot(live.providers.values(), [foreign])
    after, notes = heal_servers(live, [server('there')], ())
    assert after.consumers['there'] == replace(foreign, project_id='p', user_id='u')
    assert notes == []
