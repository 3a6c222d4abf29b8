"""The results of rules: rows, sentences, and JUnit's XML for a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from xml.sax.saxutils import escape, quoteattr

from placementclient.client.printable import printable
from placementclient.client.wording import counted
from placementclient.insight.rules.rules import Checked
from placementclient.render.columns import Column, Columns, Output

_BREACH = Columns(
    Column('rule', lambda pair: pair[0].rule.name),
    Column('subject', lambda pair: pair[1].subject),
    Column('expected', lambda pair: pair[1].expected),
    Column('found', lambda pair: pair[1].found),
)


def rows(checked: Sequence[Checked]) -> Output:
    """A row for each place where a rule does not hold."""
    return _BREACH.rows([(each, breach) for each in checked for breach in each.breaches])


def nothing(checked: Sequence[Checked]) -> str:
    """Return the extent of a check in which every rule holds."""
    return f'Every rule holds, of {counted(len(checked), "rule")}'


def notes(checked: Sequence[Checked]) -> Iterator[str]:
    """Sentences on rules that are about nothing."""
    for each in filter(attrgetter('note'), checked):
        yield f'The rule "{each.rule.name}" holds, as it is about nothing: {each.note}'


def junit(checked: Sequence[Checked], path: str) -> str:
    """The same as a report of JUnit: a rule is a test case, one about nothing is skipped.

    :param path: the file of the rules
    """
    failed, skipped = (
        sum(map(bool, map(attrgetter(name), checked))) for name in ('breaches', 'note')
    )
    return '\n'.join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuite name={_quoted(path)} tests="{len(checked)}" failures="{failed}" '
            f'errors="0" skipped="{skipped}">',
            *(line for each in checked for line in _case(each, path)),
            '</testsuite>\n',
        ]
    )


def _case(checked: Checked, path: str) -> Iterator[str]:
    name = f'  <testcase classname={_quoted(path)} name={_quoted(checked.rule.name)}'
    if checked.breaches:
        message = f'broken in {counted(len(checked.breaches), "place")}'
        said = '\n'.join(
            f'{each.subject}: expected {each.expected}, found {each.found}'
            for each in checked.breaches
        )
        yield f'{name}><failure message="{message}">{escape(printable(said))}</failure></testcase>'
    elif checked.note:
        yield f'{name}><skipped message={_quoted(checked.note)}/></testcase>'
    else:
        yield f'{name}/>'


def _quoted(text: str) -> str:
    # XML has no place for control characters, not even escaped.
    return quoteattr(printable(text))
