# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged, mean harm, or are something else: one sentence with the name, always."""

import gzip
import json
import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placementclient.basis import errors
from placementclient.files import disk, kinds
from tests.fuzzing import HOSTILE, MORE, VALUES, examples, replaced
from tests.good_files import GOOD

READERS = {name: reader for name, (reader, _) in GOOD.items()}


def read_or_refuse(reader, path, content):
    """A value, or a refusal that says the file's name on one line."""
    path.write_bytes(content)
    try:
        reader(str(path))
    except errors.BadFile as refusal:
        for fault in refusal.faults:
            # A file of an archive is named after it.
            assert fault.path.startswith(str(path))
            assert len(str(fault).splitlines()) == 1
            assert len(str(fault)) < 1000


@pytest.mark.parametrize('kind', GOOD)
def test_good_files_are_read(kind, tmp_path):
    reader, contents = GOOD[kind]
    for content in contents:
        (tmp_path / 'file').write_bytes(content)
        reader(str(tmp_path / 'file'))


@pytest.mark.slow
@pytest.mark.parametrize('kind', GOOD)
def test_a_file_truncated_at_any_byte_is_refused_in_words(kind, tmp_path):
    reader, contents = GOOD[kind]
    for content in contents:
        for length in range(0, len(content), max(1, len(content) // (100 * MORE))):
            read_or_refuse(reader, tmp_path / 'file', content[:length])


@pytest.mark.parametrize('kind', GOOD)
def test_a_file_with_a_flipped_bit_makes_no_traceback(kind, tmp_path):
    reader, contents = GOOD[kind]
    for content in contents:
        for offset in range(0, len(content), max(1, len(content) // (20 * MORE))):
            for bit in (0, 2, 5, 7):
                flipped = bytearray(content)
                flipped[offset] ^= 1 << bit
                read_or_refuse(reader, tmp_path / 'file', bytes(flipped))


#: The kinds whose last good file is of JSON; of the journal each line is.
OF_JSON = sorted(GOOD.keys() - {'host facts'})


@st.composite
def mangled(draw):
    kind = draw(st.sampled_from(OF_JSON))
    content = GOOD[kind][1][-1]
    lines = content.splitlines() if kind == 'journal' else [content]
    index = draw(st.integers(0, len(lines) - 1))
    value = replaced(
        json.loads(lines[index]), lambda these: draw(st.sampled_from(these)), draw(VALUES)
    )
    lines[index] = json.dumps(value).encode()
    return kind, b'\n'.join(lines) + b'\n'


@pytest.mark.slow
@examples(400)
@given(mangled())
def test_a_file_with_another_value_makes_no_traceback(tmp_path, file):
    kind, content = file
    read_or_refuse(READERS[kind], tmp_path / 'file', content)


@pytest.mark.slow
@examples(300)
@given(
    st.sampled_from(sorted(READERS)),
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.sampled_from(HOSTILE).map(lambda text: text.encode(errors='surrogatepass')),
)
@example('assignments', b'consumer_uuid,resource_class,amount,to_provider\n\xff')
@example('specification', b"!!int ''")
@example('specification', b'a: ' + b'1:' * 400 + b'1.5')
@example('specification', b'moves: [{from_resource_provider: 0x' + b'f' * 5000 + b'}]')
@example('specification', b'!!timestamp x')
@example('specification', b'!!bool x')
@example('specification', b'? {a: 1}\n: 2')
@example('document', b'[' * 100_000)
@example('document', b'{"a":' * 70 + b'1' + b'}' * 70)
@example('document', b'[1, NaN]')
@example('document', b'&a [*a]')
@example('specification', b'[' * 100_000)
@example('specification', b'&a [*a]')
def test_random_content_makes_no_traceback(tmp_path, kind, content):
    read_or_refuse(READERS[kind], tmp_path / 'file', content)


def bomb(levels=30):
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
    'a number': 'a: ' + '1:' * 100_000 + '1',
    'one long text, often': f'a: &a {"x" * 100_000}\nb: [{", ".join(["*a"] * 10_000)}]',
}


@pytest.mark.parametrize('text', LARGE.values(), ids=LARGE)
@pytest.mark.parametrize('kind', ['specification', 'document', 'declaration', 'servers', 'flavors'])
def test_a_small_file_that_is_large_in_memory_is_refused(kind, text, tmp_path):
    (tmp_path / 'file').write_text(text)
    with pytest.raises(errors.BadFile, match=r'file:\d+: too large|file: a specification of a'):
        READERS[kind](str(tmp_path / 'file'))


@pytest.fixture(scope='module')
def archive(tmp_path_factory):
    """200 MiB of spaces in 200 KiB."""
    path = tmp_path_factory.mktemp('small') / 'file.gz'
    with gzip.open(path, 'wb') as stream:
        for _ in range(200):
            stream.write(b' ' * (1 << 20))
    return path


@pytest.mark.slow
@pytest.mark.parametrize('kind', sorted(READERS.keys() - {'journal', 'host facts'}))
def test_a_small_archive_that_is_large_in_memory_is_refused(kind, archive):
    tracemalloc.start()
    with pytest.raises(errors.BadFile, match=r'larger than 32 MiB|compressed as no file'):
        READERS[kind](str(archive))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20


@pytest.mark.parametrize('kind', sorted(READERS.keys() - {'journal'}))
def test_a_file_name_with_a_null_character_is_refused(kind):
    with pytest.raises(errors.BadFile):
        READERS[kind]('a\0b')


def test_nothing_is_written_to_a_name_that_no_file_can_have():
    with pytest.raises(errors.BadFile, match='NUL byte'):
        disk.write_text('a\0b', 'x')


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (
            b'[\n' + b'{"ID": "a", "Name": "b"},\n' * 200_000,
            r'file:20000\d: damaged or cut off',
        ),
        (b'[' + b'[],' * 2_000_000 + b'[]]', 'has more than 2000000 objects and lists'),
    ],
)
def test_a_large_document_is_refused_at_once(content, message, tmp_path):
    (tmp_path / 'file').write_bytes(content)
    started = time.process_time()
    with pytest.raises(errors.BadFile, match=message):
        disk.read_document(str(tmp_path / 'file'), kinds.TREES)
    assert time.process_time() - started < 5
