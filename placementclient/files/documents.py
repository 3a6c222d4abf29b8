"""Documents that people edit, as YAML or JSON text; :mod:`files.cursors` reads both."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

import yaml

#: What JSON may have as it is and YAML may not, or folds: control characters, line breaks of
#: Unicode, a byte order mark, halves of pairs.
_ESCAPED = re.compile('[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')
#: A text that needs no quotes in YAML, unless it would be a number, a date or a constant.
_PLAIN = re.compile(r'[A-Za-z0-9_](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9_]))*')
#: What a plain text would be read as, by its first character.
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers


class DocumentText(ABC):
    """Writes mappings, lists, strings and numbers as text.

    :param document: its mappings are not changed meanwhile
    """

    def __init__(self, document: Any) -> None:
        self._scalars: dict[tuple[type, Any], str] = {}
        # What many have in common, such as an inventory, is laid out once.
        self._known: dict[tuple[int, str], str] = {}
        self.text = self._document(document) + '\n'

    @abstractmethod
    def _document(self, value: Any) -> str: ...

    @abstractmethod
    def _mapping(self, value: Mapping[str, Any], indent: str) -> str: ...

    def _quoted(self, text: str) -> str:
        """Return a text as JSON has it that is YAML too: halves of pairs are escaped."""
        quoted = encode_basestring(text)
        return _ESCAPED.sub(lambda match: f'\\u{ord(match[0]):04x}', quoted)

    def _scalar(self, value: Any) -> str:
        key = type(value), value
        text = self._scalars.get(key)
        if text is None:
            text = self._quoted(value) if isinstance(value, str) else _number(value)
            self._scalars[key] = text
        return text

    def _shared(self, value: Mapping[str, Any], indent: str) -> str:
        key = id(value), indent
        if key in self._known:
            return self._known[key]
        text = self._mapping(value, indent)
        if not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
            self._known[key] = text
        return text


class Json(DocumentText):
    """Writes JSON."""

    def _document(self, value: Any) -> str:
        return self._value(value, '\n')

    def _value(self, value: Any, indent: str) -> str:
        if isinstance(value, Mapping):
            return self._shared(value, indent)
        if not isinstance(value, list | tuple):
            return self._scalar(value)
        inner = f'{indent}  '
        items = ','.join(f'{inner}{self._value(item, inner)}' for item in value)
        return f'[{items}{indent}]' if value else '[]'

    def _mapping(self, value: Mapping[str, Any], indent: str) -> str:
        inner = f'{indent}  '
        items = ','.join(
            f'{inner}{self._scalar(key)}: {self._value(item, inner)}' for key, item in value.items()
        )
        return f'{{{items}{indent}}}' if value else '{}'


class Yaml(DocumentText):
    """Writes YAML."""

    def _document(self, value: Any) -> str:
        return self._value(value, '\n', '\n')[1:]

    def _value(self, value: Any, mapping: str, items: str) -> str:
        """Return what follows a colon or a hyphen.

        :param mapping: a line break, and the indentation of the keys of a mapping
        :param items: likewise, of the hyphens of a list
        """
        if isinstance(value, Mapping) and value:
            return self._shared(value, mapping)
        if isinstance(value, list | tuple) and value:
            inner = f'{items}  '
            # What an item consists of begins behind its hyphen.
            return ''.join(
                f'{items}- {self._value(item, inner, inner).removeprefix(inner).lstrip(" ")}'
                for item in value
            )
        if isinstance(value, Mapping | list | tuple):
            return ' {}' if isinstance(value, Mapping) else ' []'
        return f' {self._scalar(value)}'

    def _mapping(self, value: Mapping[str, Any], indent: str) -> str:
        return ''.join(
            f'{indent}{self._scalar(key)}:{self._value(item, f"{indent}  ", indent)}'
            for key, item in value.items()
        )

    def _quoted(self, text: str) -> str:
        if _PLAIN.fullmatch(text):
            resolvers = [*_RESOLVERS.get(text[0], ()), *_RESOLVERS.get(None, ())]
            if not any(pattern.match(text) for _, pattern in resolvers):
                return text
        if text.isprintable():
            return "'{}'".format(text.replace("'", "''"))
        return super()._quoted(text)


def _number(value: float | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: 'null', True: 'true', False: 'false'}[value]
    text = float.__repr__(value) if isinstance(value, float) else int.__repr__(value)
    # YAML requires a full stop before an exponent.
    return text if '.' in text else text.replace('e', '.0e')
