# SPDX-License-Identifier: Apache-2.0
"""Decisions of the filters of Nova's scheduler (34.0) that Placement does not make. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from placementclient.nova.features import ALIAS_SPEC, Features
from placementclient.nova.server_parts import ServerRequest
from placementclient.nova.settings import Settings

NUMA_FILTER, PCI_FILTER = 'NUMATopologyFilter', 'PciPassthroughFilter'
CAPABILITIES_FILTER = 'ComputeCapabilitiesFilter'
METADATA_FILTER = 'AggregateInstanceExtraSpecsFilter'
#: The kinds of ports for which Nova requests a PCI device of the host (``VNIC_TYPES_SRIOV`` in
#: ``nova/network/model.py``); Placement does not count it.
_PCI_PORTS = frozenset(
    ('direct', 'direct-physical', 'macvtap', 'remote-managed', 'vdpa', 'virtio-forwarder')
)


class _FilterRule(NamedTuple):
    """A filter of the scheduler, and the parts of a server that it looks at.

    :param specs: a regular expression for the names of extra specs
    :param properties: a regular expression for the names of image properties
    :param hints: the names of scheduler hints
    :param neutral: the value of a spec or a property with which the filter passes all hosts
    """

    filter: str
    specs: str | None = None
    properties: str | None = None
    hints: tuple[str, ...] = ()
    neutral: Mapping[str, str] = {}

    def find_deciding_names(self, features: Features, hints: Iterable[str]) -> Iterator[str]:
        """Yield the extra specs, image properties and hints by which the filter decides."""
        for pattern, values in (
            (self.specs, features.specs),
            (self.properties, features.properties),
        ):
            names = [name for name in sorted(values) if pattern and re.fullmatch(pattern, name)]
            yield from (name for name in names if values[name] != self.neutral.get(name))
        yield from (hint for hint in self.hints if hint in hints)


_RULES = (
    # What gives a server a NUMA topology: ``numa_get_constraints`` in ``nova/virt/hardware.py``.
    _FilterRule(
        NUMA_FILTER,
        'hw:(cpu_dedicated_mask|cpu_policy|mem_page_size|numa_nodes|pci_numa_affinity_policy|pmem)'
        '|resources([1-9][0-9]*)?:PCPU',
        'hw_(cpu_policy|mem_page_size|numa_nodes|pci_numa_affinity_policy)',
        neutral={'hw:cpu_policy': 'shared', 'hw_cpu_policy': 'shared'},
    ),
    _FilterRule(CAPABILITIES_FILTER, 'capabilities:.*'),
    _FilterRule(METADATA_FILTER, 'aggregate_instance_extra_specs:.*'),
    _FilterRule(
        'ImagePropertiesFilter',
        properties='hw_architecture|hw_maxphysaddr_bits|(hw_)?vm_mode|hypervisor_type'
        '|hypervisor_version_requires|img_hv_requested_version|img_hv_type',
    ),
    _FilterRule('ServerGroupAffinityFilter and ServerGroupAntiAffinityFilter', hints=('group',)),
    _FilterRule('SameHostFilter', hints=('same_host',)),
    _FilterRule('DifferentHostFilter', hints=('different_host',)),
    _FilterRule('SimpleCIDRAffinityFilter', hints=('build_near_host_ip',)),
    _FilterRule('JsonFilter', hints=('query',)),
)


def describe_filter_decisions(server: ServerRequest, settings: Settings) -> Iterator[str]:
    """Yield each filter that decides about a server, and by which part: ``JsonFilter: query``."""
    features = Features(server.flavor, server.image)
    for rule in _RULES:
        for part in rule.find_deciding_names(features, server.hints):
            yield f'{rule.filter}: {part}'
    for part in _find_undecided_devices(features, server, settings):
        yield f'{PCI_FILTER}: {part}'


def _find_undecided_devices(
    features: Features, server: ServerRequest, settings: Settings
) -> Iterator[str]:
    """Yield the PCI aliases and the kinds of ports whose devices are not in Placement.

    Without a configuration file no alias is yielded: its devices may be in Placement.
    """
    alias = features.specs.get(ALIAS_SPEC)
    if alias and settings.is_read and not settings.pci_in_placement:
        yield f'{ALIAS_SPEC}={alias}'
    kinds = (port.vnic_type for port in server.ports if port.vnic_type in _PCI_PORTS)
    yield from (f'port with vnic_type {kind}' for kind in dict.fromkeys(kinds))
