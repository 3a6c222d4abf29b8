# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON documents that people write, with the position of each value."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import yaml

from placementclient.basis import errors
from placementclient.basis.errors import KNOWN_KEYS
from placementclient.basis.wording import find_closest_words, format_suggestion
from placementclient.files import kinds
from placementclient.files.json_reader import (
    LONG_NUMBER,
    LONGEST_NUMBER,
    MOST_LEVELS,
    MOST_WEIGHT,
    NESTED,
    NODE_WEIGHT,
    JSONReader,
    LineColumn,
    MarkedDict,
    MarkedList,
    NotJSON,
)
from placementclient.files.yaml_problems import describe_yaml_error
from placementclient.model.providers import is_uuid, normalize_uuid

#: Up to how many characters a document is read as YAML that begins as JSON and is none: YAML takes
#: a hundred times as long.
BRIEF = 1 << 20
#: The name of a resource class or a trait, and how long the service lets it be.
_SYMBOL, _LONGEST_SYMBOL = re.compile('[A-Z0-9_]+'), 255
_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')
#: The beginning of a number of another base than ten.
_OTHER_BASE = re.compile('[-+]?(0[0-9_box]|[0-9_]+:)')
_Number = TypeVar('_Number', int, float)
_T = TypeVar('_T')


class _Loader(yaml.SafeLoader):
    """Loads YAML with the line of each value; refuses duplicate keys and very large documents."""

    # Aliases count as often as they repeat a value.

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._weight = self._depth = 0
        self._weights: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next value; refuse one that is nested too deeply, too large or in itself."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        is_alias, before = self.check_event(yaml.AliasEvent), self._weight
        self._depth += 1
        if self._depth > MOST_LEVELS:
            raise _make_yaml_error(NESTED, mark)
        node = super().compose_node(parent, index)
        assert node is not None
        self._depth -= 1
        text = node.value if isinstance(node, yaml.ScalarNode) else ''
        if is_alias and node not in self._weights:
            raise _make_yaml_error('contains itself', mark)
        if node.tag in _NUMBERS:
            _refuse_unusual_number(text, mark)
        self._weight += self._weights[node] if is_alias else NODE_WEIGHT + len(text)
        self._weights[node] = self._weight - before
        if self._weight > MOST_WEIGHT:
            raise _make_yaml_error('too large', mark)
        return node


def _refuse_unusual_number(text: str, mark: yaml.Mark) -> None:
    """Refuse a number that is too long, or of another base than ten."""
    if len(text) > LONGEST_NUMBER:
        raise _make_yaml_error(LONG_NUMBER, mark)
    if _OTHER_BASE.match(text):
        # YAML 1.1 has 8 for 010, and 90 for 1:30.
        raise _make_yaml_error(
            f'{text[:20]} is no decimal number: write one, or quote a text', mark
        )


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> MarkedDict:
    loader.flatten_mapping(node)
    result = MarkedDict()
    result.places = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, bool):
            # YAML takes on, off, yes and no for truth values; as keys they are words.
            key = key_node.value
        if not isinstance(key, Hashable):
            raise _make_yaml_error('not a key', key_node.start_mark)
        if key in result:
            raise _make_yaml_error(f'{key} appears twice', key_node.start_mark)
        result[key] = loader.construct_object(value_node, deep=True)
        result.places[key] = _locate_mark(key_node.start_mark)
    return result


def _construct_sequence(loader: _Loader, node: yaml.SequenceNode) -> MarkedList:
    result = MarkedList(loader.construct_object(item, deep=True) for item in node.value)
    result.places = {index: _locate_mark(item.start_mark) for index, item in enumerate(node.value)}
    return result


