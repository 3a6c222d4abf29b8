"""A check of an audit; the docstring of its function is the text for operators."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding, Severity

#: What begins each paragraph after the first ones, and the field that it is.
LABELS = {
    'Why it matters': 'matters',
    'Safe to fix': 'fix',
    'Look yourself': 'look',
    'Example': 'example',
}


class CheckText(NamedTuple):
    """The text about a check; commands and names are in double backquotes."""

    summary: str
    details: str
    matters: str
    fix: str
    look: str
    example: str


class MissingFields(Exception):
    """The records of a list lack what a check compares; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an audit.

    :param find: its docstring is the text of the documentation, with paragraphs that begin with
        :data:`LABELS`; it may raise :class:`MissingFields`
    :param needs: the lists of other services that it cannot do without, by the option for each
    :param also: the lists that it looks at where they are there
    :param is_of_moments: whether it compares answers from different moments
    """

    id: str
    severity: Severity
    find: Callable[[Cloud], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    is_of_moments: bool = False

    @property
    def text(self) -> CheckText:
        summary, *paragraphs = (inspect.getdoc(self.find) or '').split('\n\n')
        fields = dict.fromkeys(CheckText._fields, '') | {'summary': ' '.join(summary.split())}
        for paragraph in paragraphs:
            text = ' '.join(paragraph.split())
            label, colon, rest = text.partition(': ')
            if colon and label in LABELS:
                fields[LABELS[label]] = rest
            else:
                fields['details'] = f'{fields["details"]} {text}'.strip()
        return CheckText(**fields)
