# SPDX-License-Identifier: Apache-2.0
"""Inventory and allocations of PCI devices that are new to Placement.

The rules are Nova's ``[pci] report_in_placement``: at its start nova-compute removes every provider
of that kind which its own view does not have, so that names and figures have to be exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from placementclient.basis.wording import counted
from placementclient.hosts.assignments import make_contradiction
from placementclient.hosts.device_spec import DeviceSpec, find_device_spec, find_physical_functions
from placementclient.hosts.devices import PCI, PF, REMOVED, VDPA, VF, Device
from placementclient.model.findings import Finding
from placementclient.model.nova import ONE_TIME_USE, OWNER_NOVA
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import pci

MANAGED, MIGRATABLE = 'COMPUTE_MANAGED_PCI_DEVICE', 'HW_PCI_LIVE_MIGRATABLE'


@dataclass(slots=True)
class _NewProvider:
    """A provider to create for one physical device, or for the virtual functions of one."""

    devices: list[Device] = field(default_factory=list)
    resource_class: str = ''
    traits: frozenset[str] = frozenset()
    is_one_time: bool = False


class NewEntry(TypedDict):
    """One of the ``additions`` of a specification."""

    resource_provider: str
    parent: str
    inventories: dict[str, dict[str, int]]
    traits: list[str]
    consumers: NotRequired[dict[str, dict[str, int]]]


def build_additions(
    devices: Sequence[Device],
    specs: Mapping[str, Sequence[DeviceSpec]],
    snapshot: Snapshot | None = None,
) -> Iterator[NewEntry | Finding]:
    """Yield the ``additions`` of a specification, and findings about devices that are left out.

    :param specs: the entries of each host; those of ``''`` are of all others
    :param snapshot: the instances with allocations there; without it, all instances have some
    :raises errors.BadFile: for what Nova refuses: a physical function beside its virtual ones,
        functions of one device with different classes or traits
    """
    by_host = defaultdict[str, list[Device]](list)
    for device in devices:
        if device.status not in REMOVED:
            by_host[device.host].append(device)
    explained = set[str]()
    for host, local in sorted(by_host.items()):
        entries = specs.get(host, specs.get('', ()))
        yield from _build_host_additions(host, local, entries, snapshot, explained)
    for state in sorted(snapshot.providers.values() if snapshot else (), key=lambda s: s.name):
        if MANAGED in state.traits and state.name not in explained:
            reason = (
                'is in Placement, but no listed device matches a device_spec: nova-compute '
                'removes it when it starts, and fails if a server uses it'
            )
            yield make_contradiction(state.name, reason, '')
    for host in specs:
        if host and host not in by_host:
            yield make_contradiction(
                host, 'has a device_spec of its own, and no device is listed', ''
            )


def _build_host_additions(
    host: str,
    devices: Sequence[Device],
    specs: Sequence[DeviceSpec],
    snapshot: Snapshot | None,
    explained: set[str],
) -> Iterator[NewEntry | Finding]:
    physical = find_physical_functions(devices)
    providers: dict[str, _NewProvider] = {}
    unmanaged: list[Finding] = []
    for device in devices:
        spec = find_device_spec(specs, device, physical)
        if spec is None:
            if device.instance_uuid:
                unmanaged.append(_make_unmanaged_finding(device))
        elif not spec.tags.get('physical_network'):  # else it is Neutron's
            _add_device(providers, device, spec)
    names = {address: f'{host}_{address.upper()}' for address in sorted(providers)}
    explained.update(names.values())
    root = snapshot.find(host) if snapshot is not None else None
    if unmanaged:
        yield from unmanaged
    elif snapshot is not None and root is None:
        reason = 'has devices, and no resource provider in the snapshot'
        yield make_contradiction(host, reason, devices[0].path)
    else:
        for address, name in names.items():
            yield from _build_provider_additions(host, name, providers[address], snapshot)


def _build_provider_additions(
    host: str, name: str, provider: _NewProvider, snapshot: Snapshot | None
) -> Iterator[NewEntry | Finding]:
    """Yield the addition of a provider; if Placement has the provider, the differences."""
    state = snapshot.find(name) if snapshot is not None else None
    if snapshot is not None and state is not None and state.inventories:
        yield from _find_differences(snapshot, state, provider)
        return
    root = snapshot.find(host) if snapshot is not None else None
    consumers, gone = _count_devices_by_instance(provider, snapshot, root.uuid if root else None)
    yield from (*gone, *_find_device_to_reserve(name, provider))
    yield _make_entry(host, name, provider, consumers)


def _make_unmanaged_finding(device: Device) -> Finding:
    return make_contradiction(
        f'{device.host}_{device.address.upper()}',
        f'is used by server {device.instance_uuid}, and no device_spec matches it: the tree of '
        f'{device.host} is left out',
        device.path,
    )


def _add_device(providers: dict[str, _NewProvider], device: Device, spec: DeviceSpec) -> None:
    is_function = device.type in (VF, VDPA)
    if is_function and not device.parent:
        raise device.make_error('a virtual function without parent_addr: its provider is not known')
    provider = providers.setdefault(
        device.parent if is_function else device.address, _NewProvider()
    )
    others = provider.devices
    if others and (not is_function or others[0].type not in (VF, VDPA)):
        raise device.make_error(f'is listed together with {others[0].address}, which depends on it')
    tag = spec.tags.get('resource_class', '')
    name, traits = (
        pci.make_class_name(tag, device.vendor_id, device.product_id),
        _traits_of_entry(spec),
    )
    if others and name != provider.resource_class:
        raise device.make_error(f'is {name}, and {others[0].address} is {provider.resource_class}')
    if others and traits != provider.traits:
        raise device.make_error(f'has other traits than {others[0].address}')
    if 'one_time_use' in spec.tags and is_function:
        raise device.make_error('one_time_use is only for devices of type-PCI and type-PF')
    others.append(device)
    provider.is_one_time = spec.has_true_tag('one_time_use')
    provider.resource_class, provider.traits = name, traits


def _traits_of_entry(spec: DeviceSpec) -> frozenset[str]:
    migratable = {MIGRATABLE} if spec.has_true_tag('live_migratable') else set()
    return pci.parse_traits(spec.tags.get('traits', '')) | migratable | {MANAGED}


def _count_devices_by_instance(
    provider: _NewProvider, snapshot: Snapshot | None, root_uuid: str | None
) -> tuple[dict[str, int], list[Finding]]:
    """Return how many devices each instance has, and findings about those without allocations."""
    numbers = Counter(device.instance_uuid for device in provider.devices if device.instance_uuid)
    # The first device of each instance.
    devices = {device.instance_uuid: device for device in reversed(provider.devices)}
    gone = []
    for uuid in sorted(numbers):
        consumer = snapshot.consumers.get(uuid) if snapshot is not None else None
        if snapshot is not None and (consumer is None or root_uuid not in consumer.allocations):
            device = devices[uuid]
            reason = (
                f'has {device.address} of {device.host}, and holds nothing there in Placement: '
                'under migration or resized on its host'
            )
            gone.append(make_contradiction(uuid, reason, device.path))
            del numbers[uuid]
    return dict(sorted(numbers.items())), gone


def _find_differences(
    snapshot: Snapshot, state: ProviderState, provider: _NewProvider
) -> Iterator[Finding]:
    """Yield the differences between a provider that Placement has and the rows of its devices."""
    path, name, total = provider.devices[0].path, provider.resource_class, len(provider.devices)
    if state.inventories.keys() != {name}:
        others = ', '.join(sorted(state.inventories))
        reason = f'has {others} in Placement, and the listed device is {name}: another card?'
        yield make_contradiction(state.name, reason, path)
        return
    if (present := state.inventories[name].total) != total:
        reason = f'has {present} {name} in Placement, and {total} listed devices'
        yield make_contradiction(state.name, reason, path)
    listed = Counter(device.instance_uuid for device in provider.devices if device.instance_uuid)
    held = {c.uuid: c.amount(state.uuid, name) for c in snapshot.consumers_on(state.uuid)}
    for uuid in sorted(listed.keys() | held.keys()):
        if listed[uuid] != held.get(uuid, 0):
            devices = counted(listed[uuid], 'listed device')
            reason = f'holds {held.get(uuid, 0)} {name} on {state.name}, and has {devices} there'
            yield make_contradiction(uuid, reason, path)


def _find_device_to_reserve(name: str, provider: _NewProvider) -> Iterator[Finding]:
    """Yield a finding if a one-time-use device is in use: Nova reserves it until it is cleaned."""
    # The service grants no allocation on reserved inventory: this comes after the allocations.
    device = provider.devices[0]
    if provider.is_one_time and device.instance_uuid:
        reason = (
            'is for one use and in use: after "reshape apply", reserve it with "placement '
            'resource provider inventory set --amend --resource '
            f'{provider.resource_class}:reserved=1"'
        )
        yield make_contradiction(name, reason, device.path)


def _make_entry(
    host: str, name: str, provider: _NewProvider, consumers: Mapping[str, int]
) -> NewEntry:
    total = len(provider.devices)
    traits = {*provider.traits, OWNER_NOVA}
    if provider.is_one_time and provider.devices[0].type in (PCI, PF):
        traits.add(ONE_TIME_USE)
    entry: NewEntry = {
        'resource_provider': name,
        'parent': host,
        'inventories': {provider.resource_class: {'total': total, 'max_unit': total}},
        'traits': sorted(traits),
    }
    if consumers:
        entry['consumers'] = {
            uuid: {provider.resource_class: amount} for uuid, amount in consumers.items()
        }
    return entry
