"""The texts about checks of an audit, for a terminal and for the page of the documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from functools import partial

from placementclient.insight.audit.findings import Check
from placementclient.insight.audit.texts import Explanation, explanation
from placementclient.render.columns import Column, Columns, Output

#: The headings of the fields after the first.
_HEADINGS = Explanation(
    '', 'Why it matters', 'Is the fix safe?', 'How to look yourself', 'Example of the evidence'
)
_WIDTH = 100
_INDENT = '  '


def _plain(text: str) -> str:
    return text.replace('``', '')


def _field(name: str, check: Check) -> str:
    return _plain(getattr(explanation(check.find), name))


def _needs(check: Check) -> str:
    return ', '.join(f'--{name}' for name in check.needs)


#: Items are checks.
_CHECK = Columns(
    Column('id'),
    Column('severity', lambda check: check.severity.value),
    Column('needs', lambda check: list(check.needs)),
    *(Column(name, partial(_field, name)) for name in Explanation._fields),
)


def rows(checks: Iterable[Check]) -> Output:
    """The texts as data: a row for each check."""
    return _CHECK.rows(checks)


def lines(check: Check, width: int) -> Iterator[str]:
    """The text about a check, for a terminal.

    :param width: the longest line, in characters
    """
    text = explanation(check.find)
    needs = f', needs {_needs(check)}' if check.needs else ''
    yield f'{check.id} ({check.severity.value}{needs})'
    for heading, paragraph in zip(_HEADINGS, text, strict=True):
        yield ''
        indent = _INDENT if heading else ''
        if heading:
            yield f'{heading}:'
        yield from textwrap.wrap(
            _plain(paragraph), width, initial_indent=indent, subsequent_indent=indent,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def sections(checks: Iterable[Check]) -> Iterator[str]:
    """The section of the documentation about each check, as reStructuredText."""
    for check in checks:
        text = explanation(check.find)
        needs = f' Needs {_literal(check.needs)}.' if check.needs else ''
        paragraph = [
            f'*{check.severity.value.capitalize()}.*{needs} {text.finds}',
            *(
                f'**{heading}** {each}'
                for heading, each in zip(_HEADINGS[1:], text[1:], strict=True)
            ),
        ]
        yield '\n\n'.join((f'{check.id}\n{"-" * len(check.id)}', *map(_filled, paragraph)))


def _literal(names: Iterable[str]) -> str:
    return ', '.join(f'``--{name}``' for name in names)


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
