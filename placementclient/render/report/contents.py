# SPDX-License-Identifier: Apache-2.0
"""The content of a report: amounts by class, and the effect of a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from placementclient.insight.audit.checks import Audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.capacity import totals
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.consumers import sum_gains
from placementclient.model.plans import Change, ConsumerChange, Plan, PlannedRow, RowLabel
from placementclient.model.snapshots import ProviderState
from placementclient.render import style
from placementclient.render.repairs import Invocation

#: Trees are counted by how full they are in so many steps: below 10 %, below 20 %, …
STEPS = 10


@dataclass(frozen=True, slots=True)
class Fill:
    """The usage and the capacity of a class."""

    used: int = 0
    capacity: int = 0

    def __add__(self, other: Fill) -> Fill:
        return Fill(self.used + other.used, self.capacity + other.capacity)


class FillChange(NamedTuple):
    """The usage and the capacity of a class before and after a plan or a drain.

    :param host: for a row of a drain; only the first row of a host has its name
    """

    resource_class: str
    before: Fill
    after: Fill
    host: str = ''


class Wave(NamedTuple):
    """Moves that may run at the same time.

    :param sources: the names of the hosts that servers leave
    :param targets: the names of the hosts to which servers go
    """

    number: int
    server_count: int
    sources: str
    targets: str


class DrainSection(NamedTuple):
    """The section of the page about a drain.

    :param messages: the answer in sentences
    :param emptied: the names of the hosts that are emptied
    :param hidden_hosts: how many hosts have no row
    :param hidden_waves: how many waves have no row
    """

    verdict: str
    messages: list[str]
    emptied: list[str]
    hosts: list[FillChange]
    waves: list[Wave]
    hidden_hosts: int
    hidden_waves: int


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report: the cloud, its audit, and a plan and a drain if there are any.

    :param source: the name of the snapshot's file; empty: it was read just now
    :param made_at: UTC, as ISO 8601
    :param made_by: the program and its version
    :param assuming: the names of the files of assumptions that the cloud is under
    :param title: as the operator gave it; empty: the page has its own
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
    drain: DrainSection | None = None
    title: str = ''
    cloud_name: str = ''


class ClassFill(NamedTuple):
    """The capacity of one class over all providers, and the number of trees by usage.

    :param spread: the numbers of trees in :data:`STEPS` steps of usage; the last step has the trees
        that are over their capacity too
    """

    line: TotalsLine
    spread: list[int]

    @property
    def tree_count(self) -> int:
        """The number of trees with the class."""
        return sum(self.spread)


#: By resource class.
Fills = Mapping[str, Fill]


def list_class_fills(cloud: Cloud) -> list[ClassFill]:
    """Return the usage of each class, as in ``capacity show --by class``."""
    spread = defaultdict[str, list[int]](lambda: [0] * STEPS)
    for states in cloud.topology.trees.values():
        for name, amount in sum_fills(map(measure_provider, states)).items():
            step = int(style.compute_used_share(amount.used, amount.capacity) * STEPS)
            spread[name][min(step, STEPS - 1)] += 1
    return [
        ClassFill(line, spread[line.resource_class]) for line in totals.sum_by_class(cloud.snapshot)
    ]


class HostFill(NamedTuple):
    """The fullest class of a host, and its usage."""

    host: str
    resource_class: str
    fill: Fill


def list_host_fills(cloud: Cloud) -> list[HostFill]:
    """Return the fullest class of each tree that has inventory."""
    fills = []
    for root_uuid, states in cloud.topology.trees.items():
        amounts = sum_fills(map(measure_provider, states))
        if amounts:
            fullest = max(
                amounts,
                key=lambda n: style.compute_used_share(amounts[n].used, amounts[n].capacity),
            )
            fills.append(HostFill(cloud.get_name(root_uuid), fullest, amounts[fullest]))
    return fills


def sum_fills(parts: Iterable[Fills]) -> dict[str, Fill]:
    """Return the sums of usages and capacities, by class."""
    sums = defaultdict[str, Fill](Fill)
    for amounts in parts:
        for name, amount in amounts.items():
            sums[name] += amount
    return sums


def measure_provider(state: ProviderState) -> dict[str, Fill]:
    """Return the usage and the capacity of each class of a provider."""
    return {
        name: Fill(state.used(name), inventory.capacity)
        for name, inventory in state.inventories.items()
    }


def measure_fills_after(change: Change) -> dict[str, dict[str, Fill]]:
    """Return the usages and capacities after a change, by provider UUID and class."""
    gains = sum_gains((c.before.allocations, c.after.allocations) for c in change.consumers)
    return {
        provider.uuid: {
            name: Fill(
                provider.content_before.used(name) + gains[provider.uuid][name],
                inventory.capacity,
            )
            for name, inventory in provider.content_after.inventories.items()
        }
        for provider in change.providers
    }


def compare_fills(changes: Iterable[Change]) -> list[FillChange]:
    """Return the sums of usage and capacity of each class before and after some changes."""
    first: dict[str, Fills] = {}
    last: dict[str, Fills] = {}
    for tree in changes:
        for provider in tree.providers:
            # Several trees may change one provider: its first state counts here.
            first.setdefault(provider.uuid, measure_provider(provider.content_before))
        last |= measure_fills_after(tree)
    was, becomes = sum_fills(first.values()), sum_fills(last.values())
    return [
        FillChange(name, was[name], becomes[name]) for name in sorted(was.keys() | becomes.keys())
    ]


def format_percent(amount: Fill | TotalsLine) -> str:
    """Return the usage in percent, rounded down: only a full provider has 100 %."""
    if amount.capacity <= 0:
        return '–'
    whole = 100 * amount.used // amount.capacity
    return '< 1 %' if amount.used and not whole else f'{whole} %'


def add_planned_rows(plan: Plan) -> Plan:
    """Return a plan with a row for each amount that moves; a plan of a reshape has them already."""
    return replace(plan, changes=tuple(map(_add_row_for_each_move, plan.changes)))


def _add_row_for_each_move(change: Change) -> Change:
    states = {**change.before.providers, **change.after.providers}
    names = {uuid: state.name for uuid, state in states.items()}
    return replace(
        change,
        reasons=tuple(
            row for consumer in change.consumers for row in _pair_losses_with_gains(consumer, names)
        ),
    )


def _pair_losses_with_gains(
    change: ConsumerChange, names: Mapping[str, str]
) -> Iterator[PlannedRow]:
    """Yield a row for each amount that a consumer loses on one provider and gains on another.

    :param names: of providers, by UUID
    """
    gains: dict[str, dict[str, int]] = {}
    for uuid, name, gain in sorted(change.gains()):
        if gain:
            gains.setdefault(name, {})[uuid] = gain
    for name, by_provider in sorted(gains.items()):
        leaving = {uuid: -gain for uuid, gain in by_provider.items() if gain < 0}
        coming = {uuid: gain for uuid, gain in by_provider.items() if gain > 0}
        while leaving or coming:
            amount = min(next(iter(end.values())) for end in (leaving, coming) if end)
            ends = (
                _take_amount_from_first_provider(leaving, amount),
                _take_amount_from_first_provider(coming, amount),
            )
            source, target = (names.get(uuid or '', uuid) for uuid in ends)
            yield PlannedRow(change.uuid, name, amount, source, target, name, RowLabel.MAPPED)


def _take_amount_from_first_provider(by_provider: dict[str, int], amount: int) -> str | None:
    """Take an amount off the first of some providers; return its UUID, ``None`` without providers.

    :param by_provider: amounts by UUID; a provider with nothing left is removed
    """
    uuid = next(iter(by_provider), None)
    if uuid is not None:
        by_provider[uuid] -= amount
        if not by_provider[uuid]:
            del by_provider[uuid]
    return uuid
