"""The plan of a reshape: what is, what shall be, and why. A value that a file can hold.

A plan is self-contained: it has the specification and the assignment rows that it was made with,
so that a tree that has changed since can be planned again.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from placementclient import errors
from placementclient.planner.plan.operations import (
    CreateProvider,
    EnsureClass,
    EnsureTrait,
    InventoryChange,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.planner.plan.state_changes import ConsumerChange, ProviderChange
from placementclient.planner.spec import specification as specs
from placementclient.planner.spec.assignments import Row

FORMAT = 'placementclient/reshape-plan'
VERSION = 1


class Label(enum.StrEnum):
    """Why a row goes where it goes."""

    MAPPED = 'mapped'
    FORCED = 'forced'
    INFERRED = 'inferred'


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """An amount of one class of one consumer, and the place that it gets.

    :param resource_class: its name on the source
    :param amount: in units of the class
    :param from_provider: the source's name
    :param to_provider: the target's name: the source's own, if the amount stays
    :param to_resource_class: the name of the class on the target
    :param evidence: the operator's, for a mapped row
    """

    consumer_uuid: str
    resource_class: str
    amount: int
    from_provider: str
    to_provider: str
    to_resource_class: str
    label: Label
    evidence: str | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            'consumer_uuid': self.consumer_uuid,
            'resource_class': self.resource_class,
            'amount': self.amount,
            'from_provider': self.from_provider,
            'to_provider': self.to_provider,
            'to_resource_class': self.to_resource_class,
            'label': self.label.value,
            'evidence': self.evidence,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> PlannedRow:
        """What :meth:`to_json` wrote."""
        return cls(**{**record, 'label': Label(record['label'])})


@dataclass(frozen=True, slots=True)
class InventoryMove:
    """Inventory of one class that moves from one provider to another; both are names."""

    from_provider: str
    resource_class: str
    to_provider: str
    to_resource_class: str
    amount: int

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return asdict(self)


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

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {'kind': self.kind, 'message': self.message, 'facts': dict(self.facts)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Notice:
        """What :meth:`to_json` wrote."""
        return cls(record['kind'], record['message'], record['facts'])


@dataclass(frozen=True, slots=True)
class TreePlan:
    """The plan of one tree: applied as a whole, or not at all.

    :param resource_classes: the classes that providers gain; custom ones may have to be made
    :param traits: the traits that providers gain; custom ones may have to be made
    :param providers: every provider concerned, parents before their children; a sharing provider
        of another tree may be among them
    :param consumers: every consumer whose allocations change
    :param rows: who goes where, by consumer and class
    :param follows: the roots of trees of the same plan that have to be done before this one, as
        they change a provider or a consumer that this one changes too
    :param residents: consumers that hold a moved class on a target of this tree from before, and
        keep it there, also on the way back
    :param moves: the inventory that moves
    """

    root_provider_uuid: str
    root_provider_name: str
    resource_classes: tuple[str, ...]
    traits: tuple[str, ...]
    providers: tuple[ProviderChange, ...]
    consumers: tuple[ConsumerChange, ...]
    rows: tuple[PlannedRow, ...]
    warnings: tuple[Notice, ...] = ()
    follows: tuple[str, ...] = ()
    residents: tuple[str, ...] = ()
    moves: tuple[InventoryMove, ...] = ()

    def provider(self, name_or_uuid: str) -> ProviderChange | None:
        """The change of the provider of this UUID or name."""
        for change in self.providers:
            if name_or_uuid in (change.uuid, change.name):
                return change
        return None

    def created(self) -> Iterator[ProviderChange]:
        """The providers that are made, parents before their children."""
        return (change for change in self.providers if change.is_created)

    def operations(self) -> tuple[Operation, ...]:
        """What leads from before to after, in the order of execution.

        Children are made empty, and get their traits and aggregates. Then all inventories and
        allocations move at once. Traits that are taken off a provider go last, so that at no
        moment a tree lacks them.
        """
        return (
            *(EnsureClass(name) for name in self.resource_classes if _is_custom(name)),
            *(EnsureTrait(name) for name in self.traits if _is_custom(name)),
            *(
                CreateProvider(change.uuid, change.name, change.parent_provider_uuid)
                for change in self.created()
            ),
            *self._gained_traits(),
            *self._aggregates(),
            *self._reshape(),
            *self._lost_traits(),
        )

    def inverse(self) -> tuple[Operation, ...]:
        """What leads from after to before, in the order of execution."""
        created = {change.uuid for change in self.created()}
        return tuple(
            inverse
            for operation in reversed(self.operations())
            if not (
                isinstance(operation, SetTraits | SetAggregates)
                and operation.provider_uuid in created  # it goes altogether
            )
            for inverse in operation.inverse()
        )

    def _gained_traits(self) -> Iterator[SetTraits]:
        for change in self.providers:
            before = change.content_before.traits
            if not change.after.traits <= before:
                yield SetTraits(change.uuid, before, before | change.after.traits)

    def _lost_traits(self) -> Iterator[SetTraits]:
        for change in self.providers:
            union = change.content_before.traits | change.after.traits
            if union != change.after.traits:
                yield SetTraits(change.uuid, union, change.after.traits)

    def _aggregates(self) -> Iterator[SetAggregates]:
        for change in self.providers:
            before, after = change.content_before.aggregates, change.after.aggregates
            if before != after:
                yield SetAggregates(change.uuid, before, after)

    def _reshape(self) -> Iterator[Reshape]:
        inventories = tuple(
            InventoryChange(
                change.uuid,
                change.content_before.inventories,
                change.after.inventories,
                change.content_before.generation,
            )
            for change in self.providers
            if change.content_before.inventories != change.after.inventories
        )
        if inventories or self.consumers:
            yield Reshape(inventories, self.consumers)

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file, in a fixed order."""
        return {
            'root_provider_uuid': self.root_provider_uuid,
            'root_provider_name': self.root_provider_name,
            'follows': list(self.follows),
            'residents': list(self.residents),
            'moves': [move.to_json() for move in self.moves],
            'resource_classes': list(self.resource_classes),
            'traits': list(self.traits),
            'providers': [change.to_json() for change in self.providers],
            'consumers': {change.uuid: change.to_json() for change in self.consumers},
            'rows': [row.to_json() for row in self.rows],
            'warnings': [warning.to_json() for warning in self.warnings],
            'inverse': [operation.to_json() for operation in self.inverse()],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TreePlan:
        """What :meth:`to_json` wrote.

        :raises ValueError: if the inverse that the file has is not the one of this plan
        """
        tree = cls(
            record['root_provider_uuid'],
            record['root_provider_name'],
            tuple(record['resource_classes']),
            tuple(record['traits']),
            tuple(ProviderChange.from_json(item) for item in record['providers']),
            tuple(ConsumerChange.from_json(*item) for item in record['consumers'].items()),
            tuple(PlannedRow.from_json(item) for item in record['rows']),
            tuple(Notice.from_json(item) for item in record['warnings']),
            tuple(record['follows']),
            tuple(record['residents']),
            tuple(InventoryMove(**item) for item in record['moves']),
        )
        if record['inverse'] != [operation.to_json() for operation in tree.inverse()]:
            raise ValueError(f'the inverse of {tree.root_provider_name} is not that of its plan')
        return tree


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A tree that is not in the plan, with the reasons.

    :param reasons: each the ``kind`` of a cause, its ``message`` and its ``facts``
    """

    root_provider_uuid: str
    root_provider_name: str
    reasons: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            'root_provider_uuid': self.root_provider_uuid,
            'root_provider_name': self.root_provider_name,
            'reasons': list(self.reasons),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> LeftOut:
        """What :meth:`to_json` wrote."""
        return cls(
            record['root_provider_uuid'], record['root_provider_name'], tuple(record['reasons'])
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for one tree or for thousands.

    :param assignments: the rows that were given, as they were given
    :param allow_inferred: whether rows that had a choice were given a place
    :param left_out: trees that could not be planned, where that was allowed
    """

    spec: specs.Spec
    trees: tuple[TreePlan, ...]
    assignments: tuple[Row, ...] = ()
    allow_inferred: bool = False
    skip_infeasible: bool = False
    left_out: tuple[LeftOut, ...] = ()

    def tree(self, name_or_uuid: str) -> TreePlan | None:
        """The plan of the tree whose root has this UUID or name."""
        for tree in self.trees:
            if name_or_uuid in (tree.root_provider_uuid, tree.root_provider_name):
                return tree
        return None

    def selected(self, names: Collection[str]) -> tuple[TreePlan, ...]:
        """The plans of some trees, in the order of the plan.

        :param names: names or UUIDs of roots; none: all
        :raises errors.NoSuchProvider: if one of them is not of the plan
        """
        for name in names:
            if self.tree(name) is None:
                raise errors.NoSuchProvider(f'The plan has no tree {name!r}')
        return tuple(
            tree
            for tree in self.trees
            if not names or tree.root_provider_name in names or tree.root_provider_uuid in names
        )

    def header(self) -> dict[str, Any]:
        """Everything of the file but ``trees``, which may be too many to be held twice."""
        return {
            'format': FORMAT,
            'version': VERSION,
            'spec': self.spec.to_json(),
            'assignments': [row.to_json() for row in self.assignments],
            'options': {
                'allow_inferred': self.allow_inferred,
                'skip_infeasible': self.skip_infeasible,
            },
            'left_out': [tree.to_json() for tree in self.left_out],
        }

    def to_json(self) -> dict[str, Any]:
        """The content of a plan file, in a fixed order."""
        return {**self.header(), 'trees': [tree.to_json() for tree in self.trees]}

    @classmethod
    def from_json(cls, document: Any, path: str) -> Plan:
        """What :meth:`to_json` wrote.

        :param path: the file that the document came from, for the error
        :raises errors.BadFile: if it is something else
        """
        if not isinstance(document, Mapping) or document.get('format') != FORMAT:
            raise errors.BadFile(path, 'not a plan')
        if document.get('version') != VERSION:
            raise errors.BadFile(path, f'plan version {document.get("version")} is not known')
        try:
            return cls(
                specs.from_document(document['spec'], path),
                tuple(TreePlan.from_json(record) for record in document['trees']),
                tuple(Row.from_json(record) for record in document['assignments']),
                document['options']['allow_inferred'],
                document['options']['skip_infeasible'],
                tuple(LeftOut.from_json(record) for record in document['left_out']),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as reason:
            raise errors.BadFile(path, f'damaged plan: {reason!r}') from None


def _is_custom(name: str) -> bool:
    return name.startswith('CUSTOM_')
