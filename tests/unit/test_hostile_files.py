"""Files that are damaged, mean harm, or are something else: one sentence with the name, always."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from placementclient import errors, files
from placementclient.reshape import journal
from tests.unit.codec.test_plans import BEFORE, SPEC

SERVER = '3c1b6b0e-2f0f-4f39-a8a9-6e0c1f2f3a10'
ROW = {'consumer_uuid': SERVER, 'resource_class': 'VGPU', 'amount': 1, 'to_provider': 'gpu'}
ROWS = (
    'consumer_uuid,resource_class,amount,to_provider,evidence\n'
    f'{SERVER},VGPU,1,gpu,"looked, it up"\n'
)
YAML = """
trees: {class: [VGPU]}
providers:
- &gpu {name: "{root}_gpu", traits: [CUSTOM_A40], inventories: {VGPU: {total: 4}}}
moves:
- from_resource_provider: "{root}"
  to_resource_provider: "{root}_gpu"
  moved_resources: {VGPU: all}
"""
PLAN = files.read_plan(str(BEFORE / 'plan.json'))


def read_journal(path: str) -> Any:
    return journal.read(path, PLAN)


Reader = Callable[[str], Any]
GOOD: dict[str, tuple[Reader, list[bytes]]] = {
    'snapshot': (files.read_snapshot, [(BEFORE / 'cloud.json').read_bytes()]),
    'plan': (files.read_plan, [(BEFORE / 'plan.json').read_bytes()]),
    'journal': (read_journal, [(BEFORE / 'plan.json.journal').read_bytes()]),
    'specification': (files.read_spec, [YAML.encode(), json.dumps(SPEC).encode()]),
    'assignments': (files.read_assignments, [ROWS.encode(), json.dumps([ROW]).encode()]),
    'document': (files.read_document, [YAML.encode(), json.dumps(SPEC).encode()]),
}
READERS = {name: reader for name, (reader, _) in GOOD.items()}


def read_or_refuse(reader: Reader, path: Path, content: bytes) -> None:
    """A value, or a refusal that says the file's name on one line."""
    path.write_bytes(content)
    try:
        reader(str(path))
    except errors.BadFile as refusal:
        for fault in refusal.faults:
            assert fault.path == str(path)
            assert len(str(fault).splitlines()) == 1
            assert len(str(fault)) < 1000


@pytest.mark.parametrize('kind', GOOD)
def test_good_ones_are_read(kind: str, tmp_path: Path) -> None:
    reader, contents = GOOD[kind]
    for content in contents:
        (tmp_path / 'file').write_bytes(content)
        reader(str(tmp_path / 'file'))


@pytest.mark.parametrize('kind', GOOD)
def test_truncated_at_each_byte(kind: str, tmp_path: Path) -> None:
    reader, contents = GOOD[kind]
    for content in contents:
        for length in range(0, len(content), max(1, len(content) // 300)):
            read_or_refuse(reader, tmp_path / 'file', content[:length])


@pytest.mark.parametrize('kind', GOOD)
def test_a_bit_flipped(kind: str, tmp_path: Path) -> None:
    reader, contents = GOOD[kind]
    for content in contents:
        for offset in range(0, len(content), max(1, len(content) // 40)):
            for bit in (0, 2, 5, 7):
                flipped = bytearray(content)
                flipped[offset] ^= 1 << bit
                read_or_refuse(reader, tmp_path / 'file', bytes(flipped))


CONTENTS = st.binary(max_size=60) | st.text(max_size=60).map(str.encode)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(['\x1b[2J', 'a\nb', '{root}', 'VGPU', '9' * 5000, -(10**30), 1e308]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def replaced(value: Any, draw: st.DrawFn, new: Any) -> Any:
    """A document in which something, somewhere, is something else."""
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        what = draw(st.sampled_from(['inside', 'inside', 'inside', 'value', 'key', 'gone']))
        rest = {name: item for name, item in value.items() if name != key}
        if what == 'gone':
            return rest
        if what == 'key':
            return {**rest, str(new)[:20]: value[key]}
        return {**value, key: new if what == 'value' else replaced(value[key], draw, new)}
    if isinstance(value, list) and value:
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], replaced(value[index], draw, new), *value[index + 1 :]]
    return new


@st.composite
def mangled(draw: st.DrawFn) -> tuple[str, bytes]:
    kind = draw(st.sampled_from(['snapshot', 'plan', 'specification', 'document', 'journal']))
    content = GOOD[kind][1][-1]
    lines = content.splitlines() if kind == 'journal' else [content]
    index = draw(st.integers(0, len(lines) - 1))
    value = replaced(json.loads(lines[index]), draw, draw(VALUES))
    lines[index] = json.dumps(value).encode()
    return kind, b'\n'.join(lines) + b'\n'


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(mangled())
def test_something_is_something_else(tmp_path: Path, file: tuple[str, bytes]) -> None:
    kind, content = file
    read_or_refuse(READERS[kind], tmp_path / 'file', content)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(sorted(READERS)), st.binary(max_size=60) | st.text(max_size=60).map(str.encode)
)
@example('assignments', b'consumer_uuid,resource_class,amount,to_provider\n\xff')
@example('specification', b"!!int ''")
@example('specification', b'!!timestamp x')
@example('specification', b'!!bool x')
@example('specification', b'? {a: 1}\n: 2')
@example('document', b'[' * 100_000)
@example('document', b'{"a":' * 70 + b'1' + b'}' * 70)
@example('document', b'[1, NaN]')
@example('document', b'&a [*a]')
@example('specification', b'[' * 100_000)
@example('specification', b'&a [*a]')
def test_anything(tmp_path: Path, kind: str, content: bytes) -> None:
    read_or_refuse(READERS[kind], tmp_path / 'file', content)


def bomb(levels: int = 30) -> str:
    lines = ['a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]']
    lines += [f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 9)}]' for n in range(1, levels)]
    return '\n'.join(lines)


MERGED = '\n'.join(
    ['a0: &a0 {x0: 1}']
    + [f'a{n}: &a{n} {{x{n}: 1, <<: [{", ".join([f"*a{n - 1}"] * 9)}]}}' for n in range(1, 30)]
)
LARGE = {
    'aliases': bomb(),
    'aliases as a value': bomb() + '\nmoves:\n- from_resource_provider: *a29',
    'merged': MERGED,
    'one long text, often': f'a: &a {"x" * 100_000}\nb: [{", ".join(["*a"] * 10_000)}]',
}


@pytest.mark.parametrize('text', LARGE.values(), ids=LARGE)
@pytest.mark.parametrize('kind', ['specification', 'document'])
def test_small_in_the_file_and_large_in_memory(kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / 'file').write_text(text)
    with pytest.raises(errors.BadFile, match=r'file:\d+: too large'):
        READERS[kind](str(tmp_path / 'file'))


@pytest.mark.parametrize('kind', sorted(READERS.keys() - {'journal'}))
def test_spaces_in_a_small_archive(kind: str, tmp_path: Path) -> None:
    path = tmp_path / 'file.gz'
    with gzip.open(path, 'wb') as stream:
        for _ in range(200):
            stream.write(b' ' * (1 << 20))
    tracemalloc.start()
    with pytest.raises(errors.BadFile, match=r'larger than 32 MiB|compressed as no file'):
        READERS[kind](str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20
