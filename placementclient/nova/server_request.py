"""The request that Nova (34.0) sends to Placement for a server.

:data:`RULES` is the table of what a part of a server asks for, in Nova's order.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import os_resource_classes
import os_traits

from placementclient.client.wording import meant
from placementclient.model.consumers import Resources, together
from placementclient.model.flavors import Flavor
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.images import Image
from placementclient.model.inventories import UNLIMITED
from placementclient.model.nova import DISABLED, OWNER_NOVA
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.services import Hypervisor
from placementclient.nova import cpus
from placementclient.nova.refusals import Refusal
from placementclient.nova.settings import Settings
from placementclient.nova.wishes import Wishes

#: The microversion of the request.
MICROVERSION = '1.36'

_EXTRA_SPEC = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)')
#: Hints with which Nova takes all candidates.
_UNLIMITED_HINTS = frozenset({'group', 'same_host', 'different_host'})
#: The traits of the root that properties of an image stand for.
_IMAGE_TRAITS = {
    'hw_cdrom_bus': 'COMPUTE_STORAGE_BUS',
    'hw_disk_bus': 'COMPUTE_STORAGE_BUS',
    'hw_video_model': 'COMPUTE_GRAPHICS_MODEL',
    'hw_vif_model': 'COMPUTE_NET_VIF_MODEL',
    'hw_architecture': 'HW_ARCH',
    'hw_emulation_architecture': 'COMPUTE_ARCH',
    'hw_viommu_model': 'COMPUTE_VIOMMU',
}
_FIRMWARE = 'COMPUTE_SECURITY_STATELESS_FIRMWARE'
#: Extra specs by which filters of the scheduler rule out hosts without Placement.
_FILTERED = ('aggregate_instance_extra_specs:', 'capabilities:')
_FILTERED_KEYS = ('hw:mem_page_size', 'hw:numa_nodes', 'hw:pci_numa_affinity_policy')
_ALIAS, _PROFILE = 'pci_passthrough:alias', 'accel:device_profile'
#: Classes of devices of which Nova or Cyborg chooses one, so that only they know where it is.
_DEVICE_CLASSES = ('VGPU',)


class PortGroup(NamedTuple):
    """A group of a port's ``resource_request``.

    :param suffix: its ID; that of the port where Neutron has no groups
    """

    suffix: str
    resources: Resources
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestedPort:
    """A port of a server, as Neutron has it.

    :param same_subtree: the IDs of groups that are served below one provider
    :param vnic_type: such as ``'normal'``
    :param subnet_id: of its first address
    """

    uuid: str
    groups: tuple[PortGroup, ...] = ()
    same_subtree: tuple[str, ...] = ()
    vnic_type: str = 'normal'
    device_profile: str | None = None
    network_id: str | None = None
    subnet_id: str | None = None


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A server that is to be scheduled.

    :param image: ``None`` where nothing is known of it: no property of it asks for anything then
    :param zone: the availability zone; with ``:HOST`` or ``:HOST:NODE`` behind it a host, too
    :param from_volume: whether its root disk is a volume
    :param hints: the names of the scheduler's hints
    :param host: the name of the chosen host
    """

    flavor: Flavor
    image: Image | None = None
    zone: str | None = None
    project: str | None = None
    ports: tuple[RequestedPort, ...] = ()
    from_volume: bool = False
    hints: frozenset[str] = frozenset()
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """The lists that requests depend on; ``None`` where a list is not known.

    :param is_owned: whether every nova-compute is of 34 or later: from then on the scheduler
        requires OWNER_NOVA on the root of a host (``owner_nova_filter``); ``None``: not known
    :param profiles: the groups of each device profile of Cyborg, by its name
    :param segments: the aggregates of each segment of a network or a subnet, by its ID
    """

    is_owned: bool | None = False
    aggregates: Sequence[HostAggregate] | None = None
    profiles: Mapping[str, Sequence[Mapping[str, str]]] | None = None
    segments: Mapping[str, Sequence[Sequence[str]]] | None = None
    hypervisors: Sequence[Hypervisor] | None = None


