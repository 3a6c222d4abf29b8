"""A check of an audit; the docstring of its function is the text for operators."""

from __future__ import annotations

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
    """The text about a check; commands and names are in double backquotes.

    :param summary: what it finds, a sentence
    :param details: what it compares, and what it leaves alone; may be empty
    :param matters: why it matters
    :param fix: whether the fix is safe
    :param look: how to see it without this command
    :param example: the facts of a finding
    """

    summary: str
    details: str
    matters: str
    fix: str
    look: str
    example: str


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an audit.

    :param find: the function that makes it; its docstring is the text of the documentation, with
        paragraphs that begin with :data:`LABELS`
    :param needs: the lists of other services that it cannot do without, by the option for each
    :param also: the lists that it looks at where they are there
    :param gap: says why the lists that are there are not enough; empty if they are
    :param is_of_two_answers: whether it compares two answers of Placement with each other
    """

    id: str
    severity: Severity
    find: Callable[[Cloud], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    gap: Callable[[Cloud], str] | None = None
    is_of_two_answers: bool = False

    @property
    def is_of_moments(self) -> bool:
        """Return True if the check compares answers from different moments."""
        return bool(self.needs or self.also or self.is_of_two_answers)

    @property
    def text(self) -> CheckText:
        """Return the text about the check for an operator."""
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
