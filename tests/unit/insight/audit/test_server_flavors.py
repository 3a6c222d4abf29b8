# SPDX-License-Identifier: Apache-2.0
"""Servers that differ from their flavors."""

import pytest

from placementclient.model.network import Port, PortRequest
from placementclient.model.servers import Flavor, Image, Server, ServerImage
from placementclient.nova.images import Images
from tests.unit.insight.audit.auditing import audited, listed, typed
from tests.unit.insight.clouds import consumer, host, provider

EGRESS = 'NET_BW_EGR_KILOBIT_PER_SEC'
HOST = host('host', 'HW_CPU_X86_VMX', VCPU=8, CUSTOM_GOLD=8)
CARD = provider('card', 'host', VGPU=4, traits=['CUSTOM_A40'])
KINDS = ('class-without-flavor', 'trait-mismatch')


def mismatches(server, allocated, ports=(), states=(HOST, CARD), **lists):
    result = audited(states, [consumer('s', **allocated)], {'s': server}, [], ports=ports, **lists)
    return [finding for finding in result.findings if finding.kind in KINDS]


def server(specs=None, **fields):
    return Server('s', 'host', flavor=Flavor('m', 2, 64, extra_specs=specs or {}), **fields)


PORT = Port('p', 's', PortRequest(resources={EGRESS: 1000}))


@pytest.mark.parametrize(
    ('specs', 'amounts', 'surplus'),
    [
        ({}, {'VCPU': 2, 'MEMORY_MB': 64}, {}),
        ({'resources:CUSTOM_GOLD': '1'}, {'CUSTOM_GOLD': 1}, {}),
        # The flavor has lost it; it has another group of it.
        ({}, {'CUSTOM_GOLD': 1}, {'CUSTOM_GOLD': 1}),
        ({'resources1:CUSTOM_GOLD': '1'}, {'CUSTOM_GOLD': 2}, {}),
        # An image may ask for dedicated CPUs and for encrypted memory.
        ({}, {'PCPU': 2, 'MEM_ENCRYPTION_CONTEXT': 1}, {}),
        ({}, {EGRESS: 1000}, {}),
        ({}, {'NET_PACKET_RATE_KILOPACKET_PER_SEC': 5}, {'NET_PACKET_RATE_KILOPACKET_PER_SEC': 5}),
        # Devices, from the flavor or from a port.
        ({'pci_passthrough:alias': 'a:1'}, {'CUSTOM_A': 1}, {}),
        ({'accel:device_profile': 'a'}, {'FPGA': 1}, {}),
        ({}, {'CUSTOM_PCI_8086_1572': 1}, {}),
        ({}, {'VGPU': 1}, {'VGPU': 1}),
    ],
)
def test_audit_names_classes_that_nothing_of_the_server_asks_for(specs, amounts, surplus):
    found = mismatches(server(specs), {'host': amounts}, [PORT])
    facts = {'flavor': 'm', 'holds': surplus}
    assert [dict(finding.facts) for finding in found] == [facts] * bool(surplus)
    for finding in found:
        assert (finding.kind, finding.is_error_or_warning, typed(finding)) == (KINDS[0], False, '')


@pytest.mark.parametrize(
    ('specs', 'wrong'),
    [
        ({'trait:HW_CPU_X86_VMX': 'required', 'trait1:CUSTOM_A40': 'required'}, {}),
        ({'trait:CUSTOM_SSD': 'required'}, {'lacks': ['CUSTOM_SSD']}),
        ({'trait_gpu:CUSTOM_A100': 'required'}, {'lacks': ['CUSTOM_A100']}),
        ({'trait:HW_CPU_X86_VMX': 'forbidden'}, {'forbidden': ['HW_CPU_X86_VMX']}),
        # It uses nothing of the card, or which group forbids what is not known.
        ({'trait:CUSTOM_A40': 'forbidden', 'trait1:HW_CPU_X86_VMX': 'forbidden'}, {}),
    ],
)
def test_audit_names_hosts_with_other_traits_than_the_flavor(specs, wrong):
    found = mismatches(server(specs), {'host': {'VCPU': 2}})
    facts = {'flavor': 'm', 'host': 'host', **wrong}
    assert [dict(finding.facts) for finding in found] == [facts] * bool(wrong)
    for finding in found:
        assert (finding.kind, finding.is_error_or_warning, typed(finding)) == (KINDS[1], False, '')


@pytest.mark.parametrize(
    ('properties', 'amounts', 'facts'),
    [
        ({}, {'VCPU': 2}, []),
        ({'trait:HW_CPU_X86_VMX': 'required'}, {'VCPU': 2}, []),
        ({'trait:CUSTOM_SSD': 'required'}, {'VCPU': 2}, [{'lacks': ['CUSTOM_SSD']}]),
        ({'hw_mem_encryption': 'true'}, {'MEM_ENCRYPTION_CONTEXT': 1}, []),
        ({}, {'MEM_ENCRYPTION_CONTEXT': 1}, [{'holds': {'MEM_ENCRYPTION_CONTEXT': 1}}]),
        ({'hw_cpu_policy': 'dedicated'}, {'PCPU': 2}, []),
    ],
)
def test_audit_compares_servers_with_their_images_where_it_knows_them(properties, amounts, facts):
    image = Image({'hw_firmware_type': 'uefi', **properties})
    guest = server(image=ServerImage('i'))

    found = mismatches(guest, {'host': amounts}, images=Images({'i': image}))

    assert [
        {k: finding.facts[k] for k in ('lacks', 'holds') if k in finding.facts} for finding in found
    ] == facts


def test_audit_compares_no_flavor_of_servers_that_move_or_are_on_several_hosts():
    specs = {'trait:CUSTOM_SSD': 'required'}
    assert mismatches(server(specs, task='migrating'), {'host': {'CUSTOM_GOLD': 1}}) == []
    other = host('other', VCPU=8)
    both = {'host': {'CUSTOM_GOLD': 1}, 'other': {'VCPU': 1}}
    assert mismatches(server(specs), both, states=[HOST, other]) == []


def test_audit_skips_checks_of_flavors_without_flavors_in_the_list():
    result = audited([HOST], [], {'s': listed('s', 'host')}, [], ports=[])
    for kind in KINDS:
        assert result.left_out[kind][0].startswith('the list of servers has no flavors')