class NovaRequest(NamedTuple):
    """The request, or the two of which the candidates of both count.

    :param second: with VCPU for the dedicated CPUs of hosts that do not distinguish them
    :param unknown: the parts that are left out, each with the source that is missing
    :param filters: what filters of the scheduler decide afterwards, without Placement
    :param ignored: extra specs that the scheduler passes over, as their class or amount is none
    """

    first: CandidateRequest
    second: CandidateRequest | None = None
    unknown: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[CandidateRequest, ...]:
        """The request, and the second one if there is one."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """All that is asked for beside the requests."""
        return (*self.unknown, *self.filters, *self.ignored)

    @property
    def impossible(self) -> str:
        """Return the reason for which Placement refuses the request; empty if it takes it."""
        groups = {'': self.first.common, **self.first.groups}
        for suffix, group in groups.items():
            is_named = any(suffix in suffixes for suffixes in self.first.same_subtree)
            if group != Filter() and not group.resources and not is_named:
                return f'the group {suffix!r} asks for traits without resources'
            for name, amount in group.resources.items():
                if amount > UNLIMITED:
                    return f'no provider has {amount} of {name}'
        if len(self.first.groups) > 1 and self.first.group_policy is None:
            return 'it has several groups and no group_policy'
        return ''


class _OpenGroup:
    """A group of a request while it is put together."""

    def __init__(self, resources: Resources | None = None, required: Iterable[str] = ()) -> None:
        self.resources = dict(resources or {})
        self.required = set(required)
        self.forbidden: set[str] = set()

    def add(self, kind: str, name: str, value: str) -> bool:
        """Add an extra spec; ``False`` if the scheduler passes it over."""
        if kind == 'trait':
            traits = {'required': self.required, 'forbidden': self.forbidden}.get(value)
            if traits is not None:
                traits.add(name)
            return traits is not None
        try:
            amount = int(value)
        except ValueError:
            return False
        if amount < 0 or not _is_class(name):
            return False
        self.resources[name] = amount
        return True

    @property
    def is_empty(self) -> bool:
        return not (self.resources or self.required or self.forbidden)

    def filter(self) -> Filter:
        """The group without what it asks nothing of."""
        resources = {name: amount for name, amount in self.resources.items() if amount}
        return Filter(resources, tuple(sorted(self.required)), tuple(sorted(self.forbidden)))


class _Draft:
    """A request while the rules put it together.

    :ivar own_groups: the number of groups with a suffix that the flavor has
    :ivar pci_groups: the suffixes of the groups of PCI aliases
    """

    def __init__(self, server: ServerRequest, settings: Settings, sources: Sources) -> None:
        self.server, self.settings, self.sources = server, settings, sources
        self.flavor, self.specs = server.flavor, server.flavor.extra_specs
        self.wishes = Wishes(server.flavor, server.image)
        self.cpus = cpus.asked(self.wishes)
        self.groups = {'': _OpenGroup()}
        self.common = self.groups['']
        self.own_groups = 0
        self.pci_groups: list[str] = []
        self.policy: str | None = None
        self.root_required: set[str] = set()
        self.root_forbidden: set[str] = set()
        self.member_of: list[str] = []
        self.forbidden_member_of: list[str] = []
        self.same_subtree: list[tuple[str, ...]] = []
        self.in_tree: str | None = None
        self.limit: int | None = None
        self.unknown: list[str] = []

    def lack(self, part: str, source: str) -> None:
        """Note a part that is left out."""
        self.unknown.append(f'{part} ({source} not given)')

    def add_group(self, suffix: str, group: _OpenGroup) -> None:
        """Add a group that is not the flavor's."""
        if suffix in self.groups:
            raise Refusal(f'two groups of the request have the suffix {suffix}')
        if group.is_empty:
            raise Refusal(f'the group {suffix} asks for nothing')
        self.groups[suffix] = group

    def profile(self, name: str) -> Sequence[Mapping[str, str]] | None:
        """Return the groups of a device profile; ``None`` where they are not known."""
        if self.sources.profiles is None:
            self.lack(f'device profile {name}', 'device profiles')
            return None
        if name not in self.sources.profiles:
            raise Refusal(f'there is no device profile {name}')
        return self.sources.profiles[name]

    def add_profile(self, groups: Iterable[Mapping[str, str]], owner: str = '') -> None:
        """Add the groups of a device profile.

        :param owner: the ID of the port that has it
        """
        for number, specs in enumerate(groups):
            group = _OpenGroup()
            for key, value in specs.items():
                if match := _EXTRA_SPEC.fullmatch(key):
                    group.add(match[1], match[3], value)
            self.add_group(f'device_profile_{number}{owner}', group)

    def request(self) -> CandidateRequest:
        """Return the request."""
        filters = {suffix: group.filter() for suffix, group in self.groups.items()}
        common = filters.pop('')._replace(
            member_of=tuple(sorted(self.member_of)),
            forbidden_member_of=tuple(self.forbidden_member_of),
            in_tree=self.in_tree,
        )
        groups = {suffix: group for suffix, group in filters.items() if group != Filter()}
        is_mixed = len(groups) > 1 and self.own_groups < 2
        return CandidateRequest(
            common,
            groups,
            self.policy or ('none' if is_mixed else None),
            tuple(self.same_subtree),
            tuple(sorted(self.root_required)),
            tuple(sorted(self.root_forbidden)),
            self.limit,
        )


