"""The first sentences of a report: its result."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placementclient.client.wording import counted, listed
from placementclient.model.findings import Severity
from placementclient.model.plans import Plan
from placementclient.render import style
from placementclient.render.report import contents
from placementclient.render.report.contents import Amount, ClassFill, Report
from placementclient.render.units import sized

#: The marks of a sentence, as the style sheet names them.
GOOD, ATTENTION, BAD = 'good', 'attention', 'bad'
_DRAINS = {'yes': GOOD, 'no': BAD}
#: How many names a sentence has.
_NAMED = 4
#: From which part of its capacity on a class is scarce.
_SCARCE = style.LEVELS[1][0]


class Statement(NamedTuple):
    mark: str
    text: str


def verdict(report: Report, rooms: Sequence[ClassFill]) -> list[Statement]:
    """Return the first sentences: about the plan, the drain, the cloud.

    :param rooms: the fill of each class
    """
    found: list[Statement] = []
    if report.plan is not None:
        found += _of_plan(report.plan)
    if report.drain is not None:
        mark = _DRAINS.get(report.drain.verdict, ATTENTION)
        found.append(Statement(mark, report.drain.said[0]))
    return [*found, *_of_cloud(report, rooms)]


def _of_plan(plan: Plan) -> Iterator[Statement]:
    changed = contents.changed(plan)
    rows = [row for tree in plan.trees for row in tree.rows]
    renamed: Counter[str] = Counter()
    for row in rows:
        renamed[row.resource_class] -= row.amount
        renamed[row.to_resource_class] += row.amount
    touched = {name for row in rows for name in (row.resource_class, row.to_resource_class)}
    differing = [
        (name, sized(name, was.used), sized(name, becomes.used))
        for name, was, becomes in changed
        if becomes.used != was.used + renamed[name]
    ]
    if differing:
        said = ', '.join(
            f'{name} {was} before, {becomes} after' for name, was, becomes in differing
        )
        yield Statement(ATTENTION, f'The used amounts change: {said}')
    elif not rows:
        yield Statement(GOOD, 'Nothing is lost: no allocation changes')
    else:
        said = ', '.join(
            _kept(name, was, becomes) for name, was, becomes in changed if name in touched
        )
        yield Statement(GOOD, f'Nothing is lost: {said}')
    capacities = [
        f'{name} {sized(name, was.capacity)} before, {sized(name, becomes.capacity)} after'
        for name, was, becomes in changed
        if was.capacity != becomes.capacity
    ]
    if capacities:
        yield Statement(ATTENTION, f'The capacity changes: {", ".join(capacities)}')
    if plan.left_out:
        names = listed([tree.root_provider_name for tree in plan.left_out], _NAMED)
        yield Statement(ATTENTION, f'The plan leaves out {names}')


def _kept(name: str, was: Amount, becomes: Amount) -> str:
    if was.used == becomes.used:
        return f'{name} {sized(name, was.used)} used before and after'
    return f'{name} {sized(name, was.used)} used before, {sized(name, becomes.used)} after'


def _of_cloud(report: Report, rooms: Sequence[ClassFill]) -> Iterator[Statement]:
    over = sorted({each.subject for each in report.audit.findings if each.kind == 'over-capacity'})
    if over:
        verb = 'is' if len(over) == 1 else 'are'
        yield Statement(BAD, f'{listed(over, _NAMED)} {verb} over capacity')
    elif rooms:
        yield Statement(GOOD, 'No host is over its capacity')
    fills = {
        room.line.resource_class: (room.line.amounts.used, room.line.amounts.capacity)
        for room in rooms
    }
    fullest = sorted(fills, key=lambda name: (-style.part(*fills[name]), name))
    said = {name: f'{name} {contents.percent(Amount(*fills[name]))}' for name in fullest}
    if scarce := [said[name] for name in fullest if style.part(*fills[name]) >= _SCARCE]:
        yield Statement(ATTENTION, f'Scarce in the whole cloud: {listed(scarce, _NAMED)} used')
    elif fullest:
        yield Statement(GOOD, f'The fullest class of the whole cloud: {said[fullest[0]]} used')
    yield _of_audit(report)


def _of_audit(report: Report) -> Statement:
    counts = Counter(each.severity for each in report.audit.findings)
    if not counts:
        return Statement(GOOD, 'The audit found nothing to fix')
    said = [
        counted(counts[severity], 'remark' if severity is Severity.INFO else severity.value)
        for severity in Severity
        if counts[severity]
    ]
    mark = BAD if counts[Severity.ERROR] else ATTENTION if counts[Severity.WARNING] else GOOD
    return Statement(mark, f'The audit found {" and ".join(said)}')
