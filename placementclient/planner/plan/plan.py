"""The plan of a reshape: the state before and after it, with the reasons.

A plan is self-contained: it has the specification and the assignment rows that it was made with,
so that a tree that has changed since can be planned again.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from placementclient.changes.diff import diff
from placementclient.changes.operations import ConsumerChange, Operation, Reshape
from placementclient.changes.simulation import simulate
from placementclient.client.strict_json import Integer
from placementclient.model.assignments import AssignmentRow
from placementclient.model.origin import Origin
from placementclient.model.planned_trees import PlannedTrees
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.plan.state_changes import ProviderChange, ProviderContent
from placementclient.planner.specification.values import Spec


class Label(enum.StrEnum):
    """The reason why a row goes to its place."""

    MAPPED = 'mapped'
    FORCED = 'forced'
    INFERRED = 'inferred'


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """An amount of one class of one consumer, and the place that it gets.

    :param resource_class: its name on the source
    :param amount: in units of the class
    :param from_provider: the source's name; ``None`` of what Placement never had
    :param to_provider: the target's name: the source's own, if the amount stays; ``None`` on the
        way back of what was added
    :param to_resource_class: the name of the class on the target
    :param evidence: the operator's, for a mapped row
    """

    consumer_uuid: str
    resource_class: str
    amount: Integer
    from_provider: str | None
    to_provider: str | None
    to_resource_class: str
    label: Label
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class InventoryMove:
    """Inventory of one class that moves from one provider to another; both are names."""

    from_provider: str
    resource_class: str
    to_provider: str
    to_resource_class: str
    amount: Integer


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that an operator should know before the plan is applied.

    :param kind: stable, for programs: ``capacity-lost``, ``overcommitted``, …
    :param message: one sentence without its full stop
    :param facts: the figures and names that the message is made of
    """

    kind: str
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TreePlan:
    """The plan of one tree, or of several that share a target or a consumer.

    It is applied as a whole, or not at all.

    :param providers: every provider concerned, parents before their children; a sharing provider
        of another tree may be among them
    :param consumers: every consumer whose allocations change
    :param rows: who goes where, by consumer and class
    :param joined: the names of the roots of the other trees, by UUID
    :param residents: consumers that hold a moved class on a target of this tree from before, and
        keep it there, also on the way back
    :param moves: the inventory that moves
    """

    root_provider_uuid: str
    root_provider_name: str
    providers: tuple[ProviderChange, ...]
    consumers: tuple[ConsumerChange, ...]
    rows: tuple[PlannedRow, ...]
    warnings: tuple[Notice, ...] = ()
    joined: Mapping[str, str] = field(default_factory=dict)
    residents: tuple[str, ...] = ()
    moves: tuple[InventoryMove, ...] = ()

    @property
    def roots(self) -> dict[str, str]:
        """The names of the roots of all its trees, by UUID; the first one names the plan."""
        return {self.root_provider_uuid: self.root_provider_name, **self.joined}

    def created(self) -> Iterator[ProviderChange]:
        """The providers that are made, parents before their children."""
        return (change for change in self.providers if change.is_created)

    @property
    def is_empty(self) -> bool:
        """Return True if nothing would be sent."""
        is_changed = any(change.is_changed for change in self.providers)
        return not is_changed and not any(change.is_changed for change in self.consumers)

    @property
    def resource_classes(self) -> tuple[str, ...]:
        """The classes that providers gain; custom ones may have to be made."""
        gained = (
            each.after.inventories.keys() - each.content_before.inventories
            for each in self.providers
        )
        return tuple(sorted(set().union(*gained)))

    @property
    def traits(self) -> tuple[str, ...]:
        """The traits that providers gain; custom ones may have to be made."""
        gained = (each.after.traits - each.content_before.traits for each in self.providers)
        return tuple(sorted(set().union(*gained)))

    @functools.cached_property
    def before(self) -> Snapshot:
        """All that the plan begins with."""
        return Snapshot(
            (_state_of(each, each.before) for each in self.providers if each.before is not None),
            (each.holding(each.before) for each in self.consumers if each.before),
        )

    @functools.cached_property
    def after(self) -> Snapshot:
        """The same after the reshape."""
        return simulate(self.before, self.operations)

    @functools.cached_property
    def operations(self) -> tuple[Operation, ...]:
        """Return the operations from before to after, in the order of execution."""
        return diff(self.before, self._desired, is_atomic=True)

    def inverse(self) -> tuple[Operation, ...]:
        """Return the operations from after to before, in the order of execution."""
        return tuple(
            replace(operation, forward=False) if isinstance(operation, Reshape) else operation
            for operation in diff(self._desired, self.before, is_atomic=True)
        )

    @property
    def surroundings(self) -> Self:
        """Return the plan without inventories and allocations."""
        providers = (
            replace(
                change,
                before=change.before and replace(change.before, inventories={}),
                after=replace(change.after, inventories={}),
                usages={},
            )
            for change in self.providers
        )
        return replace(self, providers=tuple(providers), consumers=())

    @functools.cached_property
    def _desired(self) -> Snapshot:
        """The state after the reshape, without the usages that follow."""
        return Snapshot(
            (_state_of(each, each.after) for each in self.providers),
            (each.holding(each.after) for each in self.consumers if each.after),
        )


def _state_of(change: ProviderChange, content: ProviderContent) -> ProviderState:
    """Return a provider on one side of a change."""
    provider = Provider(
        change.uuid,
        change.name,
        content.generation or 0,
        change.parent_provider_uuid,
        change.root_provider_uuid,
    )
    return ProviderState(
        provider, content.inventories, content.traits, content.aggregates, change.usages
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tree that is not in the plan, with the reasons."""

    root_provider_uuid: str
    root_provider_name: str
    reasons: tuple[Notice, ...]


@dataclass(frozen=True)
class Plan(PlannedTrees[TreePlan]):
    """A plan for one tree or for thousands.

    :param assignments: the rows that were given, as they were given
    :param allow_inferred: whether rows that had a choice were given a place
    :param left_out: trees that could not be planned, where that was allowed
    :param origin: where the snapshot was read that it was made on, and what made the plan
    :param digest: what its file says that identifies it; ``None`` before it is in a file
    """

    spec: Spec
    trees: tuple[TreePlan, ...]
    assignments: tuple[AssignmentRow, ...] = ()
    allow_inferred: bool = False
    skip_infeasible: bool = False
    left_out: tuple[LeftOut, ...] = ()
    origin: Origin | None = None
    digest: str | None = field(default=None, compare=False)
