# SPDX-License-Identifier: Apache-2.0
"""Texts of UTF-8 files, and the encodings of others."""

import shlex

from placementclient.basis import errors

#: The characters that no text has.
_CONTROLS = frozenset(map(chr, range(32))) - frozenset('\t\n\f\r')
_LOOKED_AT = 4096


def decode_text(content: bytes, path: str) -> str:
    """Return the text of a UTF-8 file.

    :raises errors.BadFile: if it is not UTF-8, with the command that converts it
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as fault:
        if fault.reason == 'unexpected end of data':
            line, reason = content.count(b'\n') + 1, 'cut off within a character: copy it again'
            raise errors.BadFile(path, reason, line) from None
    else:
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
    """Return an encoding in which most characters of a text are ASCII; empty: it is no text."""
    # Latin-1 has no printable characters from 80 to 9f, where Windows has some.
    narrow = 'WINDOWS-1252' if any(0x80 <= byte < 0xA0 for byte in content) else 'LATIN1'
    for encoding in ('UTF-32', 'UTF-32BE', 'UTF-16', 'UTF-16BE', narrow):
        text = content[:_LOOKED_AT].decode(encoding, 'replace')
        if 2 * sum(map(str.isascii, text)) > len(text) and _CONTROLS.isdisjoint(text):
            return encoding
    return ''
