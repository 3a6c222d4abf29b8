"""The table of what an audit found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from placementclient.insight.audit.findings import Finding
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts

_FINDING = Columns(
    Column('id'),
    Column('severity'),
    Column('subject', attrgetter('fault.subject')),
    Column('evidence', lambda finding: Facts(finding.fault.evidence)),
    Column('command', attrgetter('fault.remedy')),
)


def rows(findings: Iterable[Finding], done: Mapping[int, str] | None = None) -> Output:
    """What was found.

    :param done: what came of mending it, by the finding's place, where that was tried
    """
    if done is None:
        return _FINDING.rows(findings)
    names, values = _FINDING.rows(findings)
    return (*names, 'fix'), [(*row, done.get(index, '')) for index, row in enumerate(values)]
