# SPDX-License-Identifier: Apache-2.0
"""The facts of one host, from the output of virsh and mdevctl.

A parser takes the content of a file and its path, and raises :class:`errors.BadFile` for other
content.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import msgspec

from placementclient.basis import errors, strict_json
from placementclient.hosts import markup
from placementclient.model.providers import is_uuid, normalize_uuid
from placementclient.nova.cpus import parse_number_bits

#: Before libvirt 7.3 only the name has the UUID; from 7.7 on the parent's address follows it.
_NAME = re.compile(r'mdev_([0-9a-f]{8}(?:[_-][0-9a-f]{4}){3}[_-][0-9a-f]{12})(?:_.*)?')
_PARENT = re.compile(r'[A-Za-z0-9_.-]+')
_HOSTNAME = re.compile(r'[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?')
#: A host has no CPU and no cell beyond this; ``0-4294967295`` is not to be written out.
_MOST_NUMBERS = 8_192


@dataclass(frozen=True, slots=True)
class Domain:
    """A server, as libvirt defines it.

    :param mdevs: the UUIDs of the mediated devices that are attached to it
    :param functions: the addresses of the PCI devices that are attached to it
    :param nodeset: the NUMA cells that its memory is bound to; empty if it is not bound
    :param cpus: the host's CPUs that its virtual CPUs are pinned to
    """

    uuid: str
    path: str
    mdevs: tuple[str, ...] = ()
    nodeset: frozenset[int] = frozenset()
    cpus: frozenset[int] = frozenset()
    functions: tuple[str, ...] = ()
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class MediatedDevice:
    """A mediated device, as one file describes it.

    :param parent: the name of the node device that it is made on: ``pci_0000_84_00_0``
    :param type: such as ``nvidia-699``; empty if the file does not say it
    :param is_active: whether the host has the device now; else it is defined for the next start
    """

    uuid: str
    parent: str
    type: str
    path: str
    is_active: bool = True


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts of one host.

    :param hostname: the hypervisor's name, as the host's resource provider has it
    :param mdevs: the descriptions of each mediated device, by UUID: files may contradict each other
    :param cells: the NUMA cell of each CPU, by the CPU's number
    :param parents: the names of the devices that can have mediated devices; ``None`` if the
        collector did not ask for them
    """

    hostname: str
    path: str
    domains: tuple[Domain, ...] = ()
    mdevs: Mapping[str, tuple[MediatedDevice, ...]] = field(default_factory=dict)
    cells: Mapping[int, int] = field(default_factory=dict)
    parents: frozenset[str] | None = None

    def may_have_device(self, name: str) -> bool:
        """Return False only if the host is known to lack a device."""
        return self.parents is None or name in self.parents


class _MdevRecord(msgspec.Struct):
    """The fields of a mediated device in the output of ``mdevctl list``."""

    mdev_type: str = ''


_MDEVCTL = list[dict[str, list[dict[str, _MdevRecord]]]]


def parse_hostname(content: bytes, path: str) -> str:
    """Return the name of a host: the output of ``virsh hostname``."""
    name = content.decode('utf-8', 'replace').strip()
    if len(name) > 200 or not _HOSTNAME.fullmatch(name):
        raise errors.BadFile(path, 'is not the name of a host')
    return name


def parse_domain(content: bytes, path: str) -> Domain:
    """Return a server: the output of ``virsh dumpxml``."""
    root = _parse_root(content, path, 'domain')
    hostdevs = "devices/hostdev[@mode='subsystem'][@type='{}']/source/address"
    devices = root.findall(hostdevs.format('mdev'))
    memory = root.find('numatune/memory')
    # Without a binding of the whole, that of each guest cell.
    bound = [memory] if memory is not None else root.findall('numatune/memnode')
    pins = root.findall('cputune/vcpupin')
    return Domain(
        _parse_uuid(root.findtext('uuid'), path),
        path,
        tuple(_parse_uuid(device.get('uuid'), path) for device in devices),
        _parse_number_sets(bound, 'nodeset', path),
        _parse_number_sets(pins, 'cpuset', path),
        tuple(
            _parse_pci_address(function, path) for function in root.findall(hostdevs.format('pci'))
        ),
        'id' in root.attrib,
    )


