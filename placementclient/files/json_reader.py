# SPDX-License-Identifier: Apache-2.0
"""JSON documents with the place of each value, in a hundredth of the time that YAML takes."""

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable
from json import loads

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
Place = tuple[int, int]

_TOKEN = re.compile(
    r'[ \t\n\r]*(?:'
    r'(?P<text>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")|'
    r'(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|'
    r'(?P<word>true|false|null)|(?P<mark>[\[\]{},:]))'
)
_END = re.compile(r'[ \t\n\r]*\Z')
_WORDS = {'true': True, 'false': False, 'null': None}


class MarkedDict(dict[Hashable, object]):
    """A mapping that remembers the place in the file of each key."""

    __slots__ = ('places',)
    places: dict[Hashable, Place]


class MarkedList(list[object]):
    """A sequence that remembers the place in the file of each item."""

    __slots__ = ('places',)
    places: dict[Hashable, Place]


class NotJSON(Exception):
    """A text that is no JSON."""

    def __init__(self, place: Place) -> None:
        super().__init__('neither YAML nor JSON')
        self.place = place


class JSONReader:
    """Reads a text that begins as JSON.

    :param fault: makes the error for a document that is JSON, but cannot be taken
    """

    def __init__(self, text: str, fault: Callable[[str, Place], Exception]) -> None:
        self._text, self._fault = text, fault
        self._position = self._weight = 0
        self._breaks = [match.start() for match in re.finditer('\n', text)]

    def read(self) -> object:
        """Return the value; mappings and sequences know the places of what is in them.

        :raises NotJSON: at the first character that is no part of JSON
        """
        kind, part, start = self._read_token()
        value = self._read_value(kind, part, start, 1)
        if not _END.match(self._text, self._position):
            raise NotJSON(self._find_place(self._position))
        return value

    def _read_token(self) -> tuple[str, str, int]:
        """Return the next token: its kind, its text and its position."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match.lastgroup is None:
            raise NotJSON(self._find_place(self._position))
        kind, part, self._position = match.lastgroup, match[match.lastgroup], match.end()
        start = self._position - len(part)
        if part not in ',:]}':
            self._weight += NODE_WEIGHT + len(part)
            if self._weight > MOST_WEIGHT:
                raise self._fault('too large', self._find_place(start))
        return kind, part, start

    def _read_value(self, kind: str, part: str, start: int, level: int) -> object:
        if kind == 'text':
            return self._read_string(part, start)
        if kind == 'word':
            return _WORDS[part]
        if kind == 'number':
            if len(part) > LONGEST_NUMBER:
                raise self._fault(LONG_NUMBER, self._find_place(start))
            number: object = loads(part)
            return number
        if level > MOST_LEVELS:
            raise self._fault(NESTED, self._find_place(start))
        if part == '{':
            return self._read_mapping(level)
        if part == '[':
            return self._read_sequence(level)
        raise NotJSON(self._find_place(start))

    def _read_string(self, part: str, start: int) -> str:
        if '\\' not in part:
            return part[1:-1]
        try:
            text: str = loads(part)
        except ValueError:
            raise NotJSON(self._find_place(start)) from None
        return text

    def _read_mapping(self, level: int) -> MarkedDict:
        result = MarkedDict()
        result.places = {}
        kind, part, start = self._read_token()
        while part != '}':
            if kind != 'text':
                raise NotJSON(self._find_place(start))
            key, place = self._read_string(part, start), self._find_place(start)
            if key in result:
                raise self._fault(f'{key} appears twice', place)
            self._read_mark(':')
            result[key] = self._read_value(*self._read_token(), level + 1)
            result.places[key] = place
            if self._read_mark(',}') == '}':
                break
            kind, part, start = self._read_token()
            if part == '}':
                raise NotJSON(self._find_place(start))
        return result

    def _read_sequence(self, level: int) -> MarkedList:
        result = MarkedList()
        result.places = {}
        kind, part, start = self._read_token()
        while part != ']':
            result.places[len(result)] = self._find_place(start)
            result.append(self._read_value(kind, part, start, level + 1))
            if self._read_mark(',]') == ']':
                break
            kind, part, start = self._read_token()
        else:
            if result:
                raise NotJSON(self._find_place(start))
        return result

    def _read_mark(self, marks: str) -> str:
        kind, part, start = self._read_token()
        if kind != 'mark' or part not in marks:
            raise NotJSON(self._find_place(start))
        return part

    def _find_place(self, position: int) -> Place:
        line = bisect_left(self._breaks, position)
        return line + 1, position - (self._breaks[line - 1] if line else -1)
