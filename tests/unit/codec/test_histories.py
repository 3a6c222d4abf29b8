"""Snapshots of a history as bytes: differences, headers and blocks."""

from __future__ import annotations

import zlib
from dataclasses import replace
from random import Random

import msgspec
import pytest

from placementclient.client import errors
from placementclient.codec import histories
from placementclient.model.consumers import Consumer
from placementclient.model.origin import Origin
from placementclient.model.snapshots import Snapshot
from tests import snapshot_pairs
from tests.unit.insight.clouds import cloud, consumer, provider

ORIGIN = Origin('2026-01-01T00:00:00+00:00', 'http://127.0.0.1', 'tests')


def test_a_difference_leads_from_one_snapshot_to_the_other() -> None:
    for seed in range(300):
        before, after = map(histories.records, snapshot_pairs.pair(Random(seed)))
        changes = histories.difference(before, after)
        assert set(changes) == {
            key for key in before | after if before.get(key) != after.get(key)
        }, seed
        histories.apply(before, changes, 'file')
        assert before == after, seed


def test_a_difference_has_only_the_fields_that_differ() -> None:
    before = cloud([provider('host', VCPU=8, DISK_GB=9)], [consumer('s', host={'VCPU': 2})])
    after = cloud([provider('host', VCPU=8)], [consumer('s', host={'VCPU': 3})])
    changes = histories.difference(histories.records(before), histories.records(after))
    assert {key: msgspec.json.decode(value) for key, value in changes.items()} == {
        'provider host': {'inventories': {'DISK_GB': None}, 'usages': {'VCPU': 3}},
        'consumer s': {'allocations': {'host': {'VCPU': 3}}},
    }


@pytest.mark.parametrize('field', ['project_id', 'user_id', 'generation', 'type'])
def test_a_field_may_become_unknown_and_known_again(field: str) -> None:
    known = Consumer('s', {'host': {'VCPU': 1}}, 'project', 'user', 3, 'INSTANCE')
    unknown = replace(known, **{field: None})
    for one, other in ((known, unknown), (unknown, known)):
        found = histories.records(Snapshot((), [one]))
        wanted = histories.records(Snapshot((), [other]))
        histories.apply(found, histories.difference(found, wanted), 'file')
        assert found == wanted
        assert histories.snapshot(found, None, '').consumers == {'s': other}


def test_a_file_is_read_as_it_was_written() -> None:
    snapshot = snapshot_pairs.snapshot(Random(1))
    records = histories.records(snapshot)
    written = histories.encode(records, snapshot, ORIGIN, {'VCPU': (9, 4)}, 'sha256:0')
    line, *blocks = written
    header = histories.decode_header(line, 'file')
    assert (header.origin, header.after) == (ORIGIN, 'sha256:0')
    assert header.totals == {'VCPU': (9, 4)}
    assert (header.providers, header.consumers) == (
        len(snapshot.providers),
        len(snapshot.consumers),
    )
    assert [size for _, size in histories.offsets(header).values()] == list(map(len, blocks))
    assert histories.decode_blocks(blocks, None, 'file') == records
    read = histories.snapshot(records, ORIGIN, 'file')
    assert (read.providers, read.consumers) == (snapshot.providers, snapshot.consumers)


def test_a_block_is_read_for_some_keys() -> None:
    snapshot = snapshot_pairs.snapshot(Random(1))
    records = histories.records(snapshot)
    _, *blocks = histories.encode(records, snapshot, ORIGIN, {}, None)
    key = histories.provider_key(next(iter(snapshot.providers)))
    assert histories.decode_blocks(blocks, {key}, 'file') == {key: records[key]}


def test_every_bit_of_a_header_counts() -> None:
    snapshot = snapshot_pairs.snapshot(Random(1))
    line = next(histories.encode({}, snapshot, ORIGIN, {'VCPU': (9, 4)}, None))
    for offset in range(len(line)):
        for bit in range(8):
            damaged = bytearray(line)
            damaged[offset] ^= 1 << bit
            with pytest.raises(errors.BadFile, match='damaged'):
                histories.decode_header(bytes(damaged), 'file')


@pytest.mark.parametrize('change', [(b'"version":1', b'"version":2'), (b'history', b'journal')])
def test_another_format_is_told(change: tuple[bytes, bytes]) -> None:
    line = next(histories.encode({}, Snapshot((), ()), ORIGIN, {}, None))
    content = line.rpartition(b',"crc32"')[0].replace(*change)
    with pytest.raises(errors.BadFile, match='version that is known'):
        histories.decode_header(content + b',"crc32":"%08x"}\n' % zlib.crc32(content), 'file')


def test_a_block_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, '_LARGEST', 100)
    with pytest.raises(errors.BadFile, match='damaged'):
        histories.decode_blocks([zlib.compress(b'{' + b' ' * 1000 + b'}', wbits=31)], None, 'file')


@pytest.mark.parametrize('sizes', [b'{"1":-9,"2":9}', b'{"1":1.5}', b'[]'])
def test_sizes_that_none_can_have_are_refused(sizes: bytes) -> None:
    line = next(histories.encode({}, Snapshot((), ()), ORIGIN, {}, None))
    content = line.rpartition(b',"crc32"')[0].replace(b'"blocks":{}', b'"blocks":' + sizes)
    with pytest.raises(errors.BadFile, match='version that is known'):
        histories.decode_header(content + b',"crc32":"%08x"}\n' % zlib.crc32(content), 'file')
