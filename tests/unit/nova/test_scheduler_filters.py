# SPDX-License-Identifier: Apache-2.0
"""Decisions of the filters of Nova's scheduler, each by one part of a server."""

import pytest

from placementclient.model.network import Port
from placementclient.model.servers import Flavor, Image
from placementclient.nova.scheduler_filters import describe_filter_decisions
from placementclient.nova.server_parts import ServerRequest
from placementclient.nova.settings import Settings


def list_decisions(specs, properties, hints=(), ports=()):
    flavor = Flavor('m', 4, 2048, 20, extra_specs=specs)
    server = ServerRequest(flavor, Image(properties), hints=frozenset(hints), ports=ports)
    return list(describe_filter_decisions(server, Settings()))


@pytest.mark.parametrize(
    ('specs', 'properties', 'decision'),
    [
        ({'hw:cpu_policy': 'dedicated'}, {}, 'NUMATopologyFilter: hw:cpu_policy'),
        ({}, {'hw_cpu_policy': 'dedicated'}, 'NUMATopologyFilter: hw_cpu_policy'),
        # Nova gives a server of persistent memory, and one of PCPU in any group, a NUMA topology.
        ({'hw:pmem': '6GB'}, {}, 'NUMATopologyFilter: hw:pmem'),
        ({'resources:PCPU': '4'}, {}, 'NUMATopologyFilter: resources:PCPU'),
        ({'resources2:PCPU': '4'}, {}, 'NUMATopologyFilter: resources2:PCPU'),
        # Shared CPUs are neutral; the same word elsewhere is a condition.
        ({'hw:cpu_policy': 'shared'}, {}, ''),
        ({}, {'hw_cpu_policy': 'shared'}, ''),
        ({'capabilities:a': 'shared'}, {}, 'ComputeCapabilitiesFilter: capabilities:a'),
        ({'aggregate_instance_extra_specs:a': 'shared'}, {},
         'AggregateInstanceExtraSpecsFilter: aggregate_instance_extra_specs:a'),
        ({}, {'vm_mode': 'hvm'}, 'ImagePropertiesFilter: vm_mode'),
        ({'hw:numa_nodes_of': '1', 'resources:VCPU': '4'}, {'os_type': 'linux'}, ''),
    ],
)  # fmt: skip
def test_a_filter_decides_by_its_specs_and_properties_alone(specs, properties, decision):
    assert list_decisions(specs, properties) == [decision][: bool(decision)]


def test_the_pci_filter_decides_each_kind_of_port_that_needs_a_device():
    kinds = ['direct', 'direct-physical', 'macvtap', 'remote-managed', 'vdpa', 'virtio-forwarder']
    others = ['normal', 'baremetal', 'accelerator-direct', 'direct']
    ports = tuple(Port(kind, vnic_type=kind) for kind in kinds + others)
    assert list_decisions({}, {}, ports=ports) == [
        f'PciPassthroughFilter: port with vnic_type {kind}' for kind in kinds
    ]
