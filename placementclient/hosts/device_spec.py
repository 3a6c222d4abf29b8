"""The PCI devices that Nova manages: ``[pci] device_spec``, with Nova's rules of matching."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from placementclient.client import errors
from placementclient.client.strict_json import located
from placementclient.hosts.devices import PF, Device
from placementclient.nova import configuration
from placementclient.nova.wishes import is_true

#: The names of the option, the second one of releases before Zed.
OPTIONS = ('device_spec', 'passthrough_whitelist')
ANY = '*'
#: The parts of an address and the largest value and the width of each, in hexadecimal digits.
_PARTS = {'domain': (0xFFFF, 4), 'bus': (0xFF, 2), 'slot': (0x1F, 2), 'function': (0x7, 1)}
#: How many entries a file may have.
_MOST_ENTRIES = 1_000

_Value = str | int | float | bool | None
_Record = dict[str, _Value | dict[str, str]]
_ENTRY = msgspec.json.Decoder(_Record | list[_Record])


class Address(NamedTuple):
    """An address such as ``0000:81:00.0``, or a pattern for addresses."""

    domain: str
    bus: str
    slot: str
    function: str


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One entry of ``device_spec``; an ID or a part of the address may be ``*``.

    :param is_pattern: whether the parts of the address are regular expressions
    :param tags: whatever else the entry says
    """

    vendor_id: str
    product_id: str
    address: Address
    is_pattern: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)

    def matches(self, device: Device, physical: frozenset[str]) -> bool:
        """Return whether the entry matches a device.

        :param physical: the addresses of the physical functions of the host; an entry that names
            one is about its virtual functions too
        """
        ids = (self.vendor_id, device.vendor_id), (self.product_id, device.product_id)
        if any(required not in (ANY, actual) for required, actual in ids):
            return False
        addresses = [device.address]
        is_single = not self.is_pattern and ANY not in self.address
        if device.parent and is_single and _text(self.address) in physical:
            addresses.append(device.parent)
        return any(self._is_at(split(address)) for address in addresses)

    def _is_at(self, address: Address) -> bool:
        if self.is_pattern:
            # From the start, not to the end: so "0" is any function, and "1" of bus "10" too.
            return all(_begins(part, p) for p, part in zip(self.address, address, strict=True))
        return all(p in (ANY, part) for p, part in zip(self.address, address, strict=True))

    def is_true(self, tag: str) -> bool:
        return is_true(self.tags.get(tag, ''))


@lru_cache(1 << 16)
def _begins(part: str, pattern: str) -> bool:
    """Return whether a part of an address begins as a regular expression says; most parts recur."""
    return re.match(pattern, part) is not None


def split(address: str) -> Address:
    """Return the parts of an address, in small letters and with leading zeros."""
    domain, bus, rest = address.lower().split(':')
    slot, _, function = rest.partition('.')
    return Address(domain[-4:].rjust(4, '0'), bus, slot, function)


def physical_functions(devices: Sequence[Device]) -> frozenset[str]:
    """Return the addresses of physical functions: listed as such, or the parent of a device."""
    listed = {_text(split(device.address)) for device in devices if device.type == PF}
    return frozenset(listed.union(_text(split(d.parent)) for d in devices if d.parent))


def first(
    specs: Sequence[DeviceSpec], device: Device, physical: frozenset[str]
) -> DeviceSpec | None:
    """Return the first entry that matches a device."""
    return next((spec for spec in specs if spec.matches(device, physical)), None)


def parse(text: str, path: str) -> list[DeviceSpec]:
    """Read the entries of a ``nova.conf``, or of a file of JSON objects.

    :raises errors.BadFile: for what Nova refuses, and for ``devname``, whose address only the
        host knows; with the line
    """
    specs: list[DeviceSpec] = []
    for entry, line in _entries(text, path):
        specs += _specs(entry, path, line)
        if len(specs) > _MOST_ENTRIES:
            raise errors.BadFile(path, f'has more than {_MOST_ENTRIES} entries', line)
    return specs


