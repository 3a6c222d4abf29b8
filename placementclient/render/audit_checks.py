# SPDX-License-Identifier: Apache-2.0
"""The texts about checks of an audit."""

import re
import textwrap
from collections.abc import Iterable, Iterator

from placementclient.insight.audit.checks import LABELS, Check
from placementclient.render.columns import Output

COLUMNS = ('id', 'severity', 'needs', *LABELS)
_LITERAL = re.compile('``(.+?)``')


def _text(name: str, check: Check) -> str:
    """Return a text without markup; commands are in quotes, and stand out so."""
    text = check.texts[name]
    if name == 'example':
        return text.strip('`')
    return _LITERAL.sub(lambda match: f'"{match[1]}"' if ' ' in match[1] else match[1], text)


def rows(checks: Iterable[Check]) -> Output:
    return COLUMNS, [
        (c.id, c.severity.value, list(c.needs), *(_text(name, c) for name in LABELS))
        for c in checks
    ]


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
