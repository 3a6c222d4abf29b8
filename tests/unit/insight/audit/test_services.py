"""Each check that needs another service: what it finds, and what it leaves alone."""

import pytest
from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.repairs import HealServer
from placementclient.model.servers import Flavor, HostAggregate, Server, ServerMigration
from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    HypervisorService,
    Port,
    PortGroup,
)
from placementclient.nova.server_parts import Sources
from placementclient.nova.server_request import Scheduling
from placementclient.nova.settings import Settings
from tests.unit.insight.audit.auditing import PREFIX, audited, evidence, findings, reason, typed
from tests.unit.insight.clouds import consumer, pool, provider

DISABLED = 'COMPUTE_STATUS_DISABLED'
ZONE = '8c2e7f9e-4f0b-4a43-9d05-5f2b3e1a7d66'


def service(host='host', **fields):
    return ComputeService(**{'host': host, 'status': 'enabled', 'state': 'up'} | fields)


# disabled-mismatch


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
def test_disabled_mismatch(traits, fields, status):
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


# inventory-drift


def hypervisor(totals=None, used=None, *, host='host', **fields):
    amounts = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'local_gb'}
    totals = {'VCPU': 32, 'MEMORY_MB': 65536, 'DISK_GB': 900} if totals is None else totals
    used = {'VCPU': 2, 'MEMORY_MB': 512, 'DISK_GB': 1} if used is None else used
    default = {'node': 'host', 'type': 'QEMU', 'servers': 0, 'service': HypervisorService(host)}
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
def test_inventory_drift(name, inventory, fields):
    [result] = findings([host(**{name: inventory})], hypervisors=[hypervisor()])
    assert (result.kind, result.subject) == ('inventory-drift', 'host')
    assert result.facts == {'resource_class': name, **fields}
    field = 'total' if 'total' in fields else 'reserved'
    assert reason(result).endswith(
        f'If the host is as Nova says: {PREFIX} inventory set host --amend '
        f'--resource {name}:{field}={fields["hypervisor"]}'
    )


def test_drift_of_several_providers_or_of_a_class_that_the_host_lacks_has_no_command():
    [result] = findings(cells(16, 8), hypervisors=[hypervisor()])
    assert result.facts == {'resource_class': 'VCPU', 'total': 24, 'hypervisor': 32}
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
        ([host()], {'totals': {}, 'used': {}, 'servers': None}),
        (
            [host()],
            {'totals': {'VCPU': 32, 'MEMORY_MB': 65536}, 'used': {'VCPU': 2}, 'servers': None},
        ),
        # Of what is in use not all is reserved.
        ([host()], {'servers': 1, 'used': {'VCPU': 9, 'MEMORY_MB': 9000, 'DISK_GB': 90}}),
        ([host()], {'used': COUNTED}),
        ([host()], {'used': COUNTED | {'DISK_GB': 21}}),
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
def test_what_is_no_drift(states, fields):
    result = findings(states, hypervisors=[hypervisor(**fields)])
    assert [finding for finding in result if finding.kind == 'inventory-drift'] == []


def test_drift_of_reserved_amounts_is_not_known_while_a_server_comes_or_counts():
    coming = hypervisor(used={'VCPU': 6, 'MEMORY_MB': 8704, 'DISK_GB': 1})
    allocated = consumer('s', host={'VCPU': 4, 'MEMORY_MB': 8192})
    assert findings([host()], [allocated], hypervisors=[coming]) == []
    drifted = host(MEMORY_MB=replace(MEMORY, total=98304))
    [result] = findings([drifted], hypervisors=[hypervisor(used=COUNTED)])
    assert (result.kind, result.facts['total']) == ('inventory-drift', 98304)


# flavor-unplaceable


def flavor(name='m', vcpus=2, disk=0, **specs):
    specs = {key.replace('__', ':'): value for key, value in specs.items()}
    return Flavor(name, vcpus, 1024, disk, extra_specs=specs)


HOSTS = [
    provider('cpus', VCPU=8, MEMORY_MB=4096, traits=['HW_CPU_X86_AVX2']),
    provider('gpus', VCPU=2, MEMORY_MB=4096, VGPU=4, traits=[DISABLED]),
    provider('node', CUSTOM_GOLD=Inventory(1, reserved=1)),
]