def _make_yaml_error(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _locate_mark(mark: yaml.Mark) -> LineColumn:
    return mark.line + 1, mark.column + 1


_Loader.add_constructor('tag:yaml.org,2002:map', _construct_mapping)
_Loader.add_constructor('tag:yaml.org,2002:seq', _construct_sequence)
# JSON needs no full stop in a number with an exponent.
_EXPONENT = re.compile('-?[0-9]e[-+][0-9]+$')
_Loader.add_implicit_resolver('tag:yaml.org,2002:float', _EXPONENT, '-0123456789')
#: The types that a plain text may be read as, by its first character.
RESOLVERS = _Loader.yaml_implicit_resolvers


class Faults:
    """The faults of a file, to report all of them together."""

    def __init__(self) -> None:
        self.errors: list[errors.BadFile] = []

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Add an error that ends this block to the faults, and continue after the block."""
        try:
            yield
        except errors.BadFile as fault:
            self.errors += fault.faults

    def raise_collected(self) -> None:
        """Raise all faults so far as one error, if there are any."""
        self.errors.sort(key=lambda fault: (fault.path, fault.line or 0))
        if self.errors:
            raise errors.BadFiles(self.errors)


@dataclass(frozen=True, slots=True)
class Cursor:
    """A value of a document with its position.

    A method that reads returns the value as the type that it names, or raises
    :class:`errors.BadFile` if the value is of another one.

    :param name: the way to the value in the document: ``moves[0].as``
    :param line: the line in the file, from 1; ``None`` if errors do not print it
    :param column: the column in that line, from 1; ``None`` if errors do not print it
    """

    value: object
    path: str
    name: str
    line: int | None = None
    column: int | None = None

    def make_error(self, reason: str) -> errors.BadFile:
        """Return the exception for a fault of this value, with its position."""
        where = f'{self.name}: ' if self.name else ''
        return errors.BadFile(self.path, where + reason, self.line, self.column)

    def read_members(
        self, names: Collection[str], needed: Collection[str] = ()
    ) -> dict[str, Cursor]:
        """Return the values of a mapping with fixed keys, as cursors.

        :param names: the keys; any other key is an error
        :param needed: the keys that must not be missing
        """
        return self.read_fields(dict.fromkeys(names, lambda cursor: cursor), needed)

    def read_fields(
        self, readers: Mapping[str, Callable[[Cursor], object]], needed: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the values of a mapping with fixed keys, each as the reader of its key returns it.

        All faults are raised together.

        :param needed: the keys that must not be missing
        """
        faults, result, inside = Faults(), {}, self.read_mapping()
        missing = [key for key in needed if key not in inside]
        unknown = [key for key in inside if key not in readers]
        for key in unknown:
            near = find_closest_words([key], readers)
            hint = f'. {format_suggestion(near)}' if near else KNOWN_KEYS + ', '.join(readers)
            faults.errors.append(inside.pop(key).make_error(f'unknown key{hint}'))
            missing = [name for name in missing if name not in near]
        if missing:
            are = 'are' if len(missing) > 1 else 'is'
            faults.errors.append(self.make_error(f'{" and ".join(missing)} {are} missing'))
        for key, cursor in inside.items():
            with faults.collect():
                result[key] = readers[key](cursor)
        faults.raise_collected()
        return result

    def read_mapping(self) -> dict[str, Cursor]:
        """Return the values of a mapping whose keys are any strings, as cursors."""
        if not isinstance(self.value, Mapping):
            text = 'plain text, and ' if isinstance(self.value, str) else ''
            raise self.make_error(f'{text}has to be KEY: VALUE')
        prefix = f'{self.name}.' if self.name else ''
        inside = {}
        for key, value in self.value.items():
            cursor = Cursor(value, self.path, f'{prefix}{key}', *self._find_key_position(key))
            if not isinstance(key, str):
                raise cursor.make_error(f'the key {key!r} has to be a text: quote it')
            inside[key] = cursor
        return inside

    def read_mappings(self) -> dict[str, Cursor]:
        """Return the values of one mapping or a list of them, as cursors; null has no values."""
        if self.value is None:
            return {}
        if not isinstance(self.value, list | tuple):
            return self.read_mapping()
        inside: dict[str, Cursor] = {}
        for item in self.iterate_items():
            for key, cursor in item.read_mapping().items():
                if key in inside:
                    raise cursor.make_error(f'{key} appears twice')
                inside[key] = cursor
        return inside

    def iterate_items(self) -> Iterator[Cursor]:
        """Yield the items of a list, as cursors."""
        if not isinstance(self.value, list | tuple):
            raise self.make_error('has to be a list')
        for index, value in enumerate(self.value):
            yield Cursor(value, self.path, f'{self.name}[{index}]', *self._find_key_position(index))

    def read_list(self, read: Callable[[Cursor], _T]) -> tuple[_T, ...]:
        """Return the items of a list, each as a reader returns it; raise all faults together."""
        faults, result = Faults(), []
        for item in self.iterate_items():
            with faults.collect():
                result.append(read(item))
        faults.raise_collected()
        return tuple(result)

    def read_by_class(
        self, read: Callable[[Cursor], _T], inside: Mapping[str, Cursor] | None = None
    ) -> dict[str, _T]:
        """Return the values of a mapping by resource class, each as a reader returns it.

        :param inside: the mapping, as :meth:`read_mappings` returns it; default: this value
        """
        faults, result = Faults(), {}
        for name, item in (self.read_mapping() if inside is None else inside).items():
            with faults.collect():
                result[replace(item, value=name).read_class_or_trait()] = read(item)
        faults.raise_collected()
        return result

    def descend(self, *keys: str | int) -> Cursor:
        """Return the value that nested keys lead to, or the last one that exists on the way."""
        if not keys:
            return self
        if isinstance(self.value, list) and isinstance(keys[0], str):
            for item in self.iterate_items():  # a list of mappings stands for one mapping
                if isinstance(item.value, Mapping) and keys[0] in item.value:
                    return item.descend(*keys)
        key, *below = keys
        if isinstance(self.value, Mapping) and key in self.value:
            value, step = self.value[key], f'.{key}'
        elif isinstance(self.value, list) and isinstance(key, int) and key < len(self.value):
            value, step = self.value[key], f'[{key}]'
        else:
            return self
        name = (self.name + step).removeprefix('.')
        return Cursor(value, self.path, name, *self._find_key_position(key)).descend(*below)

    def read_text(self) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str):
            raise self.make_error(f'{self.value!r} has to be a text: quote it')
        if not self.value:
            raise self.make_error('is empty')
        return self.value

    def read_texts(self) -> tuple[str, ...]:
        return self.read_list(Cursor.read_text)

    def read_class_or_trait(self) -> str:
        """Return the name of a resource class or of a trait."""
        text = self.read_text()
        if len(text) > _LONGEST_SYMBOL:
            raise self.make_error(
                f'{text[:20]}… has {len(text)} characters, at most {_LONGEST_SYMBOL} are allowed'
            )
        return self._require_text(_SYMBOL.fullmatch(text) is not None, 'A-Z, 0-9 and _ only')

    def read_classes_or_traits(self) -> tuple[str, ...]:
        return self.read_list(Cursor.read_class_or_trait)

    def read_uuid(self) -> str:
        return normalize_uuid(self._require_text(is_uuid(self.read_text()), 'a UUID'))

    def read_boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.make_error('has to be true or false')
        return self.value

    def read_integer(self, least: int, most: int) -> int:
        if type(self.value) is not int:
            raise self.make_error('has to be an integer')
        return self._require_range(self.value, least, most)

    def read_number(self, least: float, most: float) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.make_error('has to be a number')
        return float(self._require_range(self.value, least, most))

    def _require_range(self, number: _Number, least: _Number, most: _Number) -> _Number:
        if not least <= number <= most:
            raise self.make_error(f'has to be from {least} to {most}')
        return number

    def _require_text(self, matches: bool, expected: str) -> str:
        """Return the value as text if ``matches``; else raise an error with what is expected."""
        if not matches:
            raise self.make_error(f'{self.value!r} has to be {expected}')
        return str(self.value)

    def _find_key_position(self, key: object) -> tuple[int | None, int | None]:
        """Return line and column of a key or an index; ``None`` where errors do not print it."""
        places = getattr(self.value, 'places', {})
        line, column = places.get(key, (self.line, self.column))
        return line, column if self.column else None


