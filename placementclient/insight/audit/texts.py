"""The text about each check: the docstring of the function that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

#: What begins each paragraph after the first ones, and the field that it is.
_LABELS = {
    'Why it matters': 'matters',
    'Safe to fix': 'fix',
    'Look yourself': 'look',
    'Example': 'example',
}


class Explanation(NamedTuple):
    """What an operator should know of a check; commands and names are in double backquotes.

    :param finds: what it finds, and what it leaves alone
    :param matters: why it matters
    :param fix: whether the fix is safe
    :param look: how to see it without this command
    :param example: the evidence of a finding
    """

    finds: str
    matters: str
    fix: str
    look: str
    example: str


def explanation(find: Callable[..., Any]) -> Explanation:
    """Return the explanation of a check.

    :param find: the function that makes it
    """
    fields: dict[str, list[str]] = {'finds': []}
    for paragraph in (inspect.getdoc(find) or '').split('\n\n'):
        text = ' '.join(paragraph.split())
        label, colon, rest = text.partition(': ')
        if colon and label in _LABELS:
            fields[_LABELS[label]] = [rest]
        else:
            fields['finds'].append(text)
    return Explanation(**{name: ' '.join(texts) for name, texts in fields.items()})
