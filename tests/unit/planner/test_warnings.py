# SPDX-License-Identifier: Apache-2.0
"""What an operator is warned of."""

import pytest

from placementclient.files import specifications
from placementclient.model.nova import is_child_name
from placementclient.model.servers import ServerMigration
from placementclient.planner import planner
from placementclient.render import plans
from tests.unit.planner.clouds import cloud, uuid_of

SPEC = """
trees: {{}}
providers:
- name: "{{root}}_{child}"
  traits: [{traits}]
moves:
- from_resource_provider: "{{root}}"
  to_resource_provider: "{{root}}_{child}"
  moved_resources: {{VGPU: all}}
"""


def plan_of(consumers, migrations, child='pci_0000_84_00_0', traits='OWNER_NOVA', hosts=('gpu1',)):
    host = {'inventories': {'VGPU': {'total': 8}}, 'traits': ['COMPUTE_NODE', 'OWNER_NOVA']}
    spec = specifications.parse_specification(SPEC.format(child=child, traits=traits), 'spec.yaml')
    snapshot = cloud(dict.fromkeys(hosts, host), consumers)
    return planner.plan_reshape(snapshot, spec, migrations=migrations)


def warnings_of(*arguments, **options):
    (tree,) = plan_of(*arguments, **options).changes
    return [(warning.kind, warning.message) for warning in tree.warnings]


def vm(type=None):
    return {'gpu1': {'VGPU': 1}, 'type': type}


def migration(uuid, server, status):
    return ServerMigration(uuid_of(server), status, uuid_of(uuid), 'gpu1')


def test_plan_warns_of_migrations_in_the_list_of_nova():
    consumers = {'moving': vm(), 'server': vm(), 'settled': vm()}
    listed = [migration('moving', 'server', 'finished'), migration('old', 'settled', 'confirmed')]
    plan = plan_of(consumers, listed)
    (warning,) = plan.changes[0].warnings
    assert warning.message == 'migrations in progress: 2; finish them first if you can'
    assert warning.facts == {'consumers': sorted([uuid_of('moving'), uuid_of('server')])}


def test_plan_warns_where_migrations_are_not_known():
    assert warnings_of({'a': vm(), 'b': vm(), 'c': vm('INSTANCE')}, None) == [
        (
            'migrations-unknown',
            '2 consumers have no type, and may be part of a migration: plan again with '
            '--migrations FILE, which tells',
        )
    ]
    assert not warnings_of({'a': vm()}, [])
    assert not warnings_of({'a': vm('INSTANCE')}, None)


def test_plan_warns_of_consumers_that_are_no_servers():
    assert warnings_of({'a': vm('MIGRATION'), 'b': vm('ACCELERATOR')}, None) == [
        ('migration', 'migrations in progress: 1; finish them first if you can'),
        ('no-server', 'consumers that are no servers: 1'),
    ]


def test_plan_warns_of_a_child_that_nova_ignores():
    assert [kind for kind, _ in warnings_of({}, (), traits='')] == ['no-owner']


def test_plan_warns_of_a_name_that_nova_would_not_use():
    assert warnings_of({}, (), child='pci_0000_84_0_0') == [
        (
            'foreign-name',
            "Nova's libvirt driver gives no provider the name gpu1_pci_0000_84_0_0; the forms of "
            'its names are gpu1_pci_0000_84_00_0, gpu1_0000:84:00.0, gpu1_amd_sev',
        )
    ]


def test_equal_warnings_of_trees_are_one_line():
    plan = plan_of({}, (), child='card', hosts=('gpu1', 'gpu2', 'gpu3'))
    (line,) = plans.list_warnings(plan.changes)
    assert line.startswith("gpu1 and 2 others: Nova's libvirt driver gives no provider the name gp")
    assert list(plans.format_plan(plan))[-4:-1] == ['Warnings:', f'  {line}', '']


@pytest.mark.parametrize(
    ('name', 'is_of_nova'),
    [
        ('gpu1_pci_0000_84_00_0', True),
        ('gpu1_pci_0000_84_00_7', True),
        ('gpu1_pci_10000_e1_1f_3', True),
        ('gpu1_0000:81:00.0', True),
        ('gpu1_0000:C1:00.0', True),
        ('gpu1_amd_sev', True),
        ('gpu1_amd_sev_es', True),
        ('gpu1', False),
        ('gpu1_0000:c1:00.0', False),
        ('gpu1_pci_0000_C1_00_0', False),
        ('gpu1_pci_0000_84_00_8', False),
        ('gpu1_pci_0000_84_00_0_', False),
        ('gpu2_pci_0000_84_00_0', False),
        ('gpu1_NUMA0', False),
    ],
)
def test_plan_accepts_names_that_nova_uses(name, is_of_nova):
    assert is_child_name(name, 'gpu1') is is_of_nova
