# SPDX-License-Identifier: Apache-2.0
"""The reshape of the hosts of a live Nova."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cloud import accounts, control, hosts, layout, processes, settings

FIRST, SECOND, THIRD = layout.HOSTS
CARDS = ('pci_0000_84_00_0', 'pci_0000_85_00_0')
FLAT: dict[str, Any] = {'inventories': {'VGPU': 4}}
NESTED: dict[str, Any] = {'children': {card: {'VGPU': 2} for card in CARDS}}
SPECIFICATION = {
    'trees': {'name': [FIRST]},
    'providers': [
        {
            'name': f'{{root}}_{card}',
            'inventories': {'VGPU': {'total': 2, 'max_unit': 2}},
            'traits': ['OWNER_NOVA'],
        }
        for card in CARDS
    ],
    'moves': [
        {
            'from_resource_provider': '{root}',
            'to_resource_provider': f'{{root}}_{card}',
            'moved_resources': {'VGPU': 2},
        }
        for card in CARDS
    ],
}


@pytest.fixture
def gpus(compute):
    """Two servers with a virtual GPU each on a host with a flat inventory; the second is off."""
    hosts.settle(compute, {FIRST: FLAT, SECOND: NESTED})
    compute.make_flavor('vgpu', 1, 512, 1, {'resources:VGPU': '1'})
    uuids = compute.boot_all({'name': 'gpu-0'}, {'name': 'gpu-1'}, flavor='vgpu', host=FIRST)
    compute.act(uuids[1], 'os-stop', None, 'SHUTOFF')
    return uuids


def planned(placement, specification, *more, plan='plan.json'):
    Path('spec.json').write_text(json.dumps(specification))
    command = f'resource provider reshape plan --spec spec.json -o {plan}'
    result = placement(*command.split(), *more)
    assert result.status == 0, result.stderr
    return plan


def snapshot(placement, name):
    placement(f'resource provider snapshot save {name} --overwrite -f json').json()
    return name


def differences(placement, before, after='live'):
    return list(placement(f'resource provider snapshot diff {before} {after} -f json').json(0, 3))


class Written:
    """The requests of Nova that write, and that Placement has logged since this was made."""

    def __init__(self):
        self._user = accounts.Identity().make('users', 'nova')
        self._log = processes.log('placement')
        self._began = self._log.stat().st_size

    def requests(self):
        with open(self._log) as file:
            file.seek(self._began)
            lines = file.read()
        return re.findall(rf' {self._user} .*"((?:PUT|POST|PATCH|DELETE) \S+)" status', lines)


def test_a_stopped_host_is_reshaped_and_nova_leaves_it_so(compute, placement, gpus):
    processes.stop(FIRST)
    compute.update_service(FIRST, forced_down=True)
    flat = snapshot(placement, 'flat.json')
    plan = planned(placement, SPECIFICATION, '--allow-inferred', '--migrations', 'nova')

    applied = placement(f'resource provider reshape apply {plan} --yes -f json')
    assert applied.status == 0, applied.stderr
    assert placement(f'resource provider reshape verify {plan}').status == 0
    placement(f'resource provider reshape rollback {plan} --yes -f json').json()
    assert not [difference for difference in differences(placement, flat) if _matters(difference)]
    plan = planned(placement, SPECIFICATION, '--allow-inferred', plan='again.json')
    placement(f'resource provider reshape apply {plan} --yes -f json').json()
    nested = snapshot(placement, 'nested.json')

    hosts.configure(FIRST, NESTED)
    written = Written()
    compute.update_service(FIRST, forced_down=False)
    hosts.launch(compute, FIRST)

    assert written.requests() == []
    assert differences(placement, nested) == []
    _servers_go_on(compute, gpus)
    assert placement(f'resource provider reshape verify {plan}').status == 0


def _matters(difference):
    return 'generation' not in json.dumps(difference)


def _servers_go_on(compute, uuids):
    """Nova schedules to the children, moves servers away from them, and deletes them."""
    children = {provider['uuid']: provider['name'] for provider in compute.providers()}

    def card(uuid):
        allocations = compute.allocations(uuid)
        (provider,) = [
            provider for provider, resources in allocations.items() if 'VGPU' in resources
        ]
        return children[provider]

    new = compute.boot('gpu-new', 'vgpu', host=FIRST)
    assert card(new).startswith(f'{FIRST}_pci')
    compute.act(uuids[1], 'os-start', None, 'ACTIVE')
    compute.act(uuids[0], 'migrate', {'host': SECOND}, 'VERIFY_RESIZE')
    compute.act(uuids[0], 'confirmResize', None, 'ACTIVE')
    assert card(uuids[0]).startswith(f'{SECOND}_pci')
    live = {'host': SECOND, 'block_migration': 'auto'}
    compute.act(uuids[1], 'os-migrateLive', live, 'ACTIVE')
    assert card(uuids[1]).startswith(f'{SECOND}_pci')
    compute.delete(new)
    assert compute.allocations(new) == {}


@pytest.mark.usefixtures('gpus')
def test_a_host_that_runs_is_named_and_puts_its_inventory_back(compute, placement):
    plan = planned(placement, SPECIFICATION, '--allow-inferred')

    refused = placement(f'resource provider reshape apply {plan} -f json')
    applied = placement(f'resource provider reshape apply {plan} --yes --compute-is-up -f json')
    hosts.restart(compute, FIRST)
    rows = placement('resource provider audit -f json').json(0, 3)
    verified = placement(f'resource provider reshape verify {plan}')

    assert refused.status != 0
    assert FIRST in refused.stderr
    assert 'nova-compute' in refused.stderr
    assert applied.status == 0, applied.stderr
    # A driver that does not know the children reports VGPU on the root again.
    assert verified.status == 3, rows


def test_a_plan_names_the_migrations_that_wait(compute, placement, gpus):
    compute.act(gpus[0], 'migrate', {'host': SECOND}, 'VERIFY_RESIZE')
    Path('spec.json').write_text(json.dumps(SPECIFICATION))

    command = 'resource provider reshape plan --spec spec.json --migrations nova -o plan.json'
    planned = placement(*command.split(), '--allow-inferred')

    assert planned.status == 0, planned.stderr
    assert f'{FIRST}: migrations in progress: 1' in planned.stderr


def test_pinned_servers_go_to_dedicated_cpus(compute, placement):
    hosts.settle(compute, {THIRD: {}})
    compute.make_flavor('pinned', 2, 512, 1, {'hw:cpu_policy': 'dedicated'})
    pinned, shared = compute.boot_all(
        {'name': 'pinned', 'flavor': 'pinned'}, {'name': 'shared'}, host=THIRD
    )
    processes.stop(THIRD)
    saved = snapshot(placement, 'pins.json')
    before = compute.allocations(pinned)
    command = 'resource provider reshape assignments --servers nova --pinned -o pins.csv'
    pins = placement(*command.split(), '--snapshot', saved)
    specification = {
        'trees': {'name': [THIRD]},
        'providers': [
            {
                'name': '{root}',
                'inventories': {
                    'VCPU': {'max_unit': 8},
                    'PCPU': {'total': 8, 'max_unit': 8, 'allocation_ratio': 1.0},
                },
            }
        ],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': '{root}',
                'moved_resources': {'VCPU': 8},
                'as': {'VCPU': 'PCPU'},
            }
        ],
    }
    plan = planned(placement, specification, '--assignments', 'pins.csv')
    placement(f'resource provider reshape apply {plan} --compute-is-up --yes -f json').json()
    hosts.configure(THIRD, {'vcpus': 8, 'inventories': {'PCPU': 8}})
    written = Written()
    hosts.launch(compute, THIRD)
    writes = written.requests()
    after, other = compute.allocations(pinned), compute.allocations(shared)
    second = compute.boot('pinned-too', 'pinned', host=THIRD)
    booted = compute.allocations(second)

    assert pins.status == 0, pins.stderr
    assert [resources['VCPU'] for resources in before.values()] == [2]
    assert [(resources.get('VCPU'), resources['PCPU']) for resources in after.values()] == [
        (None, 2)
    ]
    assert [(resources['VCPU'], resources.get('PCPU')) for resources in other.values()] == [
        (1, None)
    ]
    assert [resources['PCPU'] for resources in booted.values()] == [2]
    assert writes == []


def test_a_provider_yaml_of_nova_is_applied_as_nova_applies_it(compute, placement):
    hosts.settle(compute, {THIRD: {}})
    node = compute.provider(THIRD)
    document = {
        'meta': {'schema_version': '1.0'},
        'providers': [
            {
                'identification': {'uuid': node},
                'inventories': {
                    'additional': [
                        {
                            'CUSTOM_LICENCE': {
                                'total': 10, 'reserved': 0, 'min_unit': 1, 'max_unit': 10,
                                'step_size': 1, 'allocation_ratio': 1.0,
                            }
                        }
                    ]
                },
                'traits': {'additional': ['CUSTOM_LICENSED']},
            }
        ],
    }  # fmt: skip
    text = json.dumps(document)
    Path('provider.yaml').write_text(text)
    processes.stop(THIRD)
    folder = Path(settings.compute(THIRD)['compute']['provider_config_location'])  # type: ignore[arg-type]
    apply = 'resource provider tree apply provider.yaml'
    placement(f'{apply} --yes -f json').json()
    ours = snapshot(placement, 'ours.json')
    (folder / 'provider.yaml').write_text(text)
    written = Written()
    hosts.launch(compute, THIRD)
    writes = written.requests()
    changes = differences(placement, ours)
    again = placement(f'{apply} --dry-run')

    assert (writes, changes) == ([], [])
    assert again.status == 0, again.stdout


#: The statement of the documentation.
ROWS = """
    SELECT cn.hypervisor_hostname, pd.address, pd.parent_addr, pd.vendor_id, pd.product_id,
    pd.dev_type, pd.status, pd.instance_uuid
    FROM nova.pci_devices pd JOIN nova.compute_nodes cn ON cn.id = pd.compute_node_id
    WHERE pd.deleted = 0 AND cn.deleted = 0;
