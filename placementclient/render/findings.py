"""The table of what an audit found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.consumers import DOUBTFUL
from placementclient.insight.audit.findings import Fault, Finding
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts
from placementclient.render.repairs import command
from placementclient.wording import counted

_FINDING = Columns(
    Column('id'),
    Column('severity'),
    Column('subject', attrgetter('fault.subject')),
    Column('evidence', lambda finding: Facts(finding.fault.evidence)),
)


def nothing(checks: int, cloud: Cloud, roots: Collection[str]) -> str:
    """What was looked at, where nothing was found.

    :param checks: how many were made
    :param roots: those of the trees that were looked at; none: all
    """
    trees = roots or cloud.topology.trees.keys()
    states = [state for root in trees for state in cloud.topology.trees[root]]
    held = {c.uuid for state in states for c in cloud.snapshot.consumers_on(state.uuid)}
    found = (
        f'Nothing found: {counted(checks, "check")} of {counted(len(trees), "tree")} with '
        f'{counted(len(states), "provider")} and {counted(len(held), "consumer")}'
    )
    missing = unknown(cloud)
    return f'{found}, without a list of {" and of ".join(missing)}' if missing else found


def unknown(cloud: Cloud) -> list[str]:
    """What nobody has listed."""
    return [
        what
        for what, listed in (('servers', cloud.servers), ('migrations', cloud.migrations))
        if listed is None
    ]


def doubts(found: Sequence[Finding]) -> Iterator[str]:
    """What speaks against the list of servers that something was found by."""
    number = sum(finding.fault.doubt == DOUBTFUL for finding in found)
    if number:
        yield f'{counted(number, "finding")} may be none: {DOUBTFUL}'


def rows(
    found: Sequence[Finding],
    program: str,
    done: Mapping[int, str] | None = None,
    lists: Mapping[str, str] | None = None,
) -> Output:
    """What was found, and what to type against it.

    :param program: the name of the one that is running
    :param done: what came of mending it, by the finding's place, where that was tried
    :param lists: the files of servers and migrations, by the option of ``allocation heal`` for each
    """
    columns = _FINDING + Columns(
        Column('command', lambda finding: command(finding.fault.remedy, program, lists))
    )
    names, values = columns.rows(found)
    if done is None:
        return names, values
    ends = [done.get(place) or _left(finding.fault) for place, finding in enumerate(found)]
    return (*names, 'fix'), [(*row, end) for row, end in zip(values, ends, strict=True)]


def _left(fault: Fault) -> str:
    return f'left to you: {fault.doubt}' if fault.doubt else 'left to you'
