# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report: its result."""

from collections import Counter
from collections.abc import Iterator, Sequence

from placementclient.basis.wording import counted, listed
from placementclient.model.findings import Severity
from placementclient.model.plans import Plan
from placementclient.render import style
from placementclient.render.findings import describe_cells_down
from placementclient.render.report import contents
from placementclient.render.report.contents import ClassFill, Fill, Report
from placementclient.render.units import format_amount

#: The marks of a sentence, as the style sheet names them.
GOOD, ATTENTION, BAD = 'good', 'attention', 'bad'
_DRAINS = {'yes': GOOD, 'no': BAD}
#: The most names in a sentence.
_NAMED = 4
#: The share of its capacity from which on a class is scarce.
_SCARCE = style.LEVELS[1][0]


#: A mark and a sentence.
Statement = tuple[str, str]


def state_verdict(
    report: Report, rooms: Sequence[ClassFill], changed: Sequence[tuple[str, Fill, Fill]]
) -> list[Statement]:
    """Return the first sentences of a report: about the plan, the drain, the cloud and the audit.

    :param rooms: the usage of each class
    :param changed: the usage of each class before and after the plan
    """
    statements = [*_judge_plan(report.plan, changed)] if report.plan else []
    if report.drain is not None:
        mark = _DRAINS.get(report.drain.verdict, ATTENTION)
        statements.append((mark, report.drain.messages[0]))
    down = [
        (ATTENTION, sentence) for sentence in describe_cells_down(report.cloud.hosts_of_cells_down)
    ]
    return [*statements, *_judge_cloud(report, rooms), _judge_audit(report), *down]


def _judge_plan(plan: Plan, changed: Sequence[tuple[str, Fill, Fill]]) -> Iterator[Statement]:
    """Yield sentences about the amounts and capacities that a plan changes."""
    renamed = _sum_renamed(plan)
    differing = [
        f'{name} {format_amount(name, was.used)} before, {format_amount(name, becomes.used)} after'
        for name, was, becomes in changed
        if becomes.used != was.used + renamed.get(name, 0)
    ]
    moved = [
        f'{name} {format_amount(name, was.used)} used before and after'
        if was.used == becomes.used
        else f'{name} {format_amount(name, was.used)} used before, '
        f'{format_amount(name, becomes.used)} after'
        for name, was, becomes in changed
        if name in renamed
    ]
    if differing:
        yield ATTENTION, f'The used amounts change: {", ".join(differing)}'
    else:
        yield GOOD, f'Nothing is lost: {", ".join(moved) or "no allocation changes"}'
    capacities = [
        f'{name} {format_amount(name, was.capacity)} before, '
        f'{format_amount(name, becomes.capacity)} after'
        for name, was, becomes in changed
        if was.capacity != becomes.capacity
    ]
    if capacities:
        yield ATTENTION, f'The capacity changes: {", ".join(capacities)}'
    if plan.left_out:
        names = listed([tree.root_provider_name for tree in plan.left_out], _NAMED)
        yield ATTENTION, f'The plan leaves out {names}'


def _sum_renamed(plan: Plan) -> Counter[str]:
    """Return by class how much the moves of a plan add to the usage, by giving amounts another
    class.
    """
    renamed: Counter[str] = Counter()
    for row in (row for change in plan.changes for row in change.reasons):
        renamed[row.resource_class] -= row.amount
        renamed[row.to_resource_class] += row.amount
    return renamed


def _judge_cloud(report: Report, rooms: Sequence[ClassFill]) -> Iterator[Statement]:
    """Yield sentences about the hosts over capacity and about the fullest classes."""
    over = sorted({f.subject for f in report.audit.findings if f.kind == 'over-capacity'})
    if over:
        verb = 'is' if len(over) == 1 else 'are'
        yield BAD, f'{listed(over, _NAMED)} {verb} over capacity'
    elif rooms:
        yield GOOD, 'No host is over its capacity'
    fills = {room.line.resource_class: room.line for room in rooms}
    shares = {name: style.compute_share(fill.used, fill.capacity) for name, fill in fills.items()}
    fullest = sorted(shares, key=lambda name: (-shares[name], name))
    texts = {name: f'{name} {contents.format_percent(fills[name])}' for name in fullest}
    if scarce := [texts[name] for name in fullest if shares[name] >= _SCARCE]:
        yield ATTENTION, f'Scarce in the whole cloud: {listed(scarce, _NAMED)} used'
    elif fullest:
        yield GOOD, f'The fullest class of the whole cloud: {texts[fullest[0]]} used'


def _judge_audit(report: Report) -> Statement:
    """Return the sentence about the number of findings."""
    counts = Counter(finding.severity for finding in report.audit.findings)
    if not counts:
        return GOOD, 'The audit found nothing to fix'
    parts = [
        counted(counts[severity], 'remark' if severity is Severity.INFO else severity.value)
        for severity in Severity
        if counts[severity]
    ]
    mark = BAD if counts[Severity.ERROR] else ATTENTION if counts[Severity.WARNING] else GOOD
    return mark, f'The audit found {" and ".join(parts)}'