@pytest.mark.parametrize(
    ('requested', 'expected'),
    [
        (flavor(), {}),
        # Booted from a volume it fits.
        (flavor(disk=100), {}),
        (flavor(vcpus=8), {}),
        # The host is disabled, which is not for ever.
        (flavor(resources__VGPU='1'), {}),
        (flavor(trait__HW_CPU_X86_AVX2='required'), {}),
        (flavor(trait__CUSTOM_NEVER='forbidden'), {}),
        # Older releases of Nova do not ask for a model.
        (flavor(hw__numa_nodes='2'), {}),
        (Flavor('nothing', 0, 0), {}),
        # The node is reserved, as it is in use.
        (flavor(resources__CUSTOM_GOLD='1', resources__VCPU='0', resources__MEMORY_MB='0'), {}),
        (
            flavor(trait__CUSTOM_SDD='required'),
            {'nobody_has': ['No resource provider has the trait CUSTOM_SDD']},
        ),
        (
            flavor(resources__FPGA='1'),
            {'nobody_has': ['No resource provider has inventory of FPGA']},
        ),
        (flavor(resources__VGPUS='1'), {'ignored': ['resources:VGPUS=1. Did you mean "VGPU"?']}),
        (flavor(vcpus=9), {'never_on_one_host': ['VCPU=9']}),
        (flavor(vcpus=4, resources__VGPU='1'), {'never_on_one_host': ['VGPU=1', 'VCPU=4']}),
        (
            flavor(resources__VGPU='1', trait__HW_CPU_X86_AVX2='required'),
            {'never_on_one_host': ['VGPU=1', 'trait HW_CPU_X86_AVX2']},
        ),
    ],
    ids=str,
)
def test_flavors_that_no_empty_host_takes(requested, expected):
    allocated = [consumer('s', cpus={'VCPU': 8, 'MEMORY_MB': 4096})]
    result = findings(HOSTS, allocated, flavors=[requested])
    assert [dict(finding.facts) for finding in result] == [expected] * bool(expected)
    for finding in result:
        assert (finding.kind, finding.subject, typed(finding)) == ('flavor-unplaceable', 'm', '')


def test_a_flavor_fits_on_one_host_of_many_that_share():
    """So many kinds of hosts that not all are looked at first."""
    hosts = [
        provider(f'host{n:03}', VCPU=n + 1, MEMORY_MB=2048, aggregates=['shared'])
        for n in range(80)
    ]
    states = [*hosts, pool('nfs', DISK_GB=500)]
    swapped = Flavor('swap', 80, 1024, ephemeral=400)
    assert findings(states, flavors=[swapped]) == []
    assert evidence(states, flavors=[replace(swapped, ephemeral=501)]) == [
        {'never_on_one_host': ['DISK_GB=501']}
    ]


def test_a_flavor_fits_in_a_zone_of_hosts_that_are_like_others():
    zone = HostAggregate(ZONE, 'az', ('b',), {'availability_zone': 'az'})
    scheduling = Scheduling(Settings(default_schedule_zone='az'), Sources(aggregates=[zone]))
    outside = provider('a', VCPU=8, MEMORY_MB=4096)
    inside = [provider(name, VCPU=8, MEMORY_MB=4096, aggregates=[ZONE]) for name in 'bc']
    states = [outside, *inside]
    assert findings(states, flavors=[flavor()], scheduling=scheduling) == []
    assert evidence(states, flavors=[flavor(vcpus=9)], scheduling=scheduling) == [
        {'never_on_one_host': ['VCPU=9']}
    ]


def test_a_model_of_tpm_counts_only_where_hosts_have_one():
    requested = flavor(hw__tpm_version='2.0')
    old = provider('old', VCPU=2, MEMORY_MB=2048, traits=['COMPUTE_SECURITY_TPM_2_0'])
    assert findings([old], flavors=[requested]) == []
    other = provider('new', VCPU=2, MEMORY_MB=2048, traits=['COMPUTE_SECURITY_TPM_CRB'])
    assert evidence([old, other], flavors=[requested]) == [
        {'nobody_has': ['No resource provider has the trait COMPUTE_SECURITY_TPM_TIS']}
    ]


# limit-missing


def test_a_class_that_a_flavor_asks_for_has_no_limit():
    limits = ['volumes', 'servers', 'class:VCPU', 'class:MEMORY_MB']
    requested = [flavor(), flavor('gpu', resources__VGPU='1')]
    states = [provider('host', VCPU=8, MEMORY_MB=4096, VGPU=4)]
    [result] = findings(states, limits=limits, flavors=requested)
    assert (result.kind, result.subject) == ('limit-missing', 'class:VGPU')
    assert result.facts == {'flavors': ['gpu'], 'registered': sorted(limits)}
    assert reason(result).endswith('--default-limit LIMIT class:VGPU')


