# SPDX-License-Identifier: Apache-2.0
"""Hosts as Nova sees them, and as their inventories and traits do."""

import pytest
from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.services import ComputeService, Hypervisor, HypervisorService
from tests.unit.insight.audit.auditing import PREFIX, evidence, findings, reason, typed
from tests.unit.insight.clouds import consumer, pool, provider

DISABLED = 'COMPUTE_STATUS_DISABLED'


def service(host='host', **fields):
    return ComputeService(**{'host': host, 'status': 'enabled', 'state': 'up'} | fields)


@pytest.mark.parametrize(
    ('traits', 'fields', 'status'),
    [
        ([DISABLED], {}, 'enabled'),
        ([], {'status': 'disabled'}, 'disabled'),
        ([], {}, None),
        ([DISABLED], {'status': 'disabled'}, None),
        # The trait follows when it starts.
        ([DISABLED], {'state': 'down'}, None),
        ([], {'status': 'disabled', 'state': 'down'}, None),
        # Its cell does not answer.
        ([DISABLED], {'status': 'unknown'}, None),
        # It has no provider.
        ([DISABLED], {'host': 'other'}, None),
    ],
)
def test_audit_finds_hosts_whose_disabled_trait_differs_from_nova(traits, fields, status):
    host = provider('host.example.com', traits=traits)
    result = findings([host], services=[service(**fields)])
    assert [finding.kind for finding in result] == ['disabled-mismatch'] * (status is not None)
    for finding in result:
        assert finding.facts['service'] == status
        word = 'remove' if traits else 'add'
        assert (typed(finding), finding.repair) == ('', None)
        assert reason(finding).endswith(f': {PREFIX} trait {word} host.example.com {DISABLED}')


def test_a_service_with_many_nodes_is_disabled_on_each():
    nodes = [provider(name, traits=traits) for name, traits in (('n1', [DISABLED]), ('n2', []))]
    listed = [hypervisor(node=name, host='host', type='ironic') for name in ('n1', 'n2')]
    [result] = findings(nodes, services=[service(status='disabled')], hypervisors=listed)
    assert result.subject == 'n2'


def hypervisor(totals=None, used=None, *, host='host', **fields):
    amounts = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'local_gb'}
    totals = {'VCPU': 32, 'MEMORY_MB': 65536, 'DISK_GB': 900} if totals is None else totals
    used = {'VCPU': 2, 'MEMORY_MB': 512, 'DISK_GB': 1} if used is None else used
    default = {'node': 'host', 'type': 'QEMU', 'running_vms': 0, 'service': HypervisorService(host)}
    default |= {amounts[name]: amount for name, amount in totals.items()}
    default |= {f'{amounts[name]}_used': amount for name, amount in used.items()}
    return Hypervisor(**default | fields)


CPUS = Inventory(32, reserved=2, allocation_ratio=4.0)
MEMORY = Inventory(65536, reserved=512, allocation_ratio=1.5)
DISK = Inventory(900, reserved=2)


def host(**inventories):
    return provider('host', **{'VCPU': CPUS, 'MEMORY_MB': MEMORY, 'DISK_GB': DISK} | inventories)


def cells(*cpus):
    """A host whose CPUs and memory are in cells."""
    return [
        provider('host', DISK_GB=DISK),
        *(
            provider(f'host_{n}', 'host', VCPU=Inventory(cpu, 1), MEMORY_MB=Inventory(32768, 256))
            for n, cpu in enumerate(cpus)
        ),
    ]


@pytest.mark.parametrize(
    ('name', 'inventory', 'fields'),
    [
        ('VCPU', replace(CPUS, total=16), {'total': 16, 'hypervisor': 32}),
        ('VCPU', replace(CPUS, total=64), {'total': 64, 'hypervisor': 32}),
        ('MEMORY_MB', replace(MEMORY, total=98304), {'total': 98304, 'hypervisor': 65536}),
        ('DISK_GB', replace(DISK, total=1000), {'total': 1000, 'hypervisor': 900}),
        ('MEMORY_MB', replace(MEMORY, reserved=0), {'reserved': 0, 'hypervisor': 512}),
        ('DISK_GB', replace(DISK, reserved=0), {'reserved': 0, 'hypervisor': 1}),
    ],
)
def test_audit_finds_inventories_that_differ_from_the_hypervisor(name, inventory, fields):
    [result] = findings([host(**{name: inventory})], hypervisors=[hypervisor()])
    assert (result.kind, result.subject) == ('inventory-drift', 'host')
    assert result.facts == {'resource_class': name, **fields}
    field = 'total' if 'total' in fields else 'reserved'
    assert reason(result).endswith(
        f'If the host is as Nova says: {PREFIX} inventory set host --amend '
        f'--resource {name}:{field}={fields["hypervisor"]}'
    )


