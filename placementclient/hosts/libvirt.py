"""What virsh and mdevctl print, read: domains, node devices, capabilities, mediated devices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element

from placementclient import errors
from placementclient.hosts.facts import Domain, MediatedDevice
from placementclient.model.providers import is_uuid

#: Before libvirt 7.3 only the name says the UUID; from 7.7 on the parent's address comes after it.
_NAME = re.compile(r'mdev_([0-9a-f]{8}(?:[_-][0-9a-f]{4}){3}[_-][0-9a-f]{12})(?:_.*)?')
_HOSTNAME = re.compile(r'[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?')
#: A host has no CPU and no cell beyond this; ``0-4294967295`` is not to be written out.
_MOST = 65_536


def hostname(content: bytes, path: str) -> str:
    """What ``virsh hostname`` printed.

    :raises errors.BadFile: if it is no name
    """
    name = content.decode('utf-8', 'replace').strip()
    if len(name) > 200 or not _HOSTNAME.fullmatch(name):
        raise errors.BadFile(path, 'is not the name of a host')
    return name


def domain(content: bytes, path: str) -> Domain:
    """What ``virsh dumpxml`` printed.

    :raises errors.BadFile: if it is no domain
    """
    root = _parsed(content, path, 'domain')
    devices = root.findall("devices/hostdev[@mode='subsystem'][@type='mdev']/source/address")
    memory = root.find('numatune/memory')
    # Without a binding of the whole, that of each guest cell.
    bound = [memory] if memory is not None else root.findall('numatune/memnode')
    pins = root.findall('cputune/vcpupin')
    return Domain(
        _uuid(root.findtext('uuid'), path),
        path,
        tuple(_uuid(device.get('uuid'), path) for device in devices),
        frozenset().union(*(numbers(each.get('nodeset', ''), path) for each in bound)),
        frozenset().union(*(numbers(each.get('cpuset', ''), path) for each in pins)),
    )


def mediated_device(content: bytes, path: str) -> MediatedDevice | None:
    """What ``virsh nodedev-dumpxml`` printed; ``None`` if it is another kind of device.

    :raises errors.BadFile: if it is no node device
    """
    root = _parsed(content, path, 'device')
    capability = root.find("capability[@type='mdev']")
    if capability is None:
        return None
    said = capability.findtext('uuid')
    if said is None:
        match = _NAME.fullmatch((root.findtext('name') or '').strip())
        said = match[1].replace('_', '-') if match else None
    kind = capability.find('type')
    return MediatedDevice(
        _uuid(said, path),
        (root.findtext('parent') or '').strip(),
        kind.get('id', '') if kind is not None else '',
        path,
    )


def mdevctl(content: bytes, path: str) -> Iterator[MediatedDevice]:
    """What ``mdevctl list --dumpjson`` printed: devices by the address of their parent.

    :raises errors.BadFile: if it is something else
    """
    try:
        document = json.loads(content or b'[]')
        for parents in document:
            for address, devices in parents.items():
                for device in devices:
                    for uuid, facts in device.items():
                        kind = facts.get('mdev_type', '')
                        parent = f'pci_{re.sub("[:.]", "_", address)}'
                        yield MediatedDevice(_uuid(uuid, path), parent, str(kind), path)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise errors.BadFile(path, 'not what mdevctl list --dumpjson prints') from None


def cells(content: bytes, path: str) -> dict[int, int]:
    """The NUMA cell of each CPU, of what ``virsh capabilities`` printed.

    :raises errors.BadFile: if it is something else
    """
    root = _parsed(content, path, 'capabilities')
    found: dict[int, int] = {}
    try:
        for cell in root.findall('host/topology/cells/cell'):
            for cpu in cell.findall('cpus/cpu'):
                found[int(cpu.attrib['id'])] = int(cell.attrib['id'])
    except (KeyError, ValueError):
        raise errors.BadFile(path, 'has a cell or a CPU without its number') from None
    return found


def numbers(text: str, path: str) -> frozenset[int]:
    """A set of numbers as libvirt writes it: ``0-3,8,^2``.

    :raises errors.BadFile: if it is something else
    """
    chosen: set[int] = set()
    try:
        for part in filter(None, (part.strip() for part in text.split(','))):
            first, _, last = part.removeprefix('^').partition('-')
            low, high = int(first), int(last or first)
            if not 0 <= low <= high < _MOST:
                raise ValueError
            span = range(low, high + 1)
            chosen = chosen.difference(span) if part[0] == '^' else chosen.union(span)
    except ValueError:
        raise errors.BadFile(path, f'{text[:80]!r} is no set of numbers') from None
    return frozenset(chosen)


def _parsed(content: bytes, path: str, tag: str) -> Element:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        # Neither entities nor anything from elsewhere, which is what a bomb is made of.
        root: Any = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise errors.BadFile(path, 'declares entities or a document type: not read') from None
    except (SyntaxError, ValueError, RecursionError) as reason:
        line = getattr(reason, 'position', (None,))[0]
        raise errors.BadFile(path, 'not XML, or not complete', line) from None
    if root.tag != tag:
        raise errors.BadFile(path, f'not a <{tag}>')
    return root  # type: ignore[no-any-return]


def _uuid(text: str | None, path: str) -> str:
    uuid = (text or '').strip().lower()
    if not is_uuid(uuid):
        raise errors.BadFile(path, 'has no UUID where there has to be one')
    return uuid