def test_without_flavors_the_classes_of_servers_count_in_a_cloud_with_unified_limits():
    states = [provider('host', VCPU=8, CUSTOM_PCI_10DE_20B0=2, NET_BW_EGR_KILOBIT_PER_SEC=9)]
    allocated = [
        consumer('s', None, host={'VCPU': 1, 'CUSTOM_PCI_10DE_20B0': 1}),
        consumer('c', 'CONTAINER', host={'VCPU': 1}),
        consumer('n', 'INSTANCE', host={'NET_BW_EGR_KILOBIT_PER_SEC': 1}),
    ]
    result = findings(states, allocated, limits=['class:MEMORY_MB'])
    assert [(finding.subject, finding.facts) for finding in result] == [
        ('servers', {'registered': ['class:MEMORY_MB']}),
        ('class:VCPU', {'consumers': 1, 'registered': ['class:MEMORY_MB']}),
    ]
    for limits in ([], ['volumes', 'snapshots']):
        assert findings(states, allocated, limits=limits) == []


# ironic-node


def node(**fields):
    default = {
        'uuid': 'node', 'name': 'rack1', 'state': 'available', 'resource_class': 'gold.large',
        'power_state': 'power off',
    }  # fmt: skip
    return BaremetalNode(**default | fields)


GOLD = 'CUSTOM_GOLD_LARGE'
SERVED = [consumer('s', node={GOLD: 1})]


def gold_node(reserved=0):
    return [provider('node', **{GOLD: Inventory(1, reserved)})]


@pytest.mark.parametrize(
    ('fields', 'reserved', 'allocated'),
    [
        ({}, 0, False),
        ({'maintenance': True}, 1, False),
        ({'state': 'active', 'instance_uuid': 's'}, 0, True),
        # Not a server of Nova: nova-compute has reserved it.
        ({'state': 'active'}, 1, False),
        ({'state': 'cleaning'}, 1, False),
        ({'state': 'deploying', 'instance_uuid': 's'}, 0, True),
        ({'state': 'clean wait'}, 0, True),
        # Just chosen by the scheduler.
        ({'instance_uuid': 's'}, 0, True),
        ({'reservation': 'conductor1'}, 1, True),
        ({'uuid': 'unknown', 'state': 'enroll', 'resource_class': None}, 0, False),
    ],
)
def test_nodes_that_are_as_they_should_be(fields, reserved, allocated):
    servers = {'s': 'node'} if allocated else {}
    states = gold_node(reserved)
    assert findings(states, SERVED * allocated, servers, [], nodes=[node(**fields)]) == []


@pytest.mark.parametrize(
    ('fields', 'states', 'allocated', 'servers', 'facts', 'command'),
    [
        ({}, gold_node(), SERVED, {'s': 'node'}, {'holds': ['s']}, ''),
        ({}, gold_node(1), [], {}, {'resource_class': GOLD, 'reserved': 1}, ''),
        (
            {'resource_class': 'silver'}, gold_node(), [], {},
            {'resource_class': 'CUSTOM_SILVER', 'inventories': [GOLD]}, '',
        ),
        ({}, [provider('node')], [], {}, {'resource_class': GOLD, 'inventories': []}, ''),
        (
            {'state': 'active', 'instance_uuid': 's'}, gold_node(), [], {'s': ''},
            {'holds': [], 'instance_uuid': 's'}, f'{PREFIX} allocation heal --server s',
        ),
        ({'state': 'active'}, gold_node(), [], {}, {'holds': [], 'instance_uuid': None}, ''),
    ],
)  # fmt: skip
def test_ironic_node(fields, states, allocated, servers, facts, command):
    [result] = findings(states, allocated, servers, [], nodes=[node(**fields)])
    state = fields.get('state', 'available')
    assert (result.kind, result.subject) == ('ironic-node', 'node')
    assert result.facts == {'node': 'rack1', 'state': state, **facts}
    assert (typed(result), result.remedy == HealServer('s')) == (command, bool(command))
    if 'reserved' in facts:
        command = f'{PREFIX} inventory set node --amend --resource {GOLD}:reserved=0'
        assert reason(result).endswith(f'If the node can be used: {command}')


def test_a_node_that_is_withheld_may_have_no_inventory():
    assert findings([provider('node')], nodes=[node(maintenance=True)]) == []


