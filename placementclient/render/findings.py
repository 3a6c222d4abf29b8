"""The table of what an audit found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from placementclient.insight.audit.findings import Finding
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts
from placementclient.render.repairs import command

_FINDING = Columns(
    Column('id'),
    Column('severity'),
    Column('subject', attrgetter('fault.subject')),
    Column('evidence', lambda finding: Facts(finding.fault.evidence)),
)


def rows(
    findings: Iterable[Finding], program: str, done: Mapping[int, str] | None = None
) -> Output:
    """What was found, and what to type against it.

    :param program: the name of the one that is running
    :param done: what came of mending it, by the finding's place, where that was tried
    """
    columns = _FINDING + Columns(
        Column('command', lambda finding: command(finding.fault.remedy, program))
    )
    names, values = columns.rows(findings)
    if done is None:
        return names, values
    return (*names, 'fix'), [(*row, done.get(index, '')) for index, row in enumerate(values)]
