"""The text about each check: the docstring of the function that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

#: What begins each paragraph after the first ones, and the field that it is.
LABELS = {
    'Why it matters': 'matters',
    'Safe to fix': 'fix',
    'Look yourself': 'look',
    'Example': 'example',
}


class CheckText(NamedTuple):
    """The text about a check; commands and names are in double backquotes.

    :param summary: what it finds, a sentence
    :param details: what it compares, and what it leaves alone; may be empty
    :param matters: why it matters
    :param fix: whether the fix is safe
    :param look: how to see it without this command
    :param example: the evidence of a finding
    """

    summary: str
    details: str
    matters: str
    fix: str
    look: str
    example: str


def explanation(find: Callable[..., Any]) -> CheckText:
    """Return the explanation of a check.

    :param find: the function that makes it
    """
    summary, *paragraphs = (inspect.getdoc(find) or '').split('\n\n')
    fields = dict.fromkeys(CheckText._fields, '') | {'summary': ' '.join(summary.split())}
    for paragraph in paragraphs:
        text = ' '.join(paragraph.split())
        label, colon, rest = text.partition(': ')
        if colon and label in LABELS:
            fields[LABELS[label]] = rest
        else:
            fields['details'] = f'{fields["details"]} {text}'.strip()
    return CheckText(**fields)
