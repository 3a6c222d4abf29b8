# SPDX-License-Identifier: Apache-2.0
"""The assignments of a tree, matched with the allocations of consumers."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.files.cursors import Faults
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import InventoryKey
from placementclient.model.patterns import MAX_HINTS, find_similar_uuids
from placementclient.model.plans import PlannedRow, RowLabel
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.infeasibility import UndecidedRow
from placementclient.planner.layout.target_state import AllocationKey, Target, TargetState


@dataclass(frozen=True, slots=True)
class _OperatorRow:
    """A row of the operator's assignments.

    :param move: the index of the move in the specification that has the row; ``None``: a file does
    """

    row: AssignmentRow
    move: int | None = None


class AssignmentMatcher:
    """The operator's assignments, matched with the allocations of each tree.

    Match every tree that is planned (:meth:`match_tree`); after that, :meth:`report_unused_rows`
    knows which rows were about none of them. An example: server ``a`` has 4 VGPU on ``host``, of
    which 2 move to ``gpu0`` and 2 to ``gpu1``. The rows ``a,VGPU,2,gpu0`` and ``a,VGPU,2,gpu1``
    match this allocation, and become two rows of the plan. ``a,VGPU,2,gpu0`` alone does not add up.
    ``a,VGPU,,gpu9`` matches nothing, and is unused: the message names ``gpu0``, a target that the
    allocation has. ``b,VGPU,,gpu0`` is unused, too, if ``b`` has no VGPU there.

    :ivar unexplained: of the matched trees, the allocations that rows call unexplained
    """

    def __init__(self, spec: Spec, rows: Sequence[AssignmentRow]) -> None:
        self._is_split = spec.split
        path = spec.document.path
        in_moves = (
            _OperatorRow(AssignmentRow(consumer, name, amount, move.target, None, path), index)
            for index, move in enumerate(spec.moves)
            for consumer, amounts in move.consumers.items()
            for name, amount in amounts.items()
        )
        in_file = (_OperatorRow(row) for row in rows if not row.is_unexplained)
        self._rows = [*in_moves, *in_file]
        #: the rows that are about an allocation of a matched tree
        self._used: set[_OperatorRow] = set()
        #: by consumer and class
        self._by_class: dict[tuple[str, str], list[_OperatorRow]] = {}
        for operator_row in self._rows:
            row_key = operator_row.row.consumer_uuid, operator_row.row.resource_class
            self._by_class.setdefault(row_key, []).append(operator_row)
        #: the consumers and classes that rows call unexplained
        self._open = {(r.consumer_uuid, r.resource_class) for r in rows if r.is_unexplained}
        self.unexplained: dict[AllocationKey, UndecidedRow] = {}
        #: the names of the targets of each inventory that moves in a matched tree
        self._target_names: dict[InventoryKey, frozenset[str]] = {}

    def match_tree(
        self, snapshot: Snapshot, target_state: TargetState
    ) -> dict[AllocationKey, list[PlannedRow]]:
        """Return by allocation the rows of the plan that assignments decide, for one tree.

        :raises errors.BadFile: for all rows that do not suit the allocations of their consumers
        """
        result: dict[AllocationKey, list[PlannedRow]] = {}
        faults = Faults()
        for inventory, targets in target_state.targets.items():
            self._target_names[inventory] = frozenset(target.provider for target in targets)
            source, name = inventory
            for consumer in snapshot.consumers_on(source):
                amount = consumer.amount(source, name)
                if not amount:
                    continue
                key = AllocationKey(consumer.uuid, source, name)
                with faults.collect():
                    if pairs := self._match_rows(snapshot, target_state, key):
                        source_name = target_state.providers[source].name
                        result[key] = self._plan_rows(pairs, amount, source_name)
                    elif (consumer.uuid, name) in self._open:
                        self.unexplained[key] = _make_undecided_row(target_state, key, amount)
        faults.raise_collected()
        return result

    def report_unused_rows(
        self, snapshot: Snapshot, *, partial: bool, left_out: Sequence[str] = ()
    ) -> Iterator[errors.BadFile]:
        """Yield an error for each row that was used in none of the matched trees.

        :param partial: whether only some of the trees that the specification selects were matched,
            so that rows may be about others
        :param left_out: UUIDs of the roots of trees that could not be planned, so that rows may be
            theirs
        """
        consumers = snapshot.consumers
        unused = [operator_row.row for operator_row in self._rows if operator_row not in self._used]
        if not partial:
            yield from _report_unknown_consumers(unused, consumers)
        for row in unused:
            consumer = consumers.get(row.consumer_uuid)
            if consumer is None:
                continue
            targets = self._find_target_names(consumer)
            if row.resource_class in targets:
                yield row.make_error(_describe_wrong_target(row, targets[row.resource_class]))
            elif not partial and not _is_in_trees(snapshot, consumer, left_out):
                hint = suggest_similar(row.resource_class, targets) or (
                    '; if that has moved already, plan the other trees with --tree'
                )
                reason = f'{row.consumer_uuid} holds no {row.resource_class} on a source'
                yield row.make_error(f'{reason}{hint}')

    def _find_target_names(self, consumer: Consumer) -> dict[str, frozenset[str]]:
        """Return by class the names of the providers to which a consumer's allocations may go."""
        names: dict[str, frozenset[str]] = {}
        for provider_uuid, resources in consumer.allocations.items():
            for name in resources:
                if targets := self._target_names.get(InventoryKey(provider_uuid, name)):
                    names[name] = names.get(name, frozenset()) | targets
        return names

    def _match_rows(
        self, snapshot: Snapshot, target_state: TargetState, key: AllocationKey
    ) -> list[tuple[AssignmentRow, Target]]:
        """Return the rows about an allocation, each with its target, and mark the rows as used."""
        matches: list[tuple[AssignmentRow, Sequence[Target]]] = []
        for operator_row in self._by_class.get((key.consumer_uuid, key.resource_class), ()):
            if targets := _find_targets(operator_row, snapshot, target_state, key):
                self._used.add(operator_row)
                matches.append((operator_row.row, targets))
        return [(row, _choose_target(row, targets)) for row, targets in matches]

    def _plan_rows(
        self, pairs: Sequence[tuple[AssignmentRow, Target]], amount: int, source: str
    ) -> list[PlannedRow]:
        """Return the rows of the plan for one allocation, checked against its amount.

        :param pairs: the rows of the operator, with their targets
        :param amount: of the allocation, in units of the class
        :param source: the name of the provider that the allocation is on
        """
        last = pairs[-1][0]
        name = last.resource_class
        allocated = f'{amount} {name} of {last.consumer_uuid}'
        if len({target for _, target in pairs}) < len(pairs):
            raise last.make_error(f'the same row twice: {allocated} to {last.to_provider}')
        total = sum(amount if row.amount is None else row.amount for row, _ in pairs)
        may_stay = self._is_split and any(target.only_mapped for _, target in pairs)
        if total > amount or (total < amount and not may_stay):
            raise last.make_error(f'the amounts do not add up: {total} of the {allocated}')
        planned = [
            PlannedRow(
                row.consumer_uuid,
                name,
                row.amount or amount,
                source,
                target.provider,
                target.key.resource_class,
                RowLabel.MAPPED,
                row.evidence,
            )
            for row, target in pairs
        ]
        if total < amount:
            left = replace(planned[0], amount=amount - total, to_provider=source)
            planned.append(replace(left, to_resource_class=name))
        if len(planned) > 1 and not self._is_split:
            raise last.make_error(
                f'the {allocated} are divided, but the specification lacks split: true'
            )
        return planned


