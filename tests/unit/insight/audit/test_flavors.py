# SPDX-License-Identifier: Apache-2.0
"""Flavors that fit nowhere, and classes of flavors without a limit."""

import pytest
from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.servers import Flavor, HostAggregate
from placementclient.nova.server_parts import Sources
from placementclient.nova.server_request import RequestBuilder
from placementclient.nova.settings import Settings
from tests.unit.insight.audit.auditing import evidence, findings, reason, typed
from tests.unit.insight.clouds import consumer, pool, provider

ZONE = '8c2e7f9e-4f0b-4a43-9d05-5f2b3e1a7d66'


def flavor(name='m', vcpus=2, disk=0, **specs):
    specs = {key.replace('__', ':'): value for key, value in specs.items()}
    return Flavor(name, vcpus, 1024, disk, extra_specs=specs)


HOSTS = [
    provider('cpus', VCPU=8, MEMORY_MB=4096, traits=['HW_CPU_X86_AVX2']),
    provider('gpus', VCPU=2, MEMORY_MB=4096, VGPU=4, traits=['COMPUTE_STATUS_DISABLED']),
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
def test_audit_finds_flavors_that_no_empty_host_takes(requested, expected):
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
    scheduling = RequestBuilder(Settings(default_schedule_zone='az'), Sources(aggregates=[zone]))
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


def test_audit_finds_classes_of_flavors_without_a_unified_limit():
    limits = ['volumes', 'servers', 'class:VCPU', 'class:MEMORY_MB']
    requested = [flavor(), flavor('gpu', resources__VGPU='1')]
    states = [provider('host', VCPU=8, MEMORY_MB=4096, VGPU=4)]
    [result] = findings(states, limits=limits, flavors=requested)
    assert (result.kind, result.subject) == ('limit-missing', 'class:VGPU')
    assert result.facts == {'flavors': ['gpu'], 'registered': sorted(limits)}
    assert reason(result).endswith('--default-limit LIMIT class:VGPU')


def test_audit_asks_for_limits_of_allocated_classes_without_a_list_of_flavors():
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
