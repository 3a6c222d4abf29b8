"""Snapshots of a history: all of one, or the differences from the one before it.

A file has a line with its header, then compressed blocks. A block has the records whose keys have
the same checksum, so that the records of one consumer can be read without all the others.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from placementclient.client import errors
from placementclient.codec import snapshots
from placementclient.codec.decoding import uncollected
from placementclient.codec.snapshots import ConsumerRecord, ProviderRecord
from placementclient.model.origin import Origin
from placementclient.model.snapshots import Snapshot
from placementclient.model.trees import fault

FORMAT: Final = 'placementclient/history'
VERSION: Final = 1
#: In how many blocks a file is divided: one of 10,000 hosts has about 100 KiB.
_BLOCKS = 256
#: How many bytes a block may have when it is decompressed.
_LARGEST = 1 << 28
#: Blocks end with a CRC-32, as those of gzip do.
_GZIP = 31
DAMAGED = 'damaged or truncated'
_FAULTS = (msgspec.DecodeError, RecursionError, UnicodeError, zlib.error)
_GONE = b'null'
_SEAL = b',"crc32":"'

#: The records of a snapshot as JSON, by their keys.
Records = dict[str, bytes]


class Header(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The first line of a file.

    :param after: the digest of the header of the file from which this one has the differences;
        ``None``: this one has all records
    :param blocks: the sizes of the blocks, in bytes, in their order, by their numbers
    :param totals: the capacity and the usage of all providers together, by resource class
    """

    format: Literal['placementclient/history']
    version: Literal[1]
    origin: Origin
    after: str | None = None
    providers: int
    consumers: int
    totals: Mapping[str, tuple[int, int]]
    blocks: Mapping[int, Annotated[int, msgspec.Meta(ge=0)]]


_ENCODER = msgspec.json.Encoder(order='sorted')
_BLOCK = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PROVIDER = msgspec.json.Decoder(ProviderRecord)
_CONSUMER = msgspec.json.Decoder(ConsumerRecord)
_HEADER = msgspec.json.Decoder(Header)
_VALUE = msgspec.json.Decoder()


def provider_key(uuid: str) -> str:
    """Return the key of a provider."""
    return f'provider {uuid}'


def consumer_key(uuid: str) -> str:
    """Return the key of a consumer."""
    return f'consumer {uuid}'


def name_key(name: str) -> str:
    """Return the key of the UUID of the provider that has a name."""
    return f'name {name}'


@uncollected()
def records(snapshot: Snapshot) -> Records:
    """Return the records of a snapshot."""
    found: Records = {}
    for state in snapshot.providers.values():
        found[provider_key(state.uuid)] = _ENCODER.encode(snapshots.provider_record(state))
        found[name_key(state.name)] = _ENCODER.encode(state.uuid)
    for consumer in snapshot.consumers.values():
        record = snapshots.consumer_record(consumer)
        found[consumer_key(consumer.uuid)] = _ENCODER.encode(record)
    return found


@uncollected()
def snapshot(found: Records, origin: Origin | None, path: str) -> Snapshot:
    """Return the snapshot of records; those of providers that are missing are left out.

    :param path: the file that they were read from, for the error
    :raises errors.BadFile: if they are no snapshot
    """
    providers, consumers = [], []
    try:
        for key, record in found.items():
            kind, _, name = key.partition(' ')
            if kind == 'provider':
                providers.append(snapshots.provider_state(_PROVIDER.decode(record)))
            elif kind == 'consumer':
                consumers.append(snapshots.consumer(name, _CONSUMER.decode(record)))
    except _FAULTS as reason:
        raise errors.BadFile(path, f'{DAMAGED}: {reason}') from None
    return Snapshot(providers, consumers, origin)


def check_whole(found: Snapshot, path: str) -> Snapshot:
    """Return a snapshot that has every provider's parent.

    :raises errors.BadFile: if one is missing
    """
    if reason := fault(state.provider for state in found.providers.values()):
        raise errors.BadFile(path, f'{DAMAGED}: {reason}')
    return found


def text(record: bytes) -> str:
    """Return the text that a record is: the UUID of a name."""
    return str(_VALUE.decode(record))