Rule = Callable[[_Draft], None]


def _is_class(name: str) -> bool:
    return name.startswith('CUSTOM_') or name in os_resource_classes.STANDARDS


def _image_fits(draft: _Draft) -> None:
    image, flavor = draft.server.image, draft.flavor
    if image is None:
        return
    if flavor.ram < image.min_ram:
        raise Refusal(f'the image needs {image.min_ram} MiB of memory')
    if flavor.disk and not draft.server.from_volume:
        disk = flavor.disk * 2**30
        if max(image.size, image.min_disk * 2**30) > disk:
            raise Refusal(f'the image does not fit on a disk of {flavor.disk} GiB')


def _extra_specs(draft: _Draft) -> None:
    for key, value in draft.specs.items():
        if match := _EXTRA_SPEC.fullmatch(key):
            kind, suffix, name = match.groups()
            draft.groups.setdefault(suffix or '', _OpenGroup()).add(kind, name, value)
    draft.own_groups = len(draft.groups) - 1


def _group_policy(draft: _Draft) -> None:
    policy = draft.specs.get('group_policy')
    draft.policy = policy if policy in ('none', 'isolate') else None


def _image_traits(draft: _Draft) -> None:
    for name, value in draft.wishes.properties.items():
        if name.startswith('trait:') and value == 'required':
            draft.common.required.add(name.removeprefix('trait:'))


def _pinned_cpus(draft: _Draft) -> None:
    asked = draft.cpus
    if asked.policy is None and asked.thread_policy and not draft.wishes.is_image_known:
        draft.lack('CPU policy', 'image')
    if asked.policy == 'mixed':
        draft.common.resources['VCPU'] = asked.shared
    if asked.policy in ('dedicated', 'mixed'):
        draft.common.resources['PCPU'] = asked.dedicated
    if asked.thread_policy == 'require':
        draft.common.required.add('HW_CPU_HYPERTHREADING')
    elif asked.thread_policy == 'isolate':
        draft.common.forbidden.add('HW_CPU_HYPERTHREADING')


def _ports(draft: _Draft) -> None:
    for port in draft.server.ports:
        if port.vnic_type in ('accelerator-direct', 'accelerator-direct-physical'):
            _accelerated(draft, port)
        for group in port.groups:
            draft.add_group(group.suffix, _OpenGroup(group.resources, group.required))
        if port.same_subtree:
            draft.same_subtree.append(tuple(sorted(port.same_subtree)))


def _accelerated(draft: _Draft, port: RequestedPort) -> None:
    if not port.device_profile:
        raise Refusal(f'port {port.uuid} has no device profile')
    if (groups := draft.profile(port.device_profile)) is None:
        return
    amounts = [
        int(value)
        for specs in groups
        for key, value in specs.items()
        if (match := _EXTRA_SPEC.fullmatch(key)) and match[1] == 'resources'
    ]
    if sum(amounts) > 1:
        raise Refusal(f'port {port.uuid} asks for several devices')
    draft.add_profile(groups, port.uuid)


