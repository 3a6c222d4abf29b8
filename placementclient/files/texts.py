# SPDX-License-Identifier: Apache-2.0
"""Texts of UTF-8 files, and the encodings of others."""

import codecs
import shlex

from placementclient.basis import errors

#: The encodings that a text names at its beginning. UTF-32 begins as UTF-16 does.
_MARKS = {
    codecs.BOM_UTF32_LE: 'UTF-32',
    codecs.BOM_UTF32_BE: 'UTF-32',
    codecs.BOM_UTF16_LE: 'UTF-16',
    codecs.BOM_UTF16_BE: 'UTF-16',
}
_WIDE = ('UTF-32LE', 'UTF-32BE', 'UTF-16LE', 'UTF-16BE')
#: The characters that no text has.
_CONTROLS = frozenset(map(chr, range(32))) - frozenset('\t\n\f\r')
_LOOKED_AT = 4096


def decode_text(content: bytes, path: str) -> str:
    """Return the text of a UTF-8 file.

    :raises errors.BadFile: if it is none, with the command that converts it
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as fault:
        line = content.count(b'\n', 0, fault.start) + 1
        if fault.reason == 'unexpected end of data':
            reason = 'cut off within a character: copy the file again'
            raise errors.BadFile(path, reason, line) from None
        text = '\0'
    if '\0' not in text:
        return text
    encoding = _guess_encoding(content)
    if not encoding:
        raise errors.BadFile(path, 'not a text file')
    is_sure = encoding.startswith('UTF')
    what = f'{encoding} text, not UTF-8' if is_sure else f'not UTF-8 text, perhaps {encoding}'
    files = f'{shlex.quote(path)} > {shlex.quote(f"{path}.utf8")}'
    raise errors.BadFile(path, f'{what}. To convert it: iconv -f {encoding} -t UTF-8 {files}')


def _guess_encoding(content: bytes) -> str:
    """Return the encoding of a text that is not UTF-8; empty if it is no text.

    A text without a mark counts as UTF-32 or UTF-16 if most of its characters are ASCII.
    """
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return name
    start = content[:_LOOKED_AT]
    for encoding in _WIDE:
        text = start.decode(encoding, 'replace')
        if 2 * sum(map(str.isascii, text)) > len(text) and _CONTROLS.isdisjoint(text):
            return encoding
    if not _CONTROLS.isdisjoint(start.decode('latin-1')):
        return ''
    # Latin-1 has no printable characters from 80 to 9f, where Windows has some.
    is_windows = any(0x80 <= byte < 0xA0 for byte in content)
    return 'WINDOWS-1252' if is_windows else 'LATIN1'