def difference(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Records:
    """Return what :func:`apply` needs to make the records ``after`` of those ``before``."""
    found = dict.fromkeys(before.keys() - after.keys(), _GONE)
    for key, record in after.items():
        if key not in before:
            found[key] = record
        elif before[key] != record:
            patch = _patch(_VALUE.decode(before[key]), _VALUE.decode(record))
            found[key] = _ENCODER.encode(patch)
    return found


def apply(found: Records, changes: Mapping[str, bytes], path: str) -> None:
    """Make the changes of :func:`difference` in records.

    :param path: the file that they were read from, for the error
    :raises errors.BadFile: if they are no changes; some may be made then
    """
    try:
        _apply(found, changes)
    except _FAULTS as reason:
        raise errors.BadFile(path, f'{DAMAGED}: {reason}') from None


def _apply(found: Records, changes: Mapping[str, bytes]) -> None:
    for key, change in changes.items():
        if change == _GONE:
            found.pop(key, None)
        elif key in found:
            found[key] = _ENCODER.encode(_patched(_VALUE.decode(found[key]), _VALUE.decode(change)))
        else:
            found[key] = change


def _patch(before: Any, after: Any) -> Any:
    """Return the members that differ; ``None`` for those that are gone, if they are in a mapping.

    The members of a record are always there, and those of its mappings are never ``None``.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    found = dict.fromkeys(before.keys() - after.keys())
    for name, value in after.items():
        if name not in before or before[name] != value:
            found[name] = _patch(before.get(name), value)
    return found


def _patched(before: Any, patch: Any, *, is_record: bool = True) -> Any:
    if not isinstance(before, dict) or not isinstance(patch, dict):
        return patch
    found = dict(before)
    for name, value in patch.items():
        if value is None and not is_record:
            found.pop(name, None)
        else:
            found[name] = _patched(before.get(name), value, is_record=False)
    return found


# Files


def encode(
    changes: Mapping[str, bytes],
    snapshot: Snapshot,
    origin: Origin,
    totals: Mapping[str, tuple[int, int]],
    after: str | None,
) -> Iterator[bytes]:
    """Return the content of a file.

    :param changes: the records of the snapshot, or their differences from those of another file
    :param after: the digest of the header of that file
    """
    by_block: dict[int, dict[str, msgspec.Raw]] = {}
    for key, record in changes.items():
        by_block.setdefault(block_of(key), {})[key] = msgspec.Raw(record)
    blocks = {
        number: zlib.compress(_ENCODER.encode(by_block[number]), wbits=_GZIP)
        for number in sorted(by_block)
    }
    header = Header(
        format=FORMAT,
        version=VERSION,
        origin=origin,
        after=after,
        providers=len(snapshot.providers),
        consumers=len(snapshot.consumers),
        totals=totals,
        blocks={number: len(block) for number, block in blocks.items()},
    )
    line = msgspec.json.encode(header).removesuffix(b'}')
    yield b'%b%b%08x"}\n' % (line, _SEAL, zlib.crc32(line))
    yield from blocks.values()


def decode_header(line: bytes, path: str) -> Header:
    """Return the header of a file.

    :param line: the first line of the file
    :raises errors.BadFile: if it is none
    """
    content, _, seal = line.rpartition(_SEAL)
    if seal != b'%08x"}\n' % zlib.crc32(content):
        raise errors.BadFile(path, DAMAGED)
    try:
        return _HEADER.decode(content + b'}')
    except _FAULTS:
        raise errors.BadFile(
            path, 'not a snapshot of a history in a version that is known'
        ) from None


def digest(line: bytes) -> str:
    """Return what identifies a file, and by that all files before it that it needs."""
    return f'sha256:{hashlib.sha256(line).hexdigest()}'


def block_of(key: str) -> int:
    """Return the number of the block that has a record."""
    return zlib.crc32(key.encode()) % _BLOCKS


def offsets(header: Header) -> dict[int, tuple[int, int]]:
    """Return where each block begins after the header, and its size, in bytes; by its number."""
    found, begin = {}, 0
    for number, size in header.blocks.items():
        found[number] = begin, size
        begin += size
    return found


def decode_blocks(blocks: Iterable[bytes], keys: Collection[str] | None, path: str) -> Records:
    """Return the records in blocks.

    :param keys: of the records that are wanted; ``None``: all
    :raises errors.BadFile: if a block is damaged
    """
    found: Records = {}
    for block in blocks:
        inflater = zlib.decompressobj(_GZIP)
        try:
            content = inflater.decompress(block, _LARGEST)
            if not inflater.eof or inflater.unused_data:
                raise errors.BadFile(path, DAMAGED)
            read = _BLOCK.decode(content)
        except _FAULTS:
            raise errors.BadFile(path, DAMAGED) from None
        wanted = read if keys is None else read.keys() & keys
        found |= {key: bytes(read[key]) for key in wanted}
    return found
