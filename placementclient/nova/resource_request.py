"""The request of Nova's scheduler for a flavor: its ``ResourceRequest`` (as of 34.0).

What comes from an image, from ports or from the configuration is in no flavor; which extra specs
stand for such things: see :func:`unmodelled`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import os_resource_classes

from placementclient.client.wording import meant
from placementclient.model.consumers import together
from placementclient.model.flavors import Flavor
from placementclient.model.inventories import UNLIMITED
from placementclient.model.nova import DISABLED, OWNER_NOVA
from placementclient.model.requests import CandidateRequest, Filter

_EXTRA_SPEC = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)')
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
#: Extra specs that stand for a trait, by what they say.
_TRAITS = {
    'hw:cpu_thread_policy': {'require': 'HW_CPU_HYPERTHREADING'},
    'hw:maxphysaddr_mode': {
        'passthrough': 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
        'emulate': 'COMPUTE_ADDRESS_SPACE_EMULATED',
    },
    'hw:pci_numa_affinity_policy': {'socket': 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'},
    'hw:tpm_version': {'1.2': 'COMPUTE_SECURITY_TPM_1_2', '2.0': 'COMPUTE_SECURITY_TPM_2_0'},
    'os:secure_boot': {'required': 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'},
}
#: What takes a part of a host that Placement does not know, or knows only by Nova's configuration.
_UNMODELLED = (
    'accel:device_profile',
    'hw:mem_page_size',
    'hw:numa_nodes',
    'hw:pci_numa_affinity_policy',
    'pci_passthrough:alias',
)
#: What filters of the scheduler look at that do not ask Placement.
_FILTERED = ('aggregate_instance_extra_specs:', 'capabilities:')
#: What is allocated on a device that Nova or Cyborg has chosen, so that only they know where.
_DEVICES = ('accel:device_profile', 'pci_passthrough:alias')
_DEVICE_CLASSES = ('VGPU',)


class _OpenGroup:
    """A group of a request while it is put together."""

    def __init__(self) -> None:
        self.resources: dict[str, int] = {}
        self.required: set[str] = set()
        self.forbidden: set[str] = set()

    def add_resource(self, name: str, amount: str) -> None:
        # The scheduler logs what is no class or no amount, and goes on without it.
        if _is_known(name, amount):
            self.resources[name] = int(amount)

    def add_trait(self, name: str, word: str) -> None:
        if word == 'required':
            self.required.add(name)
        elif word == 'forbidden':
            self.forbidden.add(name)

    def filter(self) -> Filter:
        """The group without what it asks nothing of."""
        resources = {name: amount for name, amount in self.resources.items() if amount}
        return Filter(resources, tuple(sorted(self.required)), tuple(sorted(self.forbidden)))


def _is_class(name: str) -> bool:
    return name.startswith('CUSTOM_') or name in os_resource_classes.STANDARDS


def _is_known(name: str, amount: str) -> bool:
    amount = amount.strip()
    # Placement refuses what is no amount of its own: 400.
    return _is_class(name) and amount.isdecimal() and len(amount) < 11 and int(amount) <= UNLIMITED


def request(flavor: Flavor, *, is_owned: bool = False) -> CandidateRequest:
    """Return the request of a server of this flavor, its root disk on the host.

    :param is_owned: whether every nova-compute is of 34 or later: from then on the scheduler
        requires OWNER_NOVA on the root of a host (``owner_nova_filter``)
    """
    groups: dict[str, _OpenGroup] = {'': _OpenGroup()}
    for key, value in flavor.extra_specs.items():
        if match := _EXTRA_SPEC.fullmatch(key):
            kind, suffix, name = match.groups()
            group = groups.setdefault(suffix or '', _OpenGroup())
            (group.add_resource if kind == 'resources' else group.add_trait)(name, value)
    common, specs = groups[''], flavor.extra_specs
    _add_cpus(common, flavor)
    asked = {name for group in groups.values() for name in group.resources}
    amounts = {'MEMORY_MB': flavor.ram, 'DISK_GB': _disk(flavor)}
    if not asked & {'VCPU', 'PCPU'}:
        amounts = {'VCPU': flavor.vcpus} | amounts
    # The flavor's own figures count where no extra spec says another, in whatever group.
    common.resources |= {name: n for name, n in amounts.items() if name not in asked}
    _add_features(common, specs)
    filters = {suffix: group.filter() for suffix, group in groups.items()}
    found = {suffix: each for suffix, each in filters.items() if suffix and each != Filter()}
    policy = specs.get('group_policy')
    return CandidateRequest(
        filters[''],
        found,
        policy if found and policy in ('none', 'isolate') else None,
        root_required=(
            *(['COMPUTE_ACCELERATORS'] if specs.get('accel:device_profile') else ()),
            *([OWNER_NOVA] if is_owned else ()),
        ),
        root_forbidden=(DISABLED,),
    )


def filtered(flavor: Flavor) -> list[str]:
    """The extra specs of a flavor by which the scheduler rules out hosts without Placement."""
    return sorted(key for key in flavor.extra_specs if key.startswith(_FILTERED))


def unmodelled(flavor: Flavor) -> list[str]:
    """The extra specs of a flavor that ask for more than is asked of Placement here.

    And those that the scheduler passes over, as their class or amount is not known.
    """
    found = filtered(flavor) + [key for key in _UNMODELLED if flavor.extra_specs.get(key)]
    for key, value in flavor.extra_specs.items():
        match = _EXTRA_SPEC.fullmatch(key)
        if match and match[1] == 'resources' and not _is_known(match[3], value):
            hint = '' if _is_class(match[3]) else meant(match[3], os_resource_classes.STANDARDS)
            found.append(f'{key}={value}{hint}')
    return found


def resources(flavor: Flavor, *, boots_from_volume: bool = False) -> dict[str, int]:
    """Return the resources of a server of this flavor, if it holds all on its host.

    :param boots_from_volume: whether its root disk is a volume
    """
    asked = request(replace(flavor, disk=0) if boots_from_volume else flavor)
    return dict(together(each.resources for each in (asked.common, *asked.groups.values())))


def devices(flavor: Flavor) -> list[str]:
    """The extra specs and classes of a flavor that are served by a device of the host."""
    asked = resources(flavor)
    specs = [key for key in _DEVICES if flavor.extra_specs.get(key)]
    return specs + [name for name in _DEVICE_CLASSES if name in asked]


def _disk(flavor: Flavor) -> int:
    swap = -(-flavor.swap // 1024)
    return flavor.disk + flavor.ephemeral + swap


def _add_cpus(group: _OpenGroup, flavor: Flavor) -> None:
    specs = flavor.extra_specs
    policy = specs.get('hw:cpu_policy')
    if policy in ('dedicated', 'mixed'):
        dedicated = flavor.vcpus if policy == 'dedicated' else _dedicated(flavor)
        if policy == 'mixed':
            group.resources['VCPU'] = flavor.vcpus - dedicated
        # The emulator's threads get a CPU of their own.
        extra = specs.get('hw:emulator_threads_policy') == 'isolate'
        group.resources['PCPU'] = dedicated + extra


def _dedicated(flavor: Flavor) -> int:
    """Return how many CPUs of a server with some of both are dedicated ones."""
    specs = flavor.extra_specs
    every = range(flavor.vcpus)
    mask = specs.get('hw:cpu_dedicated_mask', '')
    if not mask and specs.get('hw:cpu_realtime', '').lower() in _TRUE:
        mask = specs.get('hw:cpu_realtime_mask') or f'0-{flavor.vcpus - 1}'
    parts = [part.strip() for part in mask.split(',')]
    taken = [_span(part) for part in parts if not part.startswith('^')]
    spared = [_span(part[1:]) for part in parts if part.startswith('^')]
    if mask.strip().startswith('^'):
        taken.append(every)
    # From edge to edge all CPUs are alike; there may be any number of them.
    edges = {edge for span in (*taken, *spared) for edge in (span.start, span.stop)}
    stretches = pairwise(sorted({0, len(every)} | {edge for edge in edges if edge in every}))
    return sum(
        last - first
        for first, last in stretches
        if any(first in span for span in taken) and not any(first in span for span in spared)
    )


def _span(text: str) -> range:
    """The CPUs of ``'2'`` or ``'2-5'``; none of what is neither: Nova's API refuses it."""
    first, _, last = text.partition('-')
    last = last or first
    if not (first.strip().isdecimal() and last.strip().isdecimal()):
        return range(0)
    return range(int(first), int(last) + 1)


def _add_features(group: _OpenGroup, specs: Mapping[str, str]) -> None:
    """Add the requests of extra specs of other names."""
    for key, traits in _TRAITS.items():
        if trait := traits.get(specs.get(key, '')):
            group.required.add(trait)
    if specs.get('hw:cpu_thread_policy') == 'isolate':
        group.forbidden.add('HW_CPU_HYPERTHREADING')
    if specs.get('hw:tpm_version'):
        model = specs.get('hw:tpm_model', 'tpm-tis').removeprefix('tpm-')
        group.required.add(f'COMPUTE_SECURITY_TPM_{model.upper()}')
    if specs.get('hw:mem_encryption', '').lower() in _TRUE:
        group.resources['MEM_ENCRYPTION_CONTEXT'] = 1
        model = specs.get('hw:mem_encryption_model', 'amd-sev')
        group.required.add('HW_CPU_X86_' + model.upper().replace('-', '_'))
    namespaces = filter(None, map(str.strip, specs.get('hw:pmem', '').split(',')))
    group.resources |= Counter(
        os_resource_classes.normalize_name(f'PMEM_NAMESPACE_{label}') for label in namespaces
    )
