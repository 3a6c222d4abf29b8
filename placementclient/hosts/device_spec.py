# SPDX-License-Identifier: Apache-2.0
"""The PCI devices that Nova manages: ``[pci] device_spec``, with Nova's rules of matching."""

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from placementclient.basis import errors, strict_json
from placementclient.hosts.devices import PF, Device
from placementclient.nova import configuration
from placementclient.nova.features import is_true

#: The section and the name of the option, and its deprecated ones.
OPTIONS = (
    ('pci', 'device_spec'),
    ('pci', 'passthrough_whitelist'),
    ('DEFAULT', 'pci_passthrough_whitelist'),
)
ANY = '*'
#: The parts of an address and the largest value and the width of each, in hexadecimal digits.
_PARTS = {'domain': (0xFFFF, 4), 'bus': (0xFF, 2), 'slot': (0x1F, 2), 'function': (0x7, 1)}
#: How many entries a file may have.
_MOST_ENTRIES = 1_000
_CONTENT = re.compile(r'\S')

#: The parts of an address such as ``0000:81:00.0``, in small letters.
Address = tuple[str, ...]
_Value = str | int | float | bool | None
_SpecFields = dict[str, _Value | dict[str, str]]


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One entry of ``device_spec``; an ID may be ``*``.

    :param parts: a pattern for each part of an address; as in Nova, it need not match the end
    :param address: the only address that matches; empty if several may
    :param tags: the other fields of the entry
    """

    vendor_id: str
    product_id: str
    parts: tuple[re.Pattern[str], ...]
    address: Address = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def matches(self, device: Device, physical: Collection[Address]) -> bool:
        """Return whether the entry matches a device.

        :param physical: the addresses of the physical functions of the host; an entry with one of
            them matches its virtual functions, too
        """
        ids = (self.vendor_id, device.vendor_id), (self.product_id, device.product_id)
        if any(required not in (ANY, actual) for required, actual in ids):
            return False
        addresses = [device.address]
        if device.parent and self.address in physical:
            addresses.append(device.parent)
        return any(
            all(
                pattern.match(part)
                for pattern, part in zip(self.parts, split_address(address), strict=True)
            )
            for address in addresses
        )

    def has_true_tag(self, tag: str) -> bool:
        """Return whether a tag is there, and Nova takes its value for true."""
        return is_true(self.tags.get(tag, ''))


def split_address(address: str) -> Address:
    """Return the domain (its last four digits), bus, slot and function of a PCI address."""
    return tuple(re.split('[:.]', address.lower()[-12:]))


def find_physical_functions(devices: Sequence[Device]) -> set[Address]:
    """Return the addresses of devices that are listed as physical, or are parents of others."""
    listed = {split_address(device.address) for device in devices if device.type == PF}
    return listed | {split_address(device.parent) for device in devices if device.parent}


def find_device_spec(
    specs: Sequence[DeviceSpec], device: Device, physical: Collection[Address]
) -> DeviceSpec | None:
    """Return the first entry that matches a device, or ``None``.

    :param physical: the addresses of the physical functions of the host
    """
    return next((spec for spec in specs if spec.matches(device, physical)), None)


def parse_device_specs(text: str, path: str) -> list[DeviceSpec]:
    """Return the entries of a ``nova.conf``, or of a file of JSON objects.

    :raises errors.BadFile: for what Nova refuses, and for ``devname``, whose address only the
        host knows, with the line; and for a file without an entry
    """
    specs: list[DeviceSpec] = []
    for entry, line in _find_option_values(text, path):
        specs += _parse_option_value(entry, path, line)
        if len(specs) > _MOST_ENTRIES:
            raise errors.BadFile(path, f'has more than {_MOST_ENTRIES} entries', line)
    if not specs:
        raise errors.BadFile(path, 'has no entry of [pci] device_spec: Nova manages no device')
    return specs


def _find_option_values(text: str, path: str) -> Iterator[tuple[str, int]]:
    """Yield the values of ``device_spec``, which may be repeated, each with its line."""
    text = text.lstrip('\ufeff')
    first_line = text.lstrip().partition('\n')[0]
    if first_line[:1] in ('{', '[') and not re.match(r'\[\w+\]\s*$', first_line):
        yield from _split_json_values(text, path)
        return
    for option in configuration.find_option_settings(text, path, OPTIONS):
        if option.value:
            yield option.value, option.line


def _split_json_values(text: str, path: str) -> Iterator[tuple[str, int]]:
    """Yield the JSON values of a text, one after another, each with its line."""
    decoder, end, line = json.JSONDecoder(), 0, 1
    while content := _CONTENT.search(text, end):
        begin = content.start()
        line += text.count('\n', end, begin)
        try:
            _, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            raise errors.BadFile(path, 'not JSON', line) from None
        yield text[begin:end], line
        line += text.count('\n', begin, end)


def _parse_option_value(entry: str, path: str, line: int) -> list[DeviceSpec]:
    """Return the entries of one value of the option: one JSON object, or a list of them."""
    try:
        value: _SpecFields | list[_SpecFields] = strict_json.decode_json(
            entry.encode(), _SpecFields | list[_SpecFields]
        )
    except (strict_json.InvalidJSON, UnicodeError) as reason:
        raise errors.BadFile(path, f'not an entry, nor a list: {reason}', line) from None
    try:
        return [
            _make_device_spec(record) for record in (value if isinstance(value, list) else [value])
        ]
    except ValueError as reason:
        raise errors.BadFile(path, str(reason), line) from None


def _make_device_spec(record: _SpecFields) -> DeviceSpec:
    """Return an entry, or raise :class:`ValueError` for one that Nova refuses."""
    if 'devname' in record:
        raise ValueError('devname: only the host knows the address of it; give the address')
    value = record.get('address') or ''
    address: Address = ()
    if isinstance(value, dict):
        texts = [value.get(name, '.*') for name in _PARTS]
    elif isinstance(value, str):
        parts = _parse_address_pattern(value)
        address = parts if ANY not in parts else ()
        texts = [part.replace(ANY, '.*') for part in parts]
    else:
        raise ValueError(f'{value!r} is not an address')
    for name, tag in record.items():
        if name != 'address' and isinstance(tag, dict):
            raise ValueError(f'{name} is an object: a text is expected')
    fields = ('vendor_id', 'product_id', 'address')
    return DeviceSpec(
        _parse_id(str(record.get('vendor_id', ANY)), 0xFFFF, 4, 'vendor_id'),
        _parse_id(str(record.get('product_id', ANY)), 0xFFFF, 4, 'product_id'),
        tuple(map(_compile_pattern, texts)),
        address,
        # An empty tag, null and false count as none.
        {name: str(tag or '') for name, tag in record.items() if name not in fields},
    )


def _parse_id(text: str, largest: int, width: int, name: str) -> str:
    """Return a hexadecimal number with leading zeros, or ``*``.

    :param largest: the largest allowed number
    :param width: the number of digits of the result
    :param name: what the number is, for the error
    :raises ValueError: for anything else
    """
    if text.strip() == ANY:
        return ANY
    with contextlib.suppress(ValueError):
        if 0 <= (value := int(text, 16)) <= largest:
            return f'{value:0{width}x}'
    raise ValueError(f'{name} {text[:40]!r} is not from 0 to {largest:x}')


def _parse_address_pattern(text: str) -> Address:
    """Return the parts of a PCI address with ``*``; a part that is missing in front is ``*``."""
    front, _, function = text.partition('.')
    fields = front.split(':') if front else []
    if len(fields) > 3:
        raise ValueError(f'{text[:40]!r} is not an address')
    texts = [*[ANY] * (3 - len(fields)), *fields, function]
    return tuple(
        _parse_id(part.strip() or ANY, *_PARTS[name], name)
        for name, part in zip(_PARTS, texts, strict=True)
    )


def _compile_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression for a part of an address.

    :raises ValueError: if the text is no regular expression
    """
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        raise ValueError(f'{text[:40]!r} is no regular expression') from None