def _pci_aliases(draft: _Draft) -> None:
    text = draft.specs.get(_ALIAS)
    if text is None:
        return
    if not draft.settings.is_known:
        draft.lack(f'{_ALIAS}={text}', 'nova.conf')
        return
    aliases = draft.settings.pci_aliases()
    for number, item in enumerate(text.split(',')):
        name, _, count = item.partition(':')
        name = name.strip()
        if name not in aliases:
            raise Refusal(f'no PCI alias is called {name}{meant(name, aliases)}')
        try:
            amount = int(count)
        except ValueError:
            raise Refusal(f'{_ALIAS}={text}: {item} is not NAME:COUNT') from None
        if draft.settings.pci_in_placement:
            alias = aliases[name]
            for device in range(amount):
                group = _OpenGroup({alias.resource_class: 1}, alias.required)
                draft.pci_groups.append(f'pci_request_{number}-{device}')
                draft.add_group(draft.pci_groups[-1], group)


def _device_profile(draft: _Draft) -> None:
    if name := draft.specs.get(_PROFILE):
        draft.root_required.add('COMPUTE_ACCELERATORS')
        draft.add_profile(draft.profile(name) or ())


def _own_amounts(draft: _Draft) -> None:
    """The flavor's own figures, where no extra spec names the class, in whatever group."""
    flavor = draft.flavor
    asked = {name for group in draft.groups.values() for name in group.resources}
    root = 0 if draft.server.from_volume else flavor.disk
    amounts = {
        'MEMORY_MB': flavor.ram,
        'DISK_GB': root + flavor.ephemeral - (-flavor.swap // 1024),
    }
    if not asked & {'VCPU', 'PCPU'}:
        amounts = {'VCPU': flavor.vcpus} | amounts
    draft.common.resources |= {name: n for name, n in amounts.items() if name not in asked}


def _memory_encryption(draft: _Draft) -> None:
    wishes, image = draft.wishes, draft.wishes.properties
    if not wishes.flag('mem_encryption'):
        return
    models = wishes.both('mem_encryption_model')
    if None not in models and models[0] != models[1]:
        raise wishes.conflict('mem_encryption_model')
    model = wishes.choice('mem_encryption_model') or 'amd-sev'
    if not wishes.is_image_known:
        draft.lack('firmware of the image, taken as what hw:mem_encryption needs', 'image')
    elif image.get('hw_firmware_type') != 'uefi':
        raise Refusal('memory encryption needs an image with hw_firmware_type=uefi')
    elif 'q35' not in image.get('hw_machine_type', 'q35'):
        raise Refusal('memory encryption needs an image with hw_machine_type=q35')
    elif model in ('amd-sev-snp', 'intel-tdx') and not _is_stateless(draft):
        raise Refusal(f'{model} needs an image with hw_firmware_stateless=true')
    elif model == 'intel-tdx' and image.get('hw_video_model') != 'none':
        raise Refusal(f'{model} needs an image with hw_video_model=none')
    draft.common.resources['MEM_ENCRYPTION_CONTEXT'] = 1
    draft.common.required.add(f'HW_CPU_X86_{model.upper().replace("-", "_")}')


def _is_stateless(draft: _Draft) -> bool:
    is_uefi = draft.wishes.properties.get('hw_firmware_type') == 'uefi'
    return is_uefi and draft.wishes.flag('firmware_stateless')


def _persistent_memory(draft: _Draft) -> None:
    labels = filter(None, map(str.strip, draft.specs.get('hw:pmem', '').split(',')))
    names = (os_resource_classes.normalize_name(f'PMEM_NAMESPACE_{label}') for label in labels)
    draft.common.resources |= Counter(names)


def _tpm(draft: _Draft) -> None:
    version = draft.wishes.choice('tpm_version')
    if version is None:
        return
    model = draft.wishes.choice('tpm_model') or 'tpm-tis'
    if model == 'tpm-crb' and version != '2.0':
        raise Refusal('the TPM model tpm-crb needs the version 2.0')
    draft.common.required |= {
        f'COMPUTE_SECURITY_TPM_{version.replace(".", "_")}',
        f'COMPUTE_SECURITY_TPM_{model.removeprefix("tpm-").upper()}',
    }


def _tpm_secret(draft: _Draft) -> None:
    if draft.wishes.choice('tpm_version') is None:
        return
    security = draft.specs.get('hw:tpm_secret_security') or 'user'
    if security not in ('deployment', 'host', 'user'):
        raise Refusal(f'hw:tpm_secret_security is {security!r}, which Nova does not know')
    draft.root_required.add(f'COMPUTE_SECURITY_TPM_SECRET_SECURITY_{security.upper()}')


def _stateless_firmware(draft: _Draft) -> None:
    if _is_stateless(draft):
        draft.common.required.add(_FIRMWARE)


@dataclass(frozen=True, slots=True)
class _Feature:
    """A rule: a value of the flavor or the image stands for a trait.

    :param traits: by value
    """

    key: str
    traits: Mapping[str, str]
    prefix: str = 'hw'
    is_of_root: bool = False

    def __call__(self, draft: _Draft) -> None:
        value = draft.wishes.choice(self.key, self.prefix)
        if trait := self.traits.get(value or ''):
            (draft.root_required if self.is_of_root else draft.common.required).add(trait)


def _project(draft: _Draft) -> None:
    settings, project = draft.settings, draft.server.project
    if not settings.limit_tenants_to_placement_aggregate:
        return
    if project is None or draft.sources.aggregates is None:
        draft.lack('aggregates of the project', 'project' if project is None else 'aggregates')
        return
    names = [
        aggregate.uuid
        for aggregate in draft.sources.aggregates
        if any(
            key.startswith('filter_tenant_id') and value == project
            for key, value in aggregate.metadata.items()
        )
    ]
    if names:
        draft.member_of.append(','.join(sorted(names)))
    elif settings.placement_aggregate_required_for_tenants:
        raise Refusal(f'No valid host: no aggregate is of project {project}')


def _zone(draft: _Draft) -> None:
    zone = _split_zone(draft)[0]
    if not zone:
        return
    if draft.sources.aggregates is None:
        draft.lack(f'availability zone {zone}', 'aggregates')
        return
    names = [
        aggregate.uuid
        for aggregate in draft.sources.aggregates
        if aggregate.metadata.get('availability_zone') == zone
    ]
    if names:
        draft.member_of.append(','.join(sorted(names)))


def _split_zone(draft: _Draft) -> tuple[str | None, str, str]:
    """Return the zone, the host and the node of ``ZONE:HOST:NODE``."""
    zone, *others = (draft.server.zone or '').split(':')
    if len(others) > 2:
        raise Refusal(f'{draft.server.zone!r} is no availability zone')
    host, node = (*others, '', '')[:2]
    return zone or draft.settings.default_schedule_zone, host, node


def _image_type(draft: _Draft) -> None:
    image = draft.server.image
    if not draft.settings.query_placement_for_image_type_support or draft.server.from_volume:
        return
    if image is None or image.disk_format is None:
        draft.lack('format of the image', 'image')
        return
    trait = f'COMPUTE_IMAGE_TYPE_{image.disk_format.upper()}'
    if hasattr(os_traits, trait):
        draft.root_required.add(trait)


def _disabled_hosts(draft: _Draft) -> None:
    draft.root_forbidden.add(DISABLED)


def _isolated_aggregates(draft: _Draft) -> None:
    if not draft.settings.enable_isolated_aggregate_filtering:
        return
    if draft.sources.aggregates is None:
        draft.lack('isolated aggregates', 'aggregates')
        return
    required = {f'trait:{name}' for group in draft.groups.values() for name in group.required}
    names = [
        aggregate.uuid
        for aggregate in draft.sources.aggregates
        if any(
            key.startswith('trait:') and value == 'required' and key not in required
            for key, value in aggregate.metadata.items()
        )
    ]
    draft.forbidden_member_of = [','.join(sorted(names))] if names else []


def _image_metadata(draft: _Draft) -> None:
    if not draft.settings.image_metadata_prefilter:
        return
    if draft.server.image is None and not draft.server.from_volume:
        draft.lack('properties of the image', 'image')
        return
    values = draft.wishes.properties
    traits = {
        f'{prefix}_{values[name].replace("-", "_").upper()}'
        for name, prefix in _IMAGE_TRAITS.items()
        if name in values
    }
    # All or none.
    if all(hasattr(os_traits, trait) for trait in traits):
        draft.root_required |= traits


def _packed_virtqueues(draft: _Draft) -> None:
    if draft.wishes.flag('virtio_packed_ring'):
        draft.root_required.add('COMPUTE_NET_VIRTIO_PACKED')


def _routed_networks(draft: _Draft) -> None:
    if not draft.settings.query_placement_for_routed_network_aggregates:
        return
    for port in draft.server.ports:
        segment = port.subnet_id or port.network_id
        if segment is None:
            continue
        if draft.sources.segments is None or segment not in draft.sources.segments:
            draft.lack(f'segments of {segment}', 'segments')
        elif segments := draft.sources.segments[segment]:
            if not all(segments):
                raise Refusal(f'No valid host: a segment of {segment} has no aggregate')
            draft.member_of.append(','.join(sorted(itertools.chain(*segments))))


def _remote_managed_ports(draft: _Draft) -> None:
    if any(port.vnic_type == 'remote-managed' for port in draft.server.ports):
        draft.root_required.add('COMPUTE_REMOTE_MANAGED_PORTS')


def _ephemeral_encryption(draft: _Draft) -> None:
    if not draft.wishes.flag('ephemeral_encryption'):
        return
    draft.root_required.add('COMPUTE_EPHEMERAL_ENCRYPTION')
    if form := draft.wishes.choice('ephemeral_encryption_format'):
        draft.root_required.add(f'COMPUTE_EPHEMERAL_ENCRYPTION_{form.upper()}')


def _owner(draft: _Draft) -> None:
    if draft.sources.is_owned is None:
        draft.lack(f'{OWNER_NOVA}, taken as required', 'versions of nova-compute')
    if draft.sources.is_owned is not False:
        draft.root_required.add(OWNER_NOVA)
        for suffix in draft.pci_groups:
            draft.groups[suffix].required.add(OWNER_NOVA)


def _limit(draft: _Draft) -> None:
    if not draft.server.hints & _UNLIMITED_HINTS:
        draft.limit = draft.settings.max_placement_results


def _chosen_host(draft: _Draft) -> None:
    _, host, node = _split_zone(draft)
    host = draft.server.host or host
    if not host and not node:
        return
    if draft.sources.hypervisors is None:
        draft.lack(f'chosen host {host or node}', 'hypervisors')
        return
    uuids = [
        hypervisor.uuid
        for hypervisor in draft.sources.hypervisors
        if host in ('', hypervisor.host) and node in ('', hypervisor.node)
    ]
    if not uuids:
        raise Refusal(f'No valid host: there is no host {host or node}')
    if len(uuids) == 1:
        draft.in_tree = uuids[0]
    else:
        draft.limit = None


#: What each part of a server asks for. Rules of groups come before those of request filters.
RULES: tuple[Rule, ...] = (
    _image_fits,
    _extra_specs,
    _group_policy,
    _image_traits,
    _pinned_cpus,
    _ports,
    _pci_aliases,
    _device_profile,
    _own_amounts,
    _memory_encryption,
    _persistent_memory,
    _tpm,
    _Feature('pci_numa_affinity_policy', {'socket': 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'}),
    _Feature('secure_boot', {'required': 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'}, 'os'),
    _Feature(
        'maxphysaddr_mode',
        {
            'passthrough': 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
            'emulate': 'COMPUTE_ADDRESS_SPACE_EMULATED',
        },
    ),
    _stateless_firmware,
    _project,
    _zone,
    _image_type,
    _disabled_hosts,
    _isolated_aggregates,
    _image_metadata,
    _packed_virtqueues,
    _routed_networks,
    _remote_managed_ports,
    _ephemeral_encryption,
    _Feature('sound_model', {'virtio': 'COMPUTE_SOUND_MODEL_VIRTIO'}, is_of_root=True),
    _tpm_secret,
    _owner,
    _limit,
    _chosen_host,
)


_DEFAULTS, _NO_SOURCES = Settings(), Sources()


def requested(
    server: ServerRequest,
    settings: Settings = _DEFAULTS,
    sources: Sources = _NO_SOURCES,
    rules: Sequence[Rule] = RULES,
) -> NovaRequest:
    """Return the request of Nova for a server.

    :raises Refusal: if Nova refuses the server, with the reason
    """
    draft = _drafted(server, settings, sources, rules)
    second = None
    if draft.cpus.policy == 'dedicated' and not settings.disable_fallback_pcpu_query:
        shared = _drafted(
            server, settings, sources, [rule for rule in rules if rule is not _pinned_cpus]
        )
        # A request filter has found them, once for both.
        shared.forbidden_member_of = draft.forbidden_member_of
        second = shared.request()
    return NovaRequest(
        draft.request(),
        second,
        tuple(dict.fromkeys(draft.unknown)),
        tuple(_filters(server, settings)),
        tuple(_ignored(server.flavor)),
    )


def _drafted(
    server: ServerRequest, settings: Settings, sources: Sources, rules: Sequence[Rule]
) -> _Draft:
    draft = _Draft(server, settings, sources)
    for rule in rules:
        rule(draft)
    return draft


def _filters(server: ServerRequest, settings: Settings) -> Iterator[str]:
    specs = server.flavor.extra_specs
    yield from filtered(server.flavor)
    yield from (key for key in _FILTERED_KEYS if specs.get(key))
    if specs.get(_ALIAS) and settings.is_known and not settings.pci_in_placement:
        yield f'{_ALIAS}={specs[_ALIAS]}'


def filtered(flavor: Flavor) -> list[str]:
    """The extra specs of a flavor by which the scheduler rules out hosts without Placement."""
    return sorted(key for key in flavor.extra_specs if key.startswith(_FILTERED))


def _ignored(flavor: Flavor) -> Iterator[str]:
    for key, value in flavor.extra_specs.items():
        match = _EXTRA_SPEC.fullmatch(key)
        if match and match[1] == 'resources' and not _OpenGroup().add('resources', match[3], value):
            hint = '' if _is_class(match[3]) else meant(match[3], os_resource_classes.STANDARDS)
            yield f'{key}={value}{hint}'


def resources(flavor: Flavor, *, boots_from_volume: bool = False) -> dict[str, int]:
    """Return the resources of a server of this flavor, if it holds all on its host.

    :param boots_from_volume: whether its root disk is a volume
    :raises Refusal: if Nova refuses the flavor
    """
    return amounts(requested(ServerRequest(flavor, from_volume=boots_from_volume)).first)


def amounts(request: CandidateRequest) -> dict[str, int]:
    """Return what all groups of a request ask for together."""
    return dict(together(each.resources for each in (request.common, *request.groups.values())))


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Nova's way to schedule servers of any flavor.

    :param parts: what all of these servers have, by the fields of :class:`ServerRequest`
    """

    settings: Settings = _DEFAULTS
    sources: Sources = _NO_SOURCES
    parts: Mapping[str, Any] = field(default_factory=dict)

    def requested(self, flavor: Flavor, *, is_owned: bool | None = None) -> NovaRequest:
        """Return the request for a server of a flavor; as :func:`requested`.

        :param is_owned: as of :class:`Sources`
        """
        sources = replace(self.sources, is_owned=is_owned)
        return requested(ServerRequest(flavor, **self.parts), self.settings, sources)

    def first_of_each(self, flavors: Iterable[Flavor]) -> Iterator[tuple[Flavor, CandidateRequest]]:
        """Return the request of each flavor that Nova does not refuse."""
        for flavor in flavors:
            try:
                yield flavor, self.requested(flavor, is_owned=False).first
            except Refusal:
                continue

    def of_server(self, server: ServerRequest, *, is_owned: bool | None = None) -> NovaRequest:
        """Return the request for a server; the arguments count more than what it has."""
        given = {name: value for name, value in self.parts.items() if value}
        sources = replace(self.sources, is_owned=is_owned)
        return requested(replace(server, **given), self.settings, sources)


def devices(flavor: Flavor) -> list[str]:
    """The extra specs and classes of a flavor that are served by a device of the host."""
    asked = resources(flavor)
    specs = [key for key in (_PROFILE, _ALIAS) if flavor.extra_specs.get(key)]
    return specs + [name for name in _DEVICE_CLASSES if name in asked]
