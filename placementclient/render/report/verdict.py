# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: its result, the worst first."""

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.audit.checks import CHECKS
from placementclient.model.findings import Severity
from placementclient.model.plans import Plan
from placementclient.render import findings, style
from placementclient.render.audit_checks import describe_check
from placementclient.render.facts import add_server_name
from placementclient.render.report import contents
from placementclient.render.report.contents import ClassFill, DrainSection, FillChange, Report
from placementclient.render.units import format_amount

#: The most names in a sentence, and in that about the worst finding, which is in large letters.
_NAMED, _NAMED_LARGE = 4, 2
#: The share of its capacity from which on a class is scarce.
_SCARCE = style.LEVELS[1][0]


class Mark(enum.StrEnum):
    """The mark of a sentence on the page, as the style sheet names it; the worst comes first."""

    BAD = 'bad'
    ATTENTION = 'attention'
    GOOD = 'good'


_OF_DRAINS = {'yes': Mark.GOOD, 'no': Mark.BAD}
_OF_FINDINGS = {Severity.ERROR: Mark.BAD, Severity.WARNING: Mark.ATTENTION}


class Statement(NamedTuple):
    """A sentence of the report's result, without its full stop, and its mark."""

    mark: Mark
    text: str


def list_statements(
    report: Report, class_fills: Sequence[ClassFill], changes: Sequence[FillChange]
) -> list[Statement]:
    """Return the result of a report in sentences, the worst first.

    Equally bad ones are about the plan, the drain, the audit and the cloud, in this order.

    :param class_fills: the usage of each class in the cloud
    :param changes: the usage of each class before and after the plan
    """
    statements = [
        *(_describe_plan(report.plan, changes) if report.plan else ()),
        *(_judge_drain(report.drain) if report.drain else ()),
        *_judge_audit(report),
        *_judge_cloud(report, class_fills),
    ]
    worst_first = list(Mark)
    return sorted(statements, key=lambda statement: worst_first.index(statement.mark))


def _describe_plan(plan: Plan, changes: Sequence[FillChange]) -> Iterator[Statement]:
    """Yield sentences on the used amounts, the capacities and the trees that a plan leaves out."""
    renamed = _sum_class_changes(plan)
    differing, moved, capacities = [], [], []
    for name, was, becomes, _ in changes:
        before, after = format_amount(name, was.used), format_amount(name, becomes.used)
        if becomes.used != was.used + renamed.get(name, 0):
            differing.append(f'{name} {before} before, {after} after')
        if name in renamed:
            is_same = was.used == becomes.used
            moved.append(f'{name} {before} used before{" and" if is_same else f", {after}"} after')
        if was.capacity != becomes.capacity:
            before, after = (format_amount(name, fill.capacity) for fill in (was, becomes))
            capacities.append(f'{name} {before} before, {after} after')
    if differing:
        yield Statement(Mark.ATTENTION, f'The used amounts change: {", ".join(differing)}')
    else:
        text = ', '.join(moved) or 'no allocation changes'
        yield Statement(Mark.GOOD, f'Nothing is lost: {text}')
    if capacities:
        yield Statement(Mark.ATTENTION, f'The capacity changes: {", ".join(capacities)}')
    if plan.left_out:
        names = join_names([tree.root_provider_name for tree in plan.left_out], _NAMED)
        yield Statement(Mark.ATTENTION, f'The plan leaves out {names}')


def _sum_class_changes(plan: Plan) -> Counter[str]:
    """Return, by class, the amounts that a plan turns into the class minus those out of it."""
    renamed: Counter[str] = Counter()
    for row in (row for change in plan.changes for row in change.reasons):
        renamed[row.resource_class] -= row.amount
        renamed[row.to_resource_class] += row.amount
    return renamed


def _judge_drain(drain: DrainSection) -> Iterator[Statement]:
    """Yield the sentence that answers whether the hosts can be emptied."""
    yield Statement(_OF_DRAINS.get(drain.verdict, Mark.ATTENTION), drain.messages[0])


def _judge_audit(report: Report) -> Iterator[Statement]:
    """Yield the worst finding in the words of the audit, and the numbers of findings.

    Without findings, say how many checks were made. Cells that do not answer have a sentence, too.
    """
    audit, cloud = report.audit, report.cloud
    if audit.findings:
        worst = findings.sort_by_severity(audit.findings)[0]
        mark = _OF_FINDINGS.get(worst.severity, Mark.GOOD)
        subjects = dict.fromkeys(f.subject for f in audit.findings if f.kind == worst.kind)
        names = join_names([add_server_name(s, cloud.servers) for s in subjects], _NAMED_LARGE)
        yield Statement(mark, f'{names}: {describe_check(worst.kind).removesuffix(".")}')
        yield Statement(mark, f'Audit: {_count_findings(report)}')
    else:
        checks = len(CHECKS) - len(audit.left_out)
        yield Statement(Mark.GOOD, findings.describe_clean_audit(checks, cloud, ()))
    for sentence in findings.describe_cells_down(cloud.hosts_of_cells_down):
        yield Statement(Mark.ATTENTION, sentence)


def _count_findings(report: Report) -> str:
    """Return the number of findings of each severity: ``1 error, 2 warnings, 3 info``."""
    counts = Counter(finding.severity for finding in report.audit.findings)
    return ', '.join(
        f'{counts[severity]} info'
        if severity is Severity.INFO
        else format_count(counts[severity], severity.value)
        for severity in Severity
        if counts[severity]
    )


def _judge_cloud(report: Report, class_fills: Sequence[ClassFill]) -> Iterator[Statement]:
    """Yield a sentence if no host is over its capacity, and one about the fullest classes."""
    if class_fills and all(f.kind != 'over-capacity' for f in report.audit.findings):
        yield Statement(Mark.GOOD, 'No host is over its capacity')
    lines = {fill.line.resource_class: fill.line for fill in class_fills}
    shares = {
        name: style.compute_used_share(line.used, line.capacity) for name, line in lines.items()
    }
    fullest = sorted(shares, key=lambda name: (-shares[name], name))
    texts = {name: f'{name} {contents.format_percent(lines[name])}' for name in fullest}
    if scarce := [texts[name] for name in fullest if shares[name] >= _SCARCE]:
        yield Statement(
            Mark.ATTENTION, f'Scarce in the whole cloud: {join_names(scarce, _NAMED)} used'
        )
    elif fullest:
        yield Statement(
            Mark.GOOD, f'The fullest class of the whole cloud: {texts[fullest[0]]} used'
        )