def parse_document(text: str, path: str, *, columns: bool = False) -> Cursor:
    """Return the value of a text, YAML or JSON, as a cursor.

    :param columns: whether errors have the column, too
    :raises errors.BadFile: if the text is neither, with the line
    """
    if lack := kinds.explain_missing_content(text.encode()):
        raise errors.BadFile(path, lack)

    def make_error(problem: str, place: LineColumn | None) -> errors.BadFile:
        line, column = place or (None, None)
        return errors.BadFile(path, problem, line, column if columns else None)

    start = (1, 1) if columns else ()
    if text.lstrip()[:1] in ('{', '['):
        try:
            return Cursor(JSONReader(text, make_error).read(), path, '', *start)
        except NotJSON as reason:
            # YAML has braces and brackets too, without quotes, and says more of a short text.
            if len(text) > BRIEF:
                raise make_error(str(reason), reason.place) from None
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 (it is a SafeLoader)
    except yaml.MarkedYAMLError as reason:
        problem, mark = describe_yaml_error(reason)
        raise make_error(problem, _locate_mark(mark) if mark else None) from None
    except (
        yaml.YAMLError, ArithmeticError, ValueError, LookupError, AttributeError, TypeError
    ) as reason:  # fmt: skip
        # PyYAML's own types raise whatever they stumble over: of "!!int ''" an IndexError.
        raise errors.BadFile(path, f'neither YAML nor JSON: {reason}') from None
    return Cursor(document, path, '', *start)