def _entries(text: str, path: str) -> Iterator[tuple[str, int]]:
    """The values of the option, which may be there several times, each with its line."""
    text = text.lstrip('\ufeff')
    first_line = text.lstrip().partition('\n')[0]
    if first_line[:1] in ('{', '[') and not re.match(r'\[\w+\]\s*$', first_line):
        yield from _objects(text, path)
        return
    for option in configuration.options(text, path):
        if option.section == 'pci' and option.name in OPTIONS and option.value:
            yield option.value, option.line


def _objects(text: str, path: str) -> Iterator[tuple[str, int]]:
    """JSON, one value or one after the other."""
    decoder, position, line = json.JSONDecoder(), 0, 1
    while position < len(text):
        if text[position].isspace():
            line += text[position] == '\n'
            position += 1
            continue
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            raise errors.BadFile(path, 'not JSON', line) from None
        yield text[position:end], line
        line += text.count('\n', position, end)
        position = end


def _specs(entry: str, path: str, line: int) -> Iterator[DeviceSpec]:
    try:
        value = _ENTRY.decode(entry)
    except msgspec.ValidationError as reason:
        raise errors.BadFile(
            path, f'not an entry, nor a list: {located(str(reason))}', line
        ) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise errors.BadFile(path, f'not JSON: {entry[:60]}', line) from None
    for record in value if isinstance(value, list) else [value]:
        yield _spec(record, path, line)


def _spec(record: _Record, path: str, line: int) -> DeviceSpec:
    if 'devname' in record:
        raise errors.BadFile(
            path, 'devname: only the host knows the address of it; give the address', line
        )
    address = record.get('address') or '*:*:*.*'
    if isinstance(address, dict):
        parts = Address(*(address.get(name, '.*') for name in _PARTS))
        _check_patterns(parts, path, line)
    elif isinstance(address, str):
        parts = _glob(address, path, line)
    else:
        raise errors.BadFile(path, f'{address!r} is not an address', line)
    known = ('vendor_id', 'product_id', 'address')
    for name, value in record.items():
        if name != 'address' and isinstance(value, dict):
            raise errors.BadFile(path, f'{name} is an object: a text is expected', line)
    return DeviceSpec(
        _id(record, 'vendor_id', path, line),
        _id(record, 'product_id', path, line),
        parts,
        isinstance(address, dict),
        {name: str(value) for name, value in record.items() if name not in known},
    )


def _id(record: Mapping[str, Any], name: str, path: str, line: int) -> str:
    text = str(record.get(name, ANY)).strip()
    return text if text == ANY else _hex(text, 0xFFFF, 4, name, path, line)


def _hex(text: str, largest: int, width: int, name: str, path: str, line: int) -> str:
    try:
        value = int(text, 16)
    except ValueError:
        value = -1
    if not 0 <= value <= largest:
        raise errors.BadFile(path, f'{name} {text[:40]!r} is not from 0 to {largest:x}', line)
    return f'{value:0{width}x}'


def _glob(text: str, path: str, line: int) -> Address:
    """An address of which parts may be ``*``, and the first ones missing."""
    front, _, function = text.partition('.')
    fields = front.split(':') if front else []
    if len(fields) > 3:
        raise errors.BadFile(path, f'{text[:40]!r} is not an address', line)
    texts = [*[ANY] * (3 - len(fields)), *fields, function]
    parts = [
        ANY
        if (given.strip() or ANY) == ANY
        else _hex(given.strip(), *_PARTS[name], name, path, line)
        for name, given in zip(_PARTS, texts, strict=True)
    ]
    return Address(*parts)


def _check_patterns(parts: Address, path: str, line: int) -> None:
    for pattern in parts:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            reason = f'{pattern[:40]!r} is no regular expression'
            raise errors.BadFile(path, reason, line) from None


def _text(address: Address) -> str:
    return f'{address.domain}:{address.bus}:{address.slot}.{address.function}'
