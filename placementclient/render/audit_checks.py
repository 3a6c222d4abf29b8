"""The texts about checks of an audit."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import partial

from placementclient.insight.audit.checks import LABELS, Check
from placementclient.render.columns import Column, Columns, Output

_LITERAL = re.compile('``(.+?)``')


def _text(name: str, check: Check) -> str:
    """Return a text without markup; commands are in quotes, and stand out so."""
    text = check.texts[name]
    if name == 'example':
        return text.strip('`')
    return _LITERAL.sub(lambda match: f'"{match[1]}"' if ' ' in match[1] else match[1], text)


#: Items are checks.
_CHECK = Columns(
    Column('id'),
    Column('severity', lambda check: check.severity.value),
    Column('needs', lambda check: list(check.needs)),
    *(Column(name, partial(_text, name)) for name in LABELS),
)
#: The names of the columns of :func:`rows`.
COLUMNS = _CHECK.names


def rows(checks: Iterable[Check]) -> Output:
    return _CHECK.rows(checks)


def lines(check: Check, width: int) -> Iterator[str]:
    """Return the text about a check for a terminal; the width of lines is in characters."""
    needs = ' and '.join(f'--{name}' for name in check.needs)
    yield f'{check.id} ({check.severity.value}{needs and ", needs "}{needs})'
    for name, label in LABELS.items():
        if text := _text(name, check):
            yield ''
            yield from textwrap.wrap(
                f'{label}{text}', width, break_long_words=False, break_on_hyphens=False
            )
