# SPDX-License-Identifier: Apache-2.0
"""Inventory and allocations of PCI devices that are new to Placement.

The rules are Nova's ``[pci] report_in_placement``: at its start nova-compute removes every provider
of that kind which its own view does not have, so that names and figures have to be exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

from placementclient.basis.wording import format_count
from placementclient.hosts.assignments import make_contradiction
from placementclient.hosts.device_spec import DeviceSpec, find_device_spec, find_physical_functions
from placementclient.hosts.devices import REMOVED, Device
from placementclient.model.findings import Finding
from placementclient.model.nova import ONE_TIME_USE, OWNER_NOVA
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import pci

MANAGED, MIGRATABLE = 'COMPUTE_MANAGED_PCI_DEVICE', 'HW_PCI_LIVE_MIGRATABLE'


@dataclass(frozen=True, slots=True)
class _NewProvider:
    """A provider to create for one physical device, or for the virtual functions of one.

    :param devices: one device, or the functions in the order of the rows
    :param is_one_time: whether Nova reserves the device after its first use
    :param traits: those that Nova gives the provider
    """

    resource_class: str
    traits: frozenset[str]
    is_one_time: bool
    devices: list[Device]


class _HostDevices(NamedTuple):
    """The devices of a host by the providers that Nova makes of them.

    :param providers: by name
    :param unmanaged: devices that servers use, although no device_spec matches them
    """

    providers: dict[str, _NewProvider]
    unmanaged: list[Device]


class AdditionEntry(TypedDict):
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
) -> Iterator[AdditionEntry | Finding]:
    """Yield the ``additions`` of a specification, and findings about devices that are left out.

    :param specs: the entries of ``device_spec`` of each host; those of ``''`` are of all others
    :param snapshot: shows which instances have allocations; without it, all count as such
    :raises errors.BadFile: for what Nova refuses: a physical function beside its virtual ones,
        functions of one device with different classes or traits
    """
    by_host = defaultdict[str, list[Device]](list)
    for device in devices:
        if device.status not in REMOVED:
            by_host[device.host].append(device)
    managed = {
        host: _group_devices_by_provider(host, local, specs.get(host, specs.get('', ())))
        for host, local in sorted(by_host.items())
    }
    for host, grouped in managed.items():
        yield from _build_host_additions(host, by_host[host], grouped, snapshot)
    explained = {name for grouped in managed.values() for name in grouped.providers}
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


def _group_devices_by_provider(
    host: str, devices: Sequence[Device], specs: Sequence[DeviceSpec]
) -> _HostDevices:
    """Return the devices of a host by the providers that Nova makes of them.

    :param specs: the entries of ``device_spec`` of the host
    :param host: the name of the host
    """
    physical = find_physical_functions(devices)
    by_address: dict[str, _NewProvider] = {}
    unmanaged: list[Device] = []
    for device in devices:
        spec = find_device_spec(specs, device, physical)
        if spec is None:
            if device.instance_uuid:
                unmanaged.append(device)
        elif not spec.tags.get('physical_network'):  # else it is Neutron's
            _add_device(by_address, device, spec)
    named = {f'{host}_{address.upper()}': by_address[address] for address in sorted(by_address)}
    return _HostDevices(named, unmanaged)


def _add_device(by_address: dict[str, _NewProvider], device: Device, spec: DeviceSpec) -> None:
    """Add a device to the provider of its address, or of its parent if it is virtual."""
    if device.is_virtual and not device.parent:
        raise device.make_error('a virtual function without parent_addr: its provider is not known')
    traits = pci.parse_traits(spec.tags.get('traits', '')) | {MANAGED}
    new = _NewProvider(
        pci.make_class_name(
            spec.tags.get('resource_class', ''), device.vendor_id, device.product_id
        ),
        traits | {MIGRATABLE} if spec.has_true_tag('live_migratable') else traits,
        spec.has_true_tag('one_time_use'),
        [device],
    )
    address = device.parent if device.is_virtual else device.address
    provider = by_address.setdefault(address, new)
    if provider is not new:
        first = provider.devices[0]
        if not (device.is_virtual and first.is_virtual):
            raise device.make_error(f'is listed together with {first.address}, which depends on it')
        if new.resource_class != provider.resource_class:
            raise device.make_error(
                f'is {new.resource_class}, and {first.address} is {provider.resource_class}'
            )
        if new.traits != provider.traits:
            raise device.make_error(f'has other traits than {first.address}')
        provider.devices.append(device)
    if 'one_time_use' in spec.tags and device.is_virtual:
        raise device.make_error('one_time_use is only for devices of type-PCI and type-PF')


def _build_host_additions(
    host: str, devices: Sequence[Device], managed: _HostDevices, snapshot: Snapshot | None
) -> Iterator[AdditionEntry | Finding]:
    """Yield the additions of a host and findings; no addition if a used device is unmanaged.

    :param devices: all devices of the host
    :param managed: those that Nova manages
    :param snapshot: shows what Placement has; ``None``: it is not known
    """
    for device in managed.unmanaged:
        yield make_contradiction(
            f'{host}_{device.address.upper()}',
            f'is used by server {device.instance_uuid}, and no device_spec matches it: the tree of '
            f'{host} is left out',
            device.path,
        )
    if managed.unmanaged:
        return
    if snapshot is not None and snapshot.find(host) is None:
        reason = 'has devices, and no resource provider in the snapshot'
        yield make_contradiction(host, reason, devices[0].path)
        return
    for name, provider in managed.providers.items():
        yield from _build_provider_additions(host, name, provider, snapshot)


def _build_provider_additions(
    host: str, name: str, provider: _NewProvider, snapshot: Snapshot | None
) -> Iterator[AdditionEntry | Finding]:
    """Yield the addition of a provider; if Placement has the provider, the differences.

    :param host: the name of the host
    :param name: of the provider
    :param snapshot: shows what Placement has; ``None``: it is not known
    """
    state = snapshot.find(name) if snapshot is not None else None
    if snapshot is not None and state is not None and state.inventories:
        yield from _find_differences(snapshot, state, provider)
        return
    root = snapshot.find(host) if snapshot is not None else None
    consumers, gone = _count_devices_by_instance(provider, snapshot, root.uuid if root else None)
    yield from (*gone, *_report_device_to_reserve(name, provider))
    yield _make_addition(host, name, provider, consumers)


def _count_devices_by_instance(
    provider: _NewProvider, snapshot: Snapshot | None, root_uuid: str | None
) -> tuple[dict[str, int], list[Finding]]:
    """Return the number of devices of each instance, and findings about those without allocations.

    :param snapshot: ``None``: all instances count as having allocations
    :param root_uuid: of the host; ``None`` if it has no provider
    """
    counts = Counter(device.instance_uuid for device in provider.devices if device.instance_uuid)
    # The first device of each instance.
    devices = {device.instance_uuid: device for device in reversed(provider.devices)}
    gone = []
    for uuid in sorted(counts):
        consumer = snapshot.consumers.get(uuid) if snapshot is not None else None
        if snapshot is not None and (consumer is None or root_uuid not in consumer.allocations):
            device = devices[uuid]
            reason = (
                f'has {device.address} of {device.host}, and holds nothing there in Placement: '
                'under migration or resized on its host'
            )
            gone.append(make_contradiction(uuid, reason, device.path))
            del counts[uuid]
    return dict(sorted(counts.items())), gone


def _find_differences(
    snapshot: Snapshot, state: ProviderState, provider: _NewProvider
) -> Iterator[Finding]:
    """Yield the differences between a provider that Placement has and the rows of its devices.

    :param state: the provider that Placement has
    :param provider: the one of the rows
    """
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
            devices = format_count(listed[uuid], 'listed device')
            reason = f'holds {held.get(uuid, 0)} {name} on {state.name}, and has {devices} there'
            yield make_contradiction(uuid, reason, path)


def _report_device_to_reserve(provider_name: str, provider: _NewProvider) -> Iterator[Finding]:
    """Yield a finding if a one-time-use device is in use: the operator has to reserve it."""
    # The service grants no allocation on reserved inventory: this comes after the allocations.
    device = provider.devices[0]
    if provider.is_one_time and device.instance_uuid:
        reason = (
            'is for one use and in use: after "reshape apply", reserve it with "placement '
            'resource provider inventory set --amend --resource '
            f'{provider.resource_class}:reserved=1"'
        )
        yield make_contradiction(provider_name, reason, device.path)


def _make_addition(
    host: str, name: str, provider: _NewProvider, consumers: Mapping[str, int]
) -> AdditionEntry:
    """Return the addition of a provider, with the number of devices of each instance.

    :param name: of the provider
    :param consumers: the number of devices of each instance, by its UUID
    """
    total = len(provider.devices)
    traits = {*provider.traits, OWNER_NOVA}
    if provider.is_one_time:
        traits.add(ONE_TIME_USE)
    entry: AdditionEntry = {
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
