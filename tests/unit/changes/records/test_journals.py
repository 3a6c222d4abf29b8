# SPDX-License-Identifier: Apache-2.0
"""Journals as bytes: which lines may be unreadable, and which may not."""

import zlib

import pytest

from placementclient.basis import errors
from placementclient.changes.records import journals
from placementclient.changes.records.journals import JournalEntry

AT = '2026-11-21T14:00:00.000+00:00'
HEADER = journals.encode(
    JournalEntry(journal=journals.FORMAT, version=journals.VERSION, at=AT, plan='sha256:0')
)
INTENT = journals.encode(
    JournalEntry(at=AT, tree='a', intent={'operation': 'reshape', 'name': 'Köln'})
)
END = journals.encode(JournalEntry(at=AT, tree='a', end='applied'))
RESUMED = journals.encode(JournalEntry(at=AT, resumed=True))


def test_a_journal_is_read_as_it_was_written():
    read = journals.decode(HEADER + INTENT + RESUMED + END, 'a.journal')
    assert [entry.tree for entry in read.entries] == [None, 'a', None, 'a']
    assert (read.entries[0].plan, read.entries[3].end, read.is_torn) == (
        'sha256:0',
        'applied',
        False,
    )


def test_a_journal_may_be_cut_off_at_any_byte():
    whole = HEADER + INTENT + END
    for length in range(len(whole)):
        read = journals.decode(whole[:length], 'a.journal')
        assert len(read.entries) <= 3
        assert read.is_torn == (not whole[:length].endswith(b'\n') and length > 0)


def test_a_line_that_was_cut_off_is_passed_over_where_the_next_one_says_so():
    for length in range(1, len(INTENT) - 1):
        content = HEADER + INTENT[:length] + b'\n' + RESUMED + END
        assert [entry.end for entry in journals.decode(content, 'a').entries] == [
            None,
            None,
            'applied',
        ] or length == len(INTENT) - 1
        for twice in (b'\n' + RESUMED[:9], b'\n'):
            content = HEADER + INTENT[:length] + twice + b'\n' + RESUMED + END
            assert journals.decode(content, 'a').entries[-1].end == 'applied'


def test_a_line_that_became_unreadable_is_not_passed_over():
    for offset in range(len(INTENT) - 1):
        for bit in range(8):
            line = bytearray(INTENT)
            line[offset] ^= 1 << bit
            content = HEADER + line + END
            with pytest.raises(errors.BadFile) as caught:
                journals.decode(content, 'a.journal')
            assert caught.value.line in (2, 3)


def test_a_lost_line_end_is_noticed():
    with pytest.raises(errors.BadFile, match=r'^a:2: damaged journal'):
        journals.decode(HEADER + INTENT[:-1] + END + END, 'a')


def test_a_line_without_its_checksum_is_noticed():
    line = b'{"at":"x","tree":"a","end":"applied"}\n'
    with pytest.raises(errors.BadFile, match=r'^a:2: damaged journal: the line has no checksum'):
        journals.decode(HEADER + line, 'a')


def test_a_key_that_is_there_twice_is_told_with_its_line():
    line = b'{"at":"x","tree":"a","end":"applied","end":"failed"'
    sealed = b'%b,"crc32":"%08x"}\n' % (line, zlib.crc32(line))
    with pytest.raises(errors.BadFile, match=r"^a:2: damaged journal: the key 'end' appears twi"):
        journals.decode(HEADER + sealed, 'a')


def test_wrong_types_are_told_with_their_line():
    content = HEADER + END + b'{"at":"x","tree":7}\n'
    with pytest.raises(errors.BadFile, match=r'^a:3: damaged journal: tree: expected str'):
        journals.decode(content, 'a')


@pytest.mark.parametrize(
    'content', [b'hello', b'[]', b'7\n', b'{"at":"x"}\n', b'{"journal":"other"', INTENT, b'\n\n']
)
def test_files_without_the_header_of_a_journal_are_refused(content):
    with pytest.raises(errors.BadFile, match=r'^a: not a journal$'):
        journals.decode(content, 'a')


def test_a_journal_of_another_version_is_refused():
    content = journals.encode(JournalEntry(journal=journals.FORMAT, version=2, at=AT))
    with pytest.raises(errors.BadFile, match=r'^a: journal version 2 is not known$'):
        journals.decode(content, 'a')
