"""Documents that people edit, as YAML or JSON text; :mod:`files.cursors` reads both."""

import json
import re
from collections.abc import Mapping
from typing import Any

from placementclient.files.cursors import RESOLVERS

#: What JSON may have as it is and YAML may not, or folds: control characters, line breaks of
#: Unicode, a byte order mark, halves of pairs.
_ESCAPED = re.compile('[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')
#: A text that needs no quotes in YAML, unless it would be a number, a date or a constant.
_PLAIN = re.compile(r'[A-Za-z0-9_](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9_]))*')


def json_text(document: Any) -> str:
    """Return a document of mappings, lists, strings and numbers as JSON that is YAML too."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f'\\u{ord(match[0]):04x}', text)


def yaml_text(document: Any) -> str:
    """Return the same as YAML; its mappings are not changed meanwhile."""
    return _Yaml().value(document, '\n', '\n')[1:] + '\n'


class _Yaml:
    """Writes YAML. What many have in common, such as an inventory, is laid out once."""

    def __init__(self) -> None:
        self._scalars: dict[tuple[type, Any], str] = {}
        self._mappings: dict[tuple[int, str], str] = {}

    def value(self, value: Any, mapping: str, items: str) -> str:
        """Return what follows a colon or a hyphen.

        :param mapping: a line break, and the indentation of the keys of a mapping
        :param items: likewise, of the hyphens of a list
        """
        if isinstance(value, Mapping) and value:
            return self._mapping(value, mapping)
        if isinstance(value, list | tuple) and value:
            inner = f'{items}  '
            # What an item consists of begins behind its hyphen.
            return ''.join(
                f'{items}- {self.value(item, inner, inner).removeprefix(inner).lstrip(" ")}'
                for item in value
            )
        if isinstance(value, Mapping | list | tuple):
            return ' {}' if isinstance(value, Mapping) else ' []'
        return f' {self._scalar(value)}'

    def _mapping(self, value: Mapping[str, Any], indent: str) -> str:
        key = id(value), indent
        if key in self._mappings:
            return self._mappings[key]
        text = ''.join(
            f'{indent}{self._scalar(name)}:{self.value(item, f"{indent}  ", indent)}'
            for name, item in value.items()
        )
        if not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
            self._mappings[key] = text
        return text

    def _scalar(self, value: Any) -> str:
        key = type(value), value
        if key not in self._scalars:
            self._scalars[key] = _quoted(value) if isinstance(value, str) else _number(value)
        return self._scalars[key]


def _quoted(text: str) -> str:
    if _PLAIN.fullmatch(text):
        resolvers = [*RESOLVERS.get(text[0], ()), *RESOLVERS.get(None, ())]
        if not any(pattern.match(text) for _, pattern in resolvers):
            return text
    if text.isprintable():
        return "'{}'".format(text.replace("'", "''"))
    return json_text(text)


def _number(value: float | None) -> str:
    text = json.dumps(value)
    # YAML requires a full stop before an exponent.
    return text if '.' in text else re.sub('(?<=[0-9])e', '.0e', text)
