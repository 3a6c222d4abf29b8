"""The content of a report: amounts by class, and the effect of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.insight.audit.checks import Audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.capacity import totals
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.consumers import gained
from placementclient.model.plans import Plan, TreeChange
from placementclient.model.snapshots import ProviderState
from placementclient.render import style
from placementclient.render.repairs import Invocation

#: Trees are counted by how full they are in so many steps: below 10 %, below 20 %, …
STEPS = 10


@dataclass(frozen=True, slots=True)
class Amount:
    used: int = 0
    capacity: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.used + other.used, self.capacity + other.capacity)


@dataclass(frozen=True, slots=True)
class WaveLine:
    """A wave of moves: how many servers, and the names of the hosts."""

    number: int
    servers: int
    sources: str
    targets: str


@dataclass(frozen=True, slots=True)
class HostLine:
    """The usage of a class on a host, whose name is empty where the line above has it."""

    host: str
    resource_class: str
    before: Amount
    after: Amount


@dataclass(frozen=True, slots=True)
class DrainPanel:
    """The part of the page about a drain.

    :param said: the answer in sentences
    :param left_out: how many hosts and waves are not shown
    """

    verdict: str
    said: list[str]
    emptied: list[str]
    hosts: list[HostLine]
    waves: list[WaveLine]
    left_out: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """The parts of a report.

    :param source: the name of the snapshot's file; empty: it was read just now
    :param made_at: UTC, as ISO 8601
    :param made_by: name and version of the program
    :param assuming: the names of the files of assumptions under which all of it holds
    :param title: the title that the operator gave; empty: the page says what it has
    :param cloud_name: the name of the cloud and its region; empty if they are not known
    """

    cloud: Cloud
    audit: Audit
    plan: Plan | None
    source: str
    made_at: str
    made_by: str
    invocation: Invocation
    assuming: tuple[str, ...] = ()
    drain: DrainPanel | None = None
    title: str = ''
    cloud_name: str = ''

    @property
    def heading(self) -> str:
        return self.title or ('Reshape plan and capacity' if self.plan else 'Capacity report')


@dataclass(frozen=True, slots=True)
class ClassFill:
    """The capacity of one class over all providers, and the number of trees by usage.

    :param spread: how many trees are how full, in :data:`STEPS` steps; the last one has those
        that are over their capacity too
    """

    line: TotalsLine
    spread: tuple[int, ...]

    @property
    def trees(self) -> int:
        return sum(self.spread)


#: By resource class.
Amounts = Mapping[str, Amount]


def room(cloud: Cloud) -> list[ClassFill]:
    """Return a line for each class, as in ``capacity show --by class``."""
    spread: dict[str, list[int]] = {}
    for states in cloud.topology.trees.values():
        for name, amount in together(map(of_state, states)).items():
            counts = spread.setdefault(name, [0] * STEPS)
            counts[_step(amount)] += 1
    return [
        ClassFill(line, tuple(spread[line.resource_class]))
        for line in totals.by_class(cloud.snapshot)
    ]


class HostFill(NamedTuple):
    """The fullest class of a host."""

    host: str
    resource_class: str
    amount: Amount


def heat(cloud: Cloud) -> list[HostFill]:
    """Return the fullest class of each tree that has inventory, by the name of its root."""
    fills = []
    for root_uuid, states in cloud.topology.trees.items():
        amounts = together(map(of_state, states))
        if amounts:
            fullest = max(amounts, key=lambda n: style.part(amounts[n].used, amounts[n].capacity))
            name = cloud.snapshot.providers[root_uuid].name
            fills.append(HostFill(name, fullest, amounts[fullest]))
    return fills


def _step(amount: Amount) -> int:
    return min(int(style.part(amount.used, amount.capacity) * STEPS), STEPS - 1)


def together(found: Iterator[Amounts]) -> dict[str, Amount]:
    sums: dict[str, Amount] = {}
    for amounts in found:
        for name, amount in amounts.items():
            sums[name] = sums.get(name, Amount()) + amount
    return sums


def of_state(state: ProviderState) -> dict[str, Amount]:
    return {
        name: Amount(state.used(name), inventory.capacity)
        for name, inventory in state.inventories.items()
    }


def after(tree: TreeChange) -> dict[str, dict[str, Amount]]:
    """Return the amounts of each provider after the plan of a tree: by UUID and by class."""
    gains = gained((each.before.allocations, each.after.allocations) for each in tree.consumers)
    return {
        change.uuid: {
            name: Amount(
                change.content_before.used(name) + gains[change.uuid][name], inventory.capacity
            )
            for name, inventory in change.content_after.inventories.items()
        }
        for change in tree.providers
    }


def changed(plan: Plan) -> list[tuple[str, Amount, Amount]]:
    """Of each class what the providers of a plan have, all together, before and after it."""
    first: dict[str, Amounts] = {}
    last: dict[str, Amounts] = {}
    for tree in plan.trees:
        for change in tree.providers:
            # What several trees change is after one what it is before the next.
            first.setdefault(change.uuid, of_state(change.content_before))
        last |= after(tree)
    was, becomes = together(iter(first.values())), together(iter(last.values()))
    return [
        (name, was.get(name, Amount()), becomes.get(name, Amount()))
        for name in sorted(was.keys() | becomes.keys())
    ]


def percent(amount: Amount | totals.Amounts) -> str:
    """Return the usage in percent, rounded down: only a full provider has 100 %."""
    if amount.capacity <= 0:
        return '–'
    whole = 100 * amount.used // amount.capacity
    return '< 1 %' if amount.used and not whole else f'{whole} %'
