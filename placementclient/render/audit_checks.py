# SPDX-License-Identifier: Apache-2.0
"""The texts about checks of an audit."""

import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from placementclient.basis.wording import replace_program
from placementclient.insight.audit.checks import Check
from placementclient.render.columns import Output
from placementclient.render.lines import wrap_lines

#: The beginning of the paragraph of each text about a check.
LABELS = {
    'summary': '',
    'details': '',
    'matters': 'Why it matters: ',
    'fix': 'Safe to fix: ',
    'look': 'Look yourself: ',
    'example': 'Example: ',
}
#: All paragraphs: that of the template of the evidence, with clauses between bars, is not shown.
_PARAGRAPHS = LABELS | {'evidence': 'Evidence: '}
COLUMNS = ('id', 'severity', 'needs', *LABELS)
_LITERAL = re.compile('``(.+?)``')


@cache
def read_check_texts() -> str:
    """Return ``audit_checks.txt``: the texts of all checks, each after its ID in brackets."""
    return (pkgutil.get_data(__package__, 'audit_checks.txt') or b'').decode()


def find_check_texts(check_id: str) -> Mapping[str, str]:
    """Return the texts about a check by the keys of :data:`LABELS`, and its ``evidence`` template.

    Literals are in double backquotes.
    """
    section = read_check_texts().partition(f'[{check_id}]\n')[2].partition('\n[')[0]
    summary, *others = (' '.join(paragraph.split()) for paragraph in section.split('\n\n'))
    result = dict.fromkeys(_PARAGRAPHS, '') | {'summary': summary}
    for text in others:
        fields = (field for field, label in _PARAGRAPHS.items() if label and text.startswith(label))
        field = next(fields, 'details')
        result[field] = f'{result[field]} {text.removeprefix(_PARAGRAPHS[field])}'.strip()
    return result


def describe_check(check_id: str) -> str:
    """Return the sentence that says what a check finds, without markup."""
    return find_check_texts(check_id)['summary'].replace('``', '')


def _make_plain_text(label: str, check: Check, program: str) -> str:
    """Return a text about a check without markup; commands are in quotes.

    :param label: a key of :data:`LABELS`
    :param program: the name of the program whose commands the text has
    """
    text = replace_program(find_check_texts(check.id)[label], program)
    if label == 'example':
        return text.strip('`')
    return _LITERAL.sub(lambda match: f'"{match[1]}"' if ' ' in match[1] else match[1], text)


def list_checks(checks: Iterable[Check], program: str = 'placement') -> Output:
    """Return a table with a row for each check.

    :param program: the name of the program whose commands the texts have
    """
    return COLUMNS, [
        (
            c.id,
            c.severity.value,
            list(c.needs),
            *(_make_plain_text(name, c, program) for name in LABELS),
        )
        for c in checks
    ]


def format_check(check: Check, width: int, program: str = 'placement') -> Iterator[str]:
    """Yield the lines of the text about a check.

    :param width: of the longest line, in characters
    :param program: the name of the program whose commands the text has
    """
    needs = ' and '.join(f'--{name}' for name in check.needs)
    yield f'{check.id} ({check.severity.value}{needs and ", needs "}{needs})'
    for name, label in LABELS.items():
        if text := _make_plain_text(name, check, program):
            yield ''
            yield from wrap_lines([f'{label}{text}'], width, hanging=0)
