# SPDX-License-Identifier: Apache-2.0
import pytest

from placementclient.basis import errors
from placementclient.hosts import pinned
from placementclient.model.servers import Flavor, Image, Server, ServerImage, ServerMigration
from placementclient.nova.images import Images
from tests.unit.hosts.libvirt_output import SERVERS
from tests.unit.hosts.test_assignments import outcome, snapshot


def servers(*policies):
    """:param policies: of the flavor and of the image of each server"""
    return {
        uuid: Server(
            uuid,
            flavor=Flavor('m', 4, 64, extra_specs={'hw:cpu_policy': flavor} if flavor else {}),
            image=None
            if image is None
            else ServerImage('i', {'hw_cpu_policy': image} if image else {}),
        )
        for uuid, (flavor, image) in zip(SERVERS, policies, strict=False)
    }


def test_pinned_servers_are_found_by_flavor_image_and_migration():
    listed = servers(('dedicated', None), ('', 'dedicated'), ('', ''))
    migration = ServerMigration(SERVERS[0], 'finished', SERVERS[3], 'gpu1', type='resize')
    allocated = {'VCPU': 4}
    rows, contradictions = outcome(
        pinned.assign_pinned_servers,
        listed,
        's.json',
        snapshot(s0=allocated, s1=allocated, s2=allocated, s3=allocated),
        [migration, ServerMigration(SERVERS[0], 'done', SERVERS[2], 'gpu1')],
    )
    *rows, shared = rows
    assert (shared.consumer_uuid, shared.to_resource_class) == (SERVERS[2], 'VCPU')
    assert [(row.consumer_uuid, row.evidence) for row in rows] == [
        (SERVERS[0], 'hw:cpu_policy=dedicated'),
        (SERVERS[3], f'hw:cpu_policy=dedicated, migration of server {SERVERS[0]}'),
        (SERVERS[1], 'hw_cpu_policy=dedicated'),
    ]
    assert {(row.to_provider, row.resource_class, row.to_resource_class) for row in rows} == {
        ('gpu1', 'VCPU', 'PCPU')
    }
    assert contradictions == []


def test_servers_with_mixed_cpu_policy_are_refused_by_name():
    rows, contradictions = outcome(
        pinned.assign_pinned_servers, servers(('mixed', '')), 's.json', snapshot(s0={'VCPU': 4})
    )
    ((subject, reason),) = contradictions
    assert (rows, subject) == ([], SERVERS[0])
    assert '"mixed"' in reason


@pytest.mark.parametrize(
    ('volume', 'reason'),
    [
        (
            True,
            'boots from a volume, and only the volume says if its image has hw_cpu_policy: give '
            '--images',
        ),
        (False, 'may have an image with hw_cpu_policy: give --images'),
    ],
)
def test_pinned_does_not_take_an_image_that_is_not_known_for_one_without_a_policy(volume, reason):
    silent = Server(
        SERVERS[0], flavor=Flavor('m', 4, 64), image=None if volume else ServerImage('i')
    )
    stated = Server(SERVERS[1], flavor=Flavor('m', 4, 64, extra_specs={'hw:cpu_policy': 'shared'}))
    allocated = {'VCPU': 4}
    rows, contradictions = outcome(
        pinned.assign_pinned_servers,
        {SERVERS[0]: silent, SERVERS[1]: stated},
        's.json',
        snapshot(s0=allocated, s1=allocated),
    )
    assert [row.consumer_uuid for row in rows] == [SERVERS[1]]
    assert contradictions == [(SERVERS[0], reason)]


def test_servers_without_extra_specs_are_refused():
    unknown = {SERVERS[0]: Server(SERVERS[0])}
    with pytest.raises(errors.BadFile, match=f'^s.json: server {SERVERS[0]} does not say'):
        outcome(pinned.assign_pinned_servers, unknown, 's.json', snapshot())


@pytest.mark.parametrize('volume', [True, False])
def test_pinned_reads_the_cpu_policy_of_images_and_of_root_volumes(volume):
    silent = Server(
        SERVERS[0], flavor=Flavor('m', 4, 64), image=None if volume else ServerImage('I')
    )
    image = Image({'hw_cpu_policy': 'dedicated'})
    known = Images(of_servers={SERVERS[0]: image}) if volume else Images({'i': image})
    results = pinned.assign_pinned_servers(
        {SERVERS[0]: silent}, 's', snapshot(s0={'VCPU': 4}), (), known
    )
    [row] = results
    assert row.to_resource_class == 'PCPU'
