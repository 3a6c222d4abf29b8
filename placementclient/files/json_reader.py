# SPDX-License-Identifier: Apache-2.0
"""JSON documents with the place of each value, in a hundredth of the time that YAML takes.

The hooks of :mod:`json` know neither the place of a value nor how much memory the document has
taken so far, and errors need the line of a key that appears twice.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable
from json import loads
from typing import NamedTuple

#: The deepest nesting of files that people write.
MOST_LEVELS = 64
#: How many characters a number may have: Python and PyYAML take hours for one that is long.
LONGEST_NUMBER = 1000
#: How much memory a document may take, in bytes of text, and what each value takes beside its text.
MOST_WEIGHT = 1 << 27
NODE_WEIGHT = 128
NESTED = 'nested too deeply'
LONG_NUMBER = f'too large: a number has at most {LONGEST_NUMBER} characters'

#: A line and a column, from 1.
LineColumn = tuple[int, int]

_TOKEN = re.compile(
    r'[ \t\n\r]*(?:'
    r'(?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")|'
    r'(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|'
    r'(?P<word>true|false|null)|(?P<mark>[\[\]{},:]))'
)
_END = re.compile(r'[ \t\n\r]*\Z')
_WORDS = {'true': True, 'false': False, 'null': None}
#: The marks with which no value begins: they take no memory.
_SEPARATORS = frozenset(',:]}')
_SEPARATOR = re.compile(r'[ \t\n\r]*([,:\]}])')


class Token(NamedTuple):
    """A string, number, word or mark in a JSON text.

    :param kind: ``text``, ``number``, ``word``, or ``mark``
    :param part: as it is written; a string with its quotes
    :param start: the position of its first character
    """

    kind: str
    part: str
    start: int


class MarkedDict(dict[Hashable, object]):
    """A mapping that remembers the line and the column of each key, in ``places``."""

    __slots__ = ('places',)
    places: dict[Hashable, LineColumn]


class MarkedList(list[object]):
    """A list that remembers the line and the column of each item by its index, in ``places``."""

    __slots__ = ('places',)
    places: dict[Hashable, LineColumn]


class NotJSON(Exception):
    """A text is no JSON; ``place`` is the line and the column of the first fault."""

    def __init__(self, place: LineColumn) -> None:
        super().__init__('neither YAML nor JSON')
        self.place = place


class JSONReader:
    """Reads a text as JSON, with the line and the column of each value.

    :param make_error: returns the error for JSON that is too large, or has a key twice
    """

    def __init__(self, text: str, make_error: Callable[[str, LineColumn], Exception]) -> None:
        self._text, self._make_error = text, make_error
        self._position = self._weight = 0
        self._breaks = [match.start() for match in re.finditer('\n', text)]

    def read(self) -> object:
        """Return the value of the text, with :class:`MarkedDict` and :class:`MarkedList` in it.

        :raises NotJSON: at the first character that is no part of JSON
        """
        value = self._read_value(self._read_token(), 1)
        if not _END.match(self._text, self._position):
            raise NotJSON(self._find_line_and_column(self._position))
        return value

    def _read_token(self) -> Token:
        """Return the next token and count its memory; raise :class:`NotJSON` if there is none."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match.lastgroup is None:
            raise NotJSON(self._find_line_and_column(self._position))
        kind, part, self._position = match.lastgroup, match[match.lastgroup], match.end()
        start = self._position - len(part)
        if part not in _SEPARATORS:
            self._weight += NODE_WEIGHT + len(part)
            if self._weight > MOST_WEIGHT:
                raise self._make_error('too large', self._find_line_and_column(start))
        return Token(kind, part, start)

    def _read_value(self, token: Token, depth: int) -> object:
        """Return the value that begins with a token.

        :param depth: how deeply a mapping or a sequence would be nested, from 1
        :raises NotJSON: if no value begins with it
        """
        if token.kind == 'text':
            return self._read_string(token)
        if token.kind == 'word':
            return _WORDS[token.part]
        if token.kind == 'number':
            if len(token.part) > LONGEST_NUMBER:
                raise self._make_error(LONG_NUMBER, self._find_line_and_column(token.start))
            number: object = loads(token.part)
            return number
        if depth > MOST_LEVELS:
            raise self._make_error(NESTED, self._find_line_and_column(token.start))
        if token.part == '{':
            return self._read_mapping(depth)
        if token.part == '[':
            return self._read_sequence(depth)
        raise NotJSON(self._find_line_and_column(token.start))

    def _read_string(self, token: Token) -> str:
        """Return the text of a string; raise :class:`NotJSON` for an escape unknown to JSON."""
        if '\\' not in token.part:
            return token.part[1:-1]
        try:
            text: str = loads(token.part)
        except ValueError:
            raise NotJSON(self._find_line_and_column(token.start)) from None
        return text

    def _read_mapping(self, depth: int) -> MarkedDict:
        """Return the mapping whose brace was read last; raise :class:`NotJSON` if it is broken."""
        result = MarkedDict()
        result.places = {}
        token = self._read_token()
        while token.part != '}':
            if token.kind != 'text':
                raise NotJSON(self._find_line_and_column(token.start))
            key, place = self._read_string(token), self._find_line_and_column(token.start)
            if key in result:
                raise self._make_error(f'{key} appears twice', place)
            self._read_separator(':')
            result[key] = self._read_value(self._read_token(), depth + 1)
            result.places[key] = place
            if self._read_separator(',}') == '}':
                break
            token = self._read_token()
            if token.part == '}':
                raise NotJSON(self._find_line_and_column(token.start))
        return result

    def _read_sequence(self, depth: int) -> MarkedList:
        """Return the list whose bracket was read last; raise :class:`NotJSON` if it is broken."""
        result = MarkedList()
        result.places = {}
        token = self._read_token()
        while token.part != ']':
            result.places[len(result)] = self._find_line_and_column(token.start)
            result.append(self._read_value(token, depth + 1))
            if self._read_separator(',]') == ']':
                break
            token = self._read_token()
            if token.part == ']':
                raise NotJSON(self._find_line_and_column(token.start))
        return result

    def _read_separator(self, marks: str) -> str:
        """Return the next character; raise :class:`NotJSON` if it is not one of ``marks``."""
        match = _SEPARATOR.match(self._text, self._position)
        if match is None or match[1] not in marks:
            raise NotJSON(self._find_line_and_column(self._read_token().start))
        self._position = match.end()
        return match[1]

    def _find_line_and_column(self, position: int) -> LineColumn:
        line = bisect_left(self._breaks, position)
        return line + 1, position - (self._breaks[line - 1] if line else -1)
