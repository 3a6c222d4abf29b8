# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made harmless for a terminal or a log.

A provider's name may have characters that move the cursor, rename the window or turn the direction
of text. All text for people passes through here: tables, documents, progress, questions, errors,
lines of a log. Data for a program (JSON, YAML) stays as it is, except on a terminal. CSV goes to
spreadsheets: a formula becomes text there.
"""

import codecs
import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: Control characters but line ends and tabs; marks of text direction and others without a width,
#: with which two names look alike; and invalid characters.
_STEERING = (
    '[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff'
    '\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]'
)

#: The beginning of a text that a spreadsheet takes for a formula. A number is none.
FORMULA = r'^(?![+-]?[\d.]*$)[=+\-@\t\r\n]'

#: What stands for signs of this program where the encoding of a terminal does not have them.
_PLAIN_SIGNS = str.maketrans(
    {
        **dict.fromkeys('├└', '+'),
        **dict.fromkeys('│▕▏', '|'),
        **dict.fromkeys('█▉▊▋▌▍▎', '#'),
        '─': '-', '−': '-', '→': '->', '×': 'x', '·': '*', '…': '...',
    }
)  # fmt: skip
_ERRORS = 'placementclient'


def escape_text(text: str) -> str:
    r"""Return a text with its control characters escaped, such as ``\x1b``."""
    # A shortcut for nearly all texts.
    if text.isprintable():
        return text
    return re.sub(_STEERING, lambda match: match[0].encode('unicode_escape').decode(), text)


def escape_line(line: str) -> str:
    r"""Return a text as one line, with line breaks as ``\n``."""
    return line.replace('\n', r'\n')


def cut_text(text: str, length: int) -> str:
    """Return a text as one printable line, cut after ``length`` characters."""
    return escape_line(escape_text(text if len(text) <= length else f'{text[:length]}…'))


def replace_unencodable_characters(*streams: Any) -> None:
    """Let streams print plain characters for those that their encoding lacks, and never fail."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != 'utf-8':
            codecs.register_error(_ERRORS, _replace_characters)
            stream.reconfigure(errors=_ERRORS)


def _replace_characters(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return plain text for characters that an encoding lacks, and the index after them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN_SIGNS)
    return text.encode('ascii', 'backslashreplace').decode(), error.end


class PrintableFormatter:
    """A formatter of cliff that converts cells and, on a terminal, escapes control characters.

    :param formatter: writes the converted cells
    :param convert: returns the converted cell; ``None``: cells stay as they are
    :param on_screen: whether a terminal shows the output
    """

    def __init__(
        self, formatter: Any, convert: Callable[[Any], Any] | None, *, on_screen: bool
    ) -> None:
        self._formatter, self._convert, self._on_screen = formatter, convert, on_screen

    def emit_list(self, names: Any, rows: Any, stdout: Any, parsed_args: Any) -> None:
        """Print the rows of a table; cliff calls it."""
        with self._escape_output(stdout) as out:
            self._formatter.emit_list(names, map(self._convert_cells, rows), out, parsed_args)

    def emit_one(self, names: Any, fields: Any, stdout: Any, parsed_args: Any) -> None:
        """Print the fields of one object; cliff calls it."""
        with self._escape_output(stdout) as out:
            self._formatter.emit_one(names, self._convert_cells(fields), out, parsed_args)

    def _convert_cells(self, row: Any) -> Any:
        return tuple(map(self._convert, row)) if self._convert else row

    @contextlib.contextmanager
    def _escape_output(self, stdout: Any) -> Iterator[Any]:
        """Give the block a stream; for a terminal its text is escaped when the block ends."""
        if not self._on_screen:
            yield stdout
            return
        text = io.StringIO(newline='\n')
        yield text
        stdout.write(escape_text(text.getvalue()))


def format_cell(value: Any) -> Any:
    """Return a cell for people: printable, on one line."""
    if isinstance(value, str):
        # One that is right-aligned stays so.
        return value if value.isprintable() else escape_line(escape_text(value))
    # Other values are printed as Python writes them, or as numbers.
    return format_cell(value.human_readable()) if hasattr(value, 'human_readable') else value


class RightAligned(str):
    """A number as text, aligned to the right in a table."""


def strip_unit(value: Any) -> Any:
    """Return the plain number of a cell that has an amount with a unit."""
    data = value.machine_readable() if hasattr(value, 'machine_readable') else None
    return data if isinstance(data, int | float) else value


def flatten_cell(value: Any) -> Any:
    """Return a cell for programs that read lines: lists and mappings are JSON."""
    if not hasattr(value, 'machine_readable'):
        return value
    data = value.machine_readable()
    return json.dumps(data) if isinstance(data, Mapping | list | tuple) else data


def escape_cell(value: Any) -> Any:
    """Return a cell of CSV: as :func:`flatten_cell`, with formulas escaped."""
    cell = flatten_cell(value)
    return f"'{cell}" if isinstance(cell, str) and re.match(FORMULA, cell) else cell
