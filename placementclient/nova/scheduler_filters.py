# SPDX-License-Identifier: Apache-2.0
"""Decisions of the filters of Nova's scheduler (34.0) that Placement does not make. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from placementclient.model.network import Port
from placementclient.nova.features import Features
from placementclient.nova.group_rules import ALIAS_SPEC
from placementclient.nova.server_parts import ServerRequest
from placementclient.nova.settings import Settings

NUMA_FILTER, PCI_FILTER = 'NUMATopologyFilter', 'PciPassthroughFilter'
CAPABILITIES_FILTER = 'ComputeCapabilitiesFilter'
METADATA_FILTER = 'AggregateInstanceExtraSpecsFilter'


class _Decision(NamedTuple):
    """The part of a request that gives a filter something to decide.

    :param specs: the beginnings of extra specs
    :param properties: the names of image properties
    :param hints: the names of hints
    """

    specs: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


_DECISIONS: Mapping[str, _Decision] = {
    NUMA_FILTER: _Decision(
        (
            *('hw:cpu_dedicated_mask', 'hw:cpu_policy', 'hw:mem_page_size', 'hw:numa_nodes'),
            *('hw:pci_numa_affinity_policy', 'resources:PCPU'),
        ),
        ('hw_cpu_policy', 'hw_mem_page_size', 'hw_numa_nodes', 'hw_pci_numa_affinity_policy'),
    ),
    CAPABILITIES_FILTER: _Decision(('capabilities:',)),
    METADATA_FILTER: _Decision(('aggregate_instance_extra_specs:',)),
    'ImagePropertiesFilter': _Decision(
        properties=(
            *('hw_architecture', 'hw_maxphysaddr_bits', 'hw_vm_mode', 'hypervisor_type'),
            *('hypervisor_version_requires', 'img_hv_requested_version', 'img_hv_type', 'vm_mode'),
        )
    ),
    'ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter': _Decision(hints=('group',)),
    'SameHostFilter': _Decision(hints=('same_host',)),
    'DifferentHostFilter': _Decision(hints=('different_host',)),
    'SimpleCIDRAffinityFilter': _Decision(hints=('build_near_host_ip',)),
    'JsonFilter': _Decision(hints=('query',)),
}
#: The policy of CPUs that needs no NUMA cells of a host.
_UNDECIDED = {('hw:cpu_policy', 'shared'), ('hw_cpu_policy', 'shared')}
#: The kinds of ports that need a device of the host; Placement does not count it.
_DEVICES = ('direct', 'direct-physical', 'macvtap', 'vdpa')


def describe_decisions(server: ServerRequest, settings: Settings) -> Iterator[str]:
    """Yield what each filter decides: ``NUMATopologyFilter: hw:cpu_policy``."""
    features = Features(server.flavor, server.image)
    for name, decision in _DECISIONS.items():
        for key in _find_keys(decision, features, server.hints):
            yield f'{name}: {key}'
    if (
        (alias := features.specs.get(ALIAS_SPEC))
        and settings.is_read
        and not settings.pci_in_placement
    ):
        yield f'{PCI_FILTER}: {ALIAS_SPEC}={alias}'
    for kind in dict.fromkeys(_find_device_kinds(server.ports)):
        yield f'{PCI_FILTER}: port with vnic_type {kind}'


def _find_keys(decision: _Decision, features: Features, hints: Iterable[str]) -> Iterator[str]:
    """Yield the extra specs, image properties and hints of a server that a filter decides by."""
    sources = (
        (features.specs, lambda key: key.startswith(decision.specs)),
        (features.properties, lambda key: key in decision.properties),
    )
    for values, is_meant in sources:
        yield from (
            key for key in sorted(values) if is_meant(key) and (key, values[key]) not in _UNDECIDED
        )
    yield from (hint for hint in decision.hints if hint in hints)


def _find_device_kinds(ports: Iterable[Port]) -> Iterator[str]:
    """Return the VNIC types of the ports that need a PCI device of the host."""
    return (port.vnic_type for port in ports if port.vnic_type in _DEVICES)
