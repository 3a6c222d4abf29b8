# SPDX-License-Identifier: Apache-2.0
"""Capacity and candidates, beside what Nova's scheduler really does."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from tests.cloud import accounts, control, hosts, layout, settings
from tests.cloud.compute import Compute

FIRST, SECOND, THIRD = layout.HOSTS
#: The hosts, by the settings of their drivers; Nova reserves 512 MiB of each.
DRIVERS = {
    FIRST: {
        'memory_mb': 3584,
        'local_gb': 70,
        'children': {'pci_0000_84_00_0': {'VGPU': 1}, 'pci_0000_85_00_0': {'VGPU': 1}},
        'traits': ['CUSTOM_SSD', 'COMPUTE_STORAGE_BUS_VIRTIO'],
    },
    SECOND: {
        'memory_mb': 2560,
        'local_gb': 40,
        'inventories': {'CUSTOM_FPGA': 1},
        'traits': ['CUSTOM_SSD', 'CUSTOM_WORN'],
    },
    THIRD: {'memory_mb': 1536, 'local_gb': 20},
}
#: Hosts with the CPUs of cpu_dedicated_set, of cpu_shared_set alone, and of neither.
PINNED = {
    FIRST: {
        'vcpus': 2,
        'inventories': {'PCPU': 4},
        'cpus': {'shared': [0, 1], 'dedicated': [2, 3, 4, 5]},
    },
    SECOND: {'vcpus': 4, 'cpus': {'shared': [0, 1, 2, 3], 'dedicated': []}},
    THIRD: {'vcpus': 4, 'cpus': {'shared': [0, 1, 2, 3], 'dedicated': [0, 1, 2, 3]}},
}
ZONE, ZONED = 'cloud-zone', (SECOND, THIRD)
#: The options of the commands for what the scheduler does here.
SCHEDULER = ('--nova-conf', str(settings.path('nova/nova.conf')), '--aggregates', 'nova')


#: Nova finds no host, or each one that it has tried refuses.
NO_HOST = 'No valid host|Exceeded maximum number of retries'


class Sized(NamedTuple):
    """A flavor, and how many servers of it boot.

    :param disks: what it has beside its root disk
    """

    number: int
    specs: Mapping[str, str] = {}
    disks: Mapping[str, int] = {}


FLAVORS = {
    'sized-plain': Sized(6),
    'sized-vgpu': Sized(2, {'resources:VGPU': '1'}),
    'sized-fpga': Sized(1, {'resources:CUSTOM_FPGA': '1'}),
    'sized-traits': Sized(3, {'trait:CUSTOM_SSD': 'required', 'trait:CUSTOM_WORN': 'forbidden'}),
    'sized-unknown': Sized(0, {'trait:CUSTOM_NOBODY_HAS': 'required'}),
    # 31 GB each: 1, 29, and 1 for the swap of 1 MiB.
    'sized-disks': Sized(3, {}, {'ephemeral': 29, 'swap': 1}),
}


@pytest.fixture
def zone(compute):
    """Hosts with little room, and the UUID of the aggregate of two of them, which is a zone."""
    hosts.settle(compute, DRIVERS)
    for name, sized in FLAVORS.items():
        compute.make_flavor(name, 1, 1024, 1, sized.specs, **sized.disks)
    return str(compute.make_aggregate(ZONE, *ZONED, zone=ZONE)['uuid'])


def _booted(compute, flavor, **more):
    """Boot servers one by one, until there is no valid host; how many there are."""
    for number in range(10):
        uuid = compute.create(f'{flavor}-{number}', flavor, **more)
        server = compute.wait(uuid, 'ACTIVE', 'ERROR')
        if server['status'] == 'ERROR':
            assert re.search(NO_HOST, server['fault']['message'])
            return number
    raise AssertionError(f'{flavor} has room for more than 10')


def _fits(placement, *more):
    rows = placement(
        *['resource', 'capacity', 'show', '--flavors', 'nova', '-f', 'json'], *more
    ).json()
    return {row['flavor']: row['fits'] for row in rows if row.get('tree', '(all)') == '(all)'}


@pytest.mark.usefixtures('zone')
@pytest.mark.parametrize('flavor', FLAVORS)
def test_as_many_servers_boot_as_fit(compute, placement, flavor):
    fits = _fits(placement)[flavor]

    assert (_booted(compute, flavor), fits) == (FLAVORS[flavor].number,) * 2
    assert _fits(placement)[flavor] == 0


@pytest.fixture
def tenant(compute):
    """An administrator in another project than that of the tests."""
    return Compute(accounts.session(project='admin'))


def _reserve(tenant, *hosts):
    """Give a project an aggregate, the UUID of which is returned."""
    project = str(tenant.session.get_project_id())
    return str(tenant.make_aggregate('reserved', *hosts, filter_tenant_id=project)['uuid'])


@pytest.mark.usefixtures('zone')
@pytest.mark.parametrize(('limit', 'number'), [('zone', 3), ('image', 3), ('project', 2)])
def test_as_many_servers_boot_as_fit_in_a_zone_with_an_image_and_in_a_project(
    compute, tenant, placement, limit, number
):
    _reserve(tenant, SECOND)
    image = compute.make_image('of-virtio', {'hw_disk_bus': 'virtio'})
    user, options, server = {
        'zone': (compute, ('--zone', ZONE), {'availability_zone': ZONE}),
        'image': (compute, ('--image', image), {'imageRef': image}),
        'project': (tenant, ('--project', str(tenant.session.get_project_id())), {}),
    }[limit]

    fits = _fits(placement, *SCHEDULER, *options)['sized-plain']

    assert (_booted(user, 'sized-plain', **server), fits) == (number, number)
    assert _fits(placement, *SCHEDULER, *options)['sized-plain'] == 0


@pytest.fixture
def functions(compute):
    """Virtual functions in Placement, where the scheduler looks for them."""
    hosts.settle(compute, {FIRST: hosts.DEVICES}, {FIRST: {**hosts.PCI, 'report_in_placement': 1}})
    usual = settings.nova()
    looking = {**usual['filter_scheduler'], 'pci_in_placement': 'true'}
    control.restart_nova({**usual, 'filter_scheduler': looking}, 'nova', 'nova-scheduler')
    yield
    control.restart_nova(usual, 'nova', 'nova-scheduler')


@pytest.mark.usefixtures('functions')
def test_as_many_servers_with_an_alias_boot_as_fit(compute, placement):
    compute.make_flavor('sized-vf', 1, 512, 1, {'pci_passthrough:alias': 'vf:1'})
    fits = _fits(placement, *SCHEDULER)['sized-vf']

    assert (_booted(compute, 'sized-vf', host=FIRST), fits) == (2, 2)
    assert _fits(placement, *SCHEDULER)['sized-vf'] == 0
    assert _conflicts(placement, 'sized-vf') == [{'CUSTOM_PCI_8086_1565'}]


@pytest.mark.usefixtures('zone')
def test_a_host_without_the_owner_of_nova_gets_no_server(compute, placement):
    before = _fits(placement)['sized-plain']
    placement(f'resource provider trait remove {THIRD} OWNER_NOVA -f json').json()

    fits = _fits(placement)['sized-plain']
    warning = placement('resource capacity show --flavors nova').stderr
    uuid = compute.create('unowned', 'sized-plain', host=THIRD)
    server = compute.wait(uuid, 'ACTIVE', 'ERROR')

    assert (before, fits, server['status']) == (6, 5, 'ERROR')
    assert f'requires the trait OWNER_NOVA, which other hosts have: {THIRD}' in warning


def test_servers_with_dedicated_cpus_count_where_nova_compute_has_them_for_sure(compute, placement):
    hosts.settle(compute, PINNED)
    compute.make_flavor('pinned', 2, 64, 1, {'hw:cpu_policy': 'dedicated'})
    shown = placement('resource capacity show --flavors nova -f json')
    fits = {row['tree']: row['fits'] for row in shown.json() if row['flavor'] == 'pinned'}

    booted = {host: _booted(compute, 'pinned', host=host) for host in layout.HOSTS}

    assert fits == {FIRST: 2, '(all)': 2}
    # Placement grants the others VCPU, with an allocation ratio of 4.
    assert 'flavor pinned: up to 16 more servers on 2 hosts without PCPU' in shown.stderr
    # The resource tracker of the second host refuses all; the third one has no option for CPUs.
    assert booted == {FIRST: 2, SECOND: 0, THIRD: 2}
    full = placement('allocation candidate explain --flavor pinned -f json').json(4)
    assert [[need['value'] for need in conflict] for conflict in full['conflicts']] == [['PCPU']]
    assert full['fallback']['trees_with_candidates'] == 2


@pytest.mark.usefixtures('zone')
def test_the_reason_of_no_valid_host_is_named(compute, placement):
    program = 'allocation candidate explain -f json --flavor'
    before = placement(f'{program} sized-vgpu')
    _booted(compute, 'sized-vgpu')

    full = placement(f'{program} sized-vgpu').json(4)
    unknown = placement(f'{program} sized-unknown')

    assert before.status == 0
    assert [[need['value'] for need in conflict] for conflict in full['conflicts']] == [['VGPU']]
    # Placement refuses a request for a trait that it does not know: no host has it.
    assert unknown.status == 4
    assert 'Placement does not know the trait CUSTOM_NOBODY_HAS: no host has it' in unknown.stderr


def _conflicts(placement, flavor, *options):
    """Return the reasons that are named for a server without a valid host."""
    command = ('allocation', 'candidate', 'explain', '--flavor', flavor, '-f', 'json')
    explained = placement(*command, *SCHEDULER, *options).json(4)
    return [{need['value'] for need in conflict} for conflict in explained['conflicts']]


#: Servers that no host takes: the sizes of their flavors and its properties, and those of their
#: images; and the reason.
REFUSED: dict[str, tuple[dict[str, int], dict[str, str], dict[str, str], str]] = {
    'memory': ({'ram': 3073}, {}, {}, 'MEMORY_MB'),
    'vcpus': ({'vcpus': 17}, {}, {}, 'VCPU'),
    'disks': ({'disk': 1, 'ephemeral': 60, 'swap': 10240}, {}, {}, 'DISK_GB'),
    'secure-boot': (
        {}, {'os:secure_boot': 'required'}, {}, 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'
    ),
    'image-bus': ({}, {}, {'hw_disk_bus': 'scsi'}, 'COMPUTE_STORAGE_BUS_SCSI'),
    'image-trait': ({}, {}, {'trait:STORAGE_DISK_SSD': 'required'}, 'STORAGE_DISK_SSD'),
    'image-format': ({}, {}, {'disk_format': 'ploop'}, 'COMPUTE_IMAGE_TYPE_PLOOP'),
}  # fmt: skip


def test_the_reasons_of_servers_without_a_valid_host_are_named(compute, tenant, placement, zone):
    servers, options, reasons = dict[str, str](), dict[str, tuple[str, ...]](), {}
    for name, (sizes, specs, properties, reason) in REFUSED.items():
        compute.make_flavor(
            f'no-{name}', **{'vcpus': 1, 'ram': 64, 'disk': 1, **sizes}, specs=specs
        )
        image = compute.make_image(f'no-{name}' if properties else 'cirros', properties)
        servers[name] = compute.create(name, f'no-{name}', imageRef=image)
        options[name], reasons[name] = (f'no-{name}', '--image', image), {reason}
    servers['zone'] = compute.create('zone', 'sized-vgpu', availability_zone=ZONE)
    options['zone'], reasons['zone'] = ('sized-vgpu', '--zone', ZONE), {'VGPU', zone}
    reserved, project = _reserve(tenant, THIRD), str(tenant.session.get_project_id())
    servers['project'] = tenant.create('project', 'sized-vgpu')
    options['project'] = ('sized-vgpu', '--project', project)
    reasons['project'] = {'VGPU', reserved}

    states = {
        name: compute.wait(uuid, 'ACTIVE', 'ERROR').get('fault', {}).get('message', '')
        for name, uuid in servers.items()
    }

    assert {name for name, fault in states.items() if 'No valid host' not in fault} == set()
    assert {name: _conflicts(placement, *options[name]) for name in servers} == {
        name: [reason] for name, reason in reasons.items()
    }


@pytest.mark.usefixtures('zone')
def test_a_host_that_is_disabled_is_the_reason(compute, placement):
    compute.update_service(FIRST, status='disabled')

    uuid = compute.create('disabled', 'sized-vgpu')

    server = compute.wait(uuid, 'ACTIVE', 'ERROR')
    assert 'No valid host' in server['fault']['message']
    assert _conflicts(placement, 'sized-vgpu') == [{'VGPU', 'COMPUTE_STATUS_DISABLED'}]
