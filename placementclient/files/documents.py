# SPDX-License-Identifier: Apache-2.0
"""Documents that people edit, as YAML or JSON text; :mod:`files.cursors` reads both."""

import functools
import json
import re
from collections.abc import Mapping

from placementclient.files.cursors import RESOLVERS

#: Characters that JSON allows and YAML refuses or folds: control characters, line breaks of
#: Unicode, a byte order mark, halves of surrogate pairs.
_ESCAPED = re.compile('[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]')
#: A text that needs no quotes in YAML, unless it would be a number, a date or a constant.
_PLAIN = re.compile(r'[A-Za-z0-9_](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9_]))*')


def format_json(document: object) -> str:
    """Return a document of mappings, lists, strings and numbers as JSON that is YAML too."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f'\\u{ord(match[0]):04x}', text)


def format_yaml(document: object) -> str:
    """Return a document of mappings, lists, strings and numbers as YAML."""
    return _format_value(document, '\n', '\n', {})[1:] + '\n'


def _format_value(
    value: object, key_break: str, item_break: str, cache: dict[tuple[int, str], str]
) -> str:
    """Return the YAML text of a value after its key or its hyphen.

    :param key_break: a line break with the indentation of keys
    :param item_break: a line break with the indentation of hyphens
    :param cache: the texts of mappings so far, by identity and indentation
    """
    if isinstance(value, Mapping) and value:
        key = id(value), key_break
        if key in cache:
            return cache[key]
        inner = f'{key_break}  '
        text = ''.join(
            f'{key_break}{_format_scalar(name)}:{_format_value(item, inner, key_break, cache)}'
            for name, item in value.items()
        )
        # Equal values of many providers, such as an inventory, are laid out once.
        if not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
            cache[key] = text
        return text
    if isinstance(value, list | tuple) and value:
        inner = f'{item_break}  '
        # The content of an item begins behind its hyphen.
        return ''.join(
            f'{item_break}- {text.removeprefix(inner).lstrip(" ")}'
            for text in (_format_value(item, inner, inner, cache) for item in value)
        )
    if isinstance(value, Mapping | list | tuple):
        return ' {}' if isinstance(value, Mapping) else ' []'
    return f' {_format_scalar(value)}'


@functools.lru_cache(maxsize=1 << 16, typed=True)
def _format_scalar(value: object) -> str:
    return _format_text(value) if isinstance(value, str) else _format_number(value)


def _format_text(text: str) -> str:
    """Return a text as YAML: plain, in single quotes, or as JSON with escapes."""
    if _PLAIN.fullmatch(text):
        resolvers = [*RESOLVERS.get(text[0], ()), *RESOLVERS.get(None, ())]
        if not any(pattern.match(text) for _, pattern in resolvers):
            return text
    if text.isprintable():
        return "'{}'".format(text.replace("'", "''"))
    return format_json(text)


def _format_number(value: object) -> str:
    """Return a number, a boolean or null as YAML."""
    text = json.dumps(value)
    # YAML requires a full stop before an exponent.
    return text if '.' in text else re.sub('(?<=[0-9])e', '.0e', text)