@pytest.mark.parametrize(
    ('servers', 'message'),
    [
        (None, 'a server may just be built on it: give the list of servers too, with --servers'),
        ({'s': Server('s', task='spawning')}, 'it is under way: spawning'),
    ],
)
def test_a_node_on_which_a_server_may_be_built(servers, message):
    result = audited(gold_node(), SERVED, servers, [], nodes=[node()])
    assert (result.findings, dict(result.passed_over)) == ([], {message: 1})


# port-resources

EGRESS = 'NET_BW_EGR_KILOBIT_PER_SEC'


def port(uuid='p', amount=1000, provider='bridge'):
    noted = {'g': provider} if provider else {}
    return Port(uuid, 's', (PortGroup('g', {EGRESS: amount}),), noted)


NETWORK = [
    provider('host', VCPU=8),
    provider('agent', 'host'),
    *(provider(name, 'agent', 'host', **{EGRESS: 10000}) for name in ('bridge', 'card')),
]


@pytest.mark.parametrize(
    ('ports', 'allocated', 'expected'),
    [
        ([port()], {'bridge': {EGRESS: 1000}}, {}),
        ([port(), port('q')], {'bridge': {EGRESS: 2000}}, {}),
        (
            [port(), port('q', provider='card')],
            {'bridge': {EGRESS: 1000}, 'card': {EGRESS: 1000}},
            {},
        ),
        # Neutron has not noted where; an older release, or it is being bound.
        ([port(provider=None)], {'bridge': {EGRESS: 1000}}, {}),
        (
            [port()],
            {'host': {'VCPU': 1}},
            {'ports': ['p'], 'asked': {EGRESS: 1000}, 'holds': {EGRESS: 0}},
        ),
        (
            [port(), port('q')],
            {'bridge': {EGRESS: 1000}},
            {'ports': ['p', 'q'], 'asked': {EGRESS: 2000}, 'holds': {EGRESS: 1000}},
        ),
        (
            [port()],
            {'card': {EGRESS: 1000}},
            {'ports': ['p'], 'noted_by_neutron': {'bridge': {EGRESS: 1000}}},
        ),
        # It holds nothing at all, or is no server any more.
        ([port()], {}, {}),
    ],
)
def test_port_resources(ports, allocated, expected):
    result = findings(NETWORK, [consumer('s', **allocated)] if allocated else [], ports=ports)
    assert [dict(finding.facts) for finding in result] == ([expected] if expected else [])
    for finding in result:
        assert (finding.kind, finding.subject, typed(finding)) == ('port-resources', 's', '')


@pytest.mark.parametrize('servers', [{'s': Server('s', ('host',), task='migrating')}, None])
def test_ports_of_a_server_that_moves_are_passed_over(servers):
    moving = [ServerMigration('s', 'running', 'm', 'other')]
    result = audited(NETWORK, [consumer('s', host={'VCPU': 1})], servers, moving, ports=[port()])
    assert (result.findings, sum(result.passed_over.values())) == ([], 1)


# consumer-incomplete, consumer-untyped

NOBODY = '00000000-0000-0000-0000-000000000000'


@pytest.mark.parametrize(
    ('servers', 'kind', 'is_healed'),
    [
        (None, 'INSTANCE', True),
        (None, None, True),
        ({'s': ''}, 'INSTANCE', True),
        ({}, 'INSTANCE', False),
        (None, 'CONTAINER', False),
    ],
)
def test_consumer_incomplete(servers, kind, is_healed):
    allocated = replace(consumer('s', kind, host={'VCPU': 1}), project_id=NOBODY)
    result = findings([provider('host', VCPU=8)], [allocated], servers)
    [finding] = [entry for entry in result if entry.kind == 'consumer-incomplete']
    assert finding.facts == {'project_id': NOBODY, 'user_id': 'user'}
    heal = f'{PREFIX} allocation heal --server s'
    assert typed(finding) == (heal if is_healed else '')
    assert bool(reason(finding)) != is_healed


@pytest.mark.parametrize(
    ('kinds', 'count'),
    [
        ((None, 'INSTANCE', 'MIGRATION'), 1),
        ((None, None, None), 0),
        (('INSTANCE', 'INSTANCE'), 0),
        # Nova sends no types: only somebody else's have one.
        ((None, None, 'CONTAINER'), 0),
        ((None, 'INSTANCE'), 0),
    ],
)
def test_consumer_untyped(kinds, count):
    allocated = [consumer(f's{n}', kind, host={'VCPU': 1}) for n, kind in enumerate(kinds)]
    result = findings([provider('host', VCPU=8)], allocated, ignored=())
    assert [(finding.kind, finding.severity.value, finding.subject) for finding in result] == (
        [('consumer-untyped', 'info', 's0')] * count
    )