def test_audit_has_no_command_for_drift_of_several_or_no_providers():
    # One of the inventories is reserved as a whole.
    [result] = findings(cells(16, 1), hypervisors=[hypervisor()])
    assert result.facts == {'resource_class': 'VCPU', 'total': 17, 'hypervisor': 32}
    assert 'inventory set' not in reason(result)
    diskless = provider('host', VCPU=CPUS, MEMORY_MB=MEMORY)
    assert evidence([diskless], hypervisors=[hypervisor()]) == [
        {'resource_class': 'DISK_GB', 'total': 0, 'hypervisor': 900}
    ]


#: As Nova 34 says it of a host whose server was evacuated there and deleted, for ten minutes.
COUNTED = {'VCPU': 3, 'MEMORY_MB': 1024, 'DISK_GB': 1}


@pytest.mark.parametrize(
    ('states', 'fields'),
    [
        # Ratios and what is reserved are no drift.
        ([host()], {}),
        ([host()], {'type': None}),
        ([host()], {'id': 'host', 'node': 'renamed'}),
        # These cannot be compared.
        ([host()], {'node': 'other'}),
        ([host()], {'type': 'ironic', 'totals': {'VCPU': 0, 'MEMORY_MB': 0, 'DISK_GB': 0}}),
        ([host()], {'totals': {}, 'used': {}, 'running_vms': None}),
        (
            [host()],
            {'totals': {'VCPU': 32, 'MEMORY_MB': 65536}, 'used': {'VCPU': 2}, 'running_vms': None},
        ),
        # Of what is in use not all is reserved.
        ([host()], {'running_vms': 1, 'used': {'VCPU': 9, 'MEMORY_MB': 9000, 'DISK_GB': 90}}),
        ([host()], {'used': COUNTED}),
        ([host()], {'used': COUNTED | {'DISK_GB': 21}}),
        # Nova has subtracted a server twice.
        ([host()], {'used': {'VCPU': 2, 'MEMORY_MB': 512, 'DISK_GB': -3}}),
        # An inventory that is reserved as a whole.
        ([host(VCPU=Inventory(16, reserved=16))], {}),
        # The totals of a tree count together.
        (cells(16, 16), {}),
        # Dedicated CPUs may be counted among vcpus.
        ([host(VCPU=Inventory(8, 2), PCPU=24)], {}),
        (
            [host(VCPU=Inventory(8, 2), PCPU=24)],
            {'totals': {'VCPU': 8, 'MEMORY_MB': 65536, 'DISK_GB': 900}},
        ),
        # Shared disks are no inventory of a host.
        (
            [
                provider('host', aggregates=['shared'], VCPU=CPUS, MEMORY_MB=MEMORY),
                pool('nfs', DISK_GB=50000),
            ],
            {},
        ),
    ],
)
def test_audit_accepts_differences_that_nova_makes_itself(states, fields):
    result = findings(states, hypervisors=[hypervisor(**fields)])
    assert [finding for finding in result if finding.kind == 'inventory-drift'] == []


def test_drift_of_reserved_amounts_is_not_known_while_a_server_comes_or_counts():
    coming = hypervisor(used={'VCPU': 6, 'MEMORY_MB': 8704, 'DISK_GB': 1})
    allocated = consumer('s', host={'VCPU': 4, 'MEMORY_MB': 8192})
    assert findings([host()], [allocated], hypervisors=[coming]) == []
    drifted = host(MEMORY_MB=replace(MEMORY, total=98304))
    [result] = findings([drifted], hypervisors=[hypervisor(used=COUNTED)])
    assert (result.kind, result.facts['total']) == ('inventory-drift', 98304)