def parse_mediated_device(content: bytes, path: str) -> MediatedDevice | None:
    """Return a mediated device of ``virsh nodedev-dumpxml``; ``None`` for other kinds of device."""
    root = _parse_root(content, path, 'device')
    capability = root.find("capability[@type='mdev']")
    if capability is None:
        return None
    message = capability.findtext('uuid')
    if message is None:
        match = _NAME.fullmatch((root.findtext('name') or '').strip())
        message = match[1].replace('_', '-') if match else None
    kind = capability.find('type')
    return MediatedDevice(
        _parse_uuid(message, path),
        (root.findtext('parent') or '').strip(),
        kind.get('id', '') if kind is not None else '',
        path,
    )


def parse_mdevctl_list(
    content: bytes, path: str, *, is_active: bool = True
) -> Iterator[MediatedDevice]:
    """Yield the mediated devices in the output of ``mdevctl list --dumpjson``.

    :param is_active: whether these are the devices that the host has now
    """
    try:
        document = strict_json.decode_json(content or b'[]', _MDEVCTL)
    except strict_json.InvalidJSON as reason:
        raise errors.BadFile(path, f'not what mdevctl list --dumpjson prints: {reason}') from None
    for parents in document:
        for address, devices in parents.items():
            parent = f'pci_{re.sub("[:.]", "_", address)}'
            for device in devices:
                for uuid, facts in device.items():
                    mdev_type = facts.mdev_type
                    yield MediatedDevice(
                        _parse_uuid(uuid, path), parent, mdev_type, path, is_active
                    )


def parse_mdev_parents(content: bytes, path: str) -> frozenset[str]:
    """Return the names of a host's devices on which mediated devices can be made.

    :param content: the output of ``virsh nodedev-list --cap mdev_types``
    """
    names = content.decode('utf-8', 'replace').split()
    if not all(map(_PARENT.fullmatch, names)):
        raise errors.BadFile(path, 'has a line that is no name of a node device')
    return frozenset(names)


def parse_numa_cells(content: bytes, path: str) -> dict[int, int]:
    """Return the NUMA cell of each CPU from the output of ``virsh capabilities``."""
    root = _parse_root(content, path, 'capabilities')
    try:
        return {
            int(cpu.attrib['id']): int(cell.attrib['id'])
            for cell in root.findall('host/topology/cells/cell')
            for cpu in cell.findall('cpus/cpu')
        }
    except (KeyError, ValueError):
        raise errors.BadFile(path, 'has a cell or a CPU without its number') from None


def _parse_number_sets(elements: Iterable[Element], attribute: str, path: str) -> frozenset[int]:
    """Return all numbers of an attribute that has sets in libvirt's syntax: ``0-3,8,^2``."""
    # As bits, because a few bytes of text may name many numbers.
    every = 0
    for element in elements:
        text = element.get(attribute, '')
        try:
            every |= parse_number_bits(text, _MOST_NUMBERS)
        except ValueError:
            raise errors.BadFile(path, f'{text[:80]!r} is no set of numbers') from None
    return frozenset(number for number in range(every.bit_length()) if every >> number & 1)


def _parse_pci_address(element: Element, path: str) -> str:
    """Return the address of a PCI device: ``0000:84:00.4``."""
    try:
        domain, bus, slot, function = (
            int(element.attrib[name], 16) for name in ('domain', 'bus', 'slot', 'function')
        )
    except (KeyError, ValueError):
        raise errors.BadFile(path, 'has a PCI device without its address') from None
    return f'{domain:04x}:{bus:02x}:{slot:02x}.{function:x}'


def _parse_root(content: bytes, path: str, tag: str) -> Element:
    """Return the root element of a document; refuse one with another tag."""
    root = markup.parse_xml(content, path)
    if root.tag != tag:
        raise errors.BadFile(path, f'not a <{tag}>')
    return root


def _parse_uuid(text: str | None, path: str) -> str:
    """Return a UUID with hyphens; refuse a text that is none."""
    uuid = normalize_uuid((text or '').strip())
    if not is_uuid(uuid):
        raise errors.BadFile(path, 'has no UUID where there has to be one')
    return uuid