def _find_targets(
    operator_row: _OperatorRow, snapshot: Snapshot, target_state: TargetState, key: AllocationKey
) -> Sequence[Target]:
    """Return those targets of an allocation that a row of the operator means."""
    row, targets = operator_row.row, target_state.targets[key.inventory]
    if operator_row.move is None:
        state = snapshot.find(row.to_provider)  # an exact UUID wins over a name
        return _select_targets(row, state.name if state else row.to_provider, targets)
    destinations = {
        flow.destination
        for flow in target_state.flows
        if flow.move == operator_row.move and flow.origin == key.inventory
    }
    return [target for target in targets if target.key in destinations]


def _report_unknown_consumers(
    rows: Iterable[AssignmentRow], consumers: Collection[str]
) -> Iterator[errors.BadFile]:
    """Yield an error for each row whose consumer is none of the given UUIDs."""
    unknown = (row for row in rows if row.consumer_uuid not in consumers)
    for number, row in enumerate(unknown):
        near = find_similar_uuids(row.consumer_uuid, consumers) if number < MAX_HINTS else ()
        hint = suggest_similar(row.consumer_uuid, near)
        yield row.make_error(f'unknown consumer {row.consumer_uuid}{hint}')


def _make_undecided_row(target_state: TargetState, key: AllocationKey, amount: int) -> UndecidedRow:
    """Return an allocation as a row that may go to each of its targets."""
    source = target_state.providers[key.provider_uuid]
    targets = target_state.targets[key.inventory]
    names = tuple(dict.fromkeys(target.provider for target in targets))
    classes = tuple(dict.fromkeys(target.key.resource_class for target in targets))
    return UndecidedRow(
        target_state.find_tree_name(source),
        key.consumer_uuid,
        key.resource_class,
        amount,
        source.name,
        names,
        classes if len(targets) > len(names) else (),
    )


def _select_targets(
    row: AssignmentRow, provider_name: str, targets: Sequence[Target]
) -> Sequence[Target]:
    """Return the targets on a provider that have the class of a row, if the row names one."""
    matching = [
        target
        for target in targets
        if target.provider == provider_name
        and row.to_resource_class in (None, target.key.resource_class)
    ]
    # If a class gets a new name on the same provider, the new name wins.
    return [target for target in matching if not target.stays] or matching


def _choose_target(row: AssignmentRow, matching: Sequence[Target]) -> Target:
    """Return the only one of the targets that match a row.

    :raises errors.BadFile: if the provider gets the amount under several classes
    """
    if len(matching) > 1:
        names = ' and as '.join(target.key.resource_class for target in matching)
        raise row.make_error(
            f'{row.to_provider} gets {row.resource_class} as {names}: say which in '
            'to_resource_class'
        )
    return matching[0]


def _describe_wrong_target(row: AssignmentRow, target_names: Iterable[str]) -> str:
    """Return the sentence that a row names no target, with a similar name."""
    target = row.to_provider
    hint = suggest_similar(target, target_names)
    if row.to_resource_class is not None:
        target += f' as {row.to_resource_class}'
    return f'{target} is not a target for the {row.resource_class} of {row.consumer_uuid}{hint}'


def _is_in_trees(snapshot: Snapshot, consumer: Consumer, roots: Sequence[str]) -> bool:
    """Return whether a consumer has an allocation in trees, given the UUIDs of their roots."""
    states = map(snapshot.providers.get, consumer.allocations)
    return any(state.provider.root_uuid in roots for state in states if state is not None)