"""


@pytest.fixture
def functions(compute):
    """Two servers with a virtual function each, the second one off, on a host of PCI devices."""
    hosts.settle(compute, {FIRST: hosts.DEVICES}, {FIRST: hosts.PCI})
    compute.make_flavor('vf', 1, 512, 1, {'pci_passthrough:alias': 'vf:1'})
    uuids = compute.boot_all({'name': 'vf-0'}, {'name': 'vf-1'}, flavor='vf', host=FIRST)
    compute.act(uuids[1], 'os-stop', None, 'SHUTOFF')
    return uuids


def test_pci_devices_are_added_and_nova_leaves_them_so(compute, placement, functions):
    other = compute.boot('without', host=FIRST)
    processes.stop(FIRST)
    compute.update_service(FIRST, forced_down=True)
    Path('pci.csv').write_text(control.sql(ROWS))
    flat = snapshot(placement, 'flat.json')
    conf = settings.path(f'nova/{FIRST}.conf')
    command = f'resource provider reshape devices --devices pci.csv --device-spec {conf}'
    written = placement(*command.split(), '--snapshot', flat, '-o', 'spec.json')
    plan = planned(placement, json.loads(Path('spec.json').read_text()), '--snapshot', flat)

    applied = placement(f'resource provider reshape apply {plan} --yes -f json')
    nested = snapshot(placement, 'nested.json')
    hosts.configure(FIRST, hosts.DEVICES, {**hosts.PCI, 'report_in_placement': 'true'})
    log = Written()
    compute.update_service(FIRST, forced_down=False)
    hosts.launch(compute, FIRST)

    assert (written.status, applied.status) == (0, 0), written.stderr + applied.stderr
    assert 'Placement PCI resource view: Placement PCI view on ' in processes.tail(FIRST, 200)
    assert log.requests() == []
    assert differences(placement, nested) == []
    assert placement(f'resource provider reshape verify {plan}').status == 0
    names = {provider['uuid']: provider['name'] for provider in compute.providers()}
    allocations = [
        {names[key]: value for key, value in compute.allocations(uuid).items()}
        for uuid in functions
    ]
    card = f'{FIRST}_0000:81:00.0'
    assert [resources[card] for resources in allocations] == [{'CUSTOM_PCI_8086_1565': 1}] * 2
    assert f'{FIRST}_0000:84:00.0' in names.values()
    assert len(compute.allocations(other)) == 1
    compute.delete(*functions)
    assert [compute.allocations(uuid) for uuid in functions] == [{}, {}]
