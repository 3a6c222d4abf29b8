# SPDX-License-Identifier: Apache-2.0
"""The assignments of a tree, matched with the allocations of consumers."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import suggestion
from placementclient.files.cursors import Faults
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.patterns import MAX_HINTS, similar_uuids
from placementclient.model.plans import Change, Label, PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.infeasibility import UndecidedRow
from placementclient.planner.layout.target_state import HoldingKey, Target, TargetState


class AssignedRows:
    """All assignment rows; records those that were used."""

    def __init__(self, spec: Spec, rows: Sequence[AssignmentRow]) -> None:
        self._spec = spec
        inline = [
            (index, AssignmentRow(consumer, name, amount, move.target, None, spec.document.path))
            for index, move in enumerate(spec.moves)
            for consumer, amounts in move.consumers.items()
            for name, amount in amounts.items()
        ]
        #: those of the specification first
        self._rows = [*(row for _, row in inline), *(r for r in rows if not r.is_unexplained)]
        #: of these the moves, as indexes
        self._moves = [index for index, _ in inline]
        #: by consumer and class, the indexes of the rows
        self._by_holding: dict[tuple[str, str], list[int]] = {}
        #: by consumer and class, whose rows say that nothing explains them
        self._open = {(r.consumer_uuid, r.resource_class) for r in rows if r.is_unexplained}
        #: of the trees that were matched, the allocations that no row explains
        self.unexplained: dict[HoldingKey, UndecidedRow] = {}
        for index, row in enumerate(self._rows):
            self._by_holding.setdefault((row.consumer_uuid, row.resource_class), []).append(index)
        #: indexes of the used rows
        self._used: set[int] = set()
        #: by class and consumer on a source of a tree: the targets. The consumers of a tree share
        #: one set, as there may be hundreds of thousands
        self._seen: dict[str, dict[str, frozenset[str]]] = {}

    def match_tree(
        self, snapshot: Snapshot, target_state: TargetState
    ) -> dict[HoldingKey, list[PlannedRow]]:
        """Return the rows about one tree, as rows of its plan.

        :raises errors.BadFile: for all rows that do not suit what their consumers hold
        """
        result: dict[HoldingKey, list[PlannedRow]] = {}
        faults = Faults()
        for (source, name), targets in target_state.targets.items():
            providers = frozenset(target.provider for target in targets)
            seen = self._seen.setdefault(name, {})
            for consumer in snapshot.consumers_on(source):
                amount = consumer.amount(source, name)
                if amount:
                    others = seen.get(consumer.uuid)
                    seen[consumer.uuid] = providers if others is None else others | providers
                    holding = HoldingKey(consumer.uuid, source, name)
                    with faults.collected():
                        pairs = self._match_rows(snapshot, target_state, holding, targets)
                        if pairs:
                            at = target_state.providers[source].name
                            result[holding] = self._plan_rows(pairs, amount, at)
                        elif (consumer.uuid, name) in self._open:
                            self.unexplained[holding] = _make_undecided_row(
                                target_state, holding, amount
                            )
        faults.raise_any()
        return result

    def find_unused_rows(
        self, snapshot: Snapshot, *, partial: bool, left_out: Sequence[str] = ()
    ) -> Iterator[errors.BadFile]:
        """Return the faults of rows that no tree has used.

        :param partial: whether only some of the trees that the specification selects are planned,
            so that rows may be about others
        :param left_out: roots of trees that could not be laid out, so that rows may be theirs
        """
        consumers = snapshot.consumers
        unused = [row for index, row in enumerate(self._rows) if index not in self._used]
        if not partial:
            yield from _report_unknown_consumers(unused, consumers)
        for row in unused:
            consumer = consumers.get(row.consumer_uuid)
            targets = self._seen.get(row.resource_class, {}).get(row.consumer_uuid)
            if targets:
                yield row.error(_describe_wrong_target(row, targets))
            elif consumer and not partial and not _is_in_trees(snapshot, consumer, left_out):
                moved = [name for name, seen in self._seen.items() if consumer.uuid in seen]
                hint = suggestion(row.resource_class, moved) or (
                    '; if that has moved already, plan the other trees with --tree'
                )
                reason = f'{row.consumer_uuid} holds no {row.resource_class} on a source'
                yield row.error(f'{reason}{hint}')

    def _match_rows(
        self,
        snapshot: Snapshot,
        target_state: TargetState,
        holding: HoldingKey,
        targets: Sequence[Target],
    ) -> list[tuple[AssignmentRow, Target]]:
        """Return the rows about an allocation, with the target that each means."""
        consumer, _, name = holding
        matches: dict[int, Sequence[Target]] = {}
        for index in self._by_holding.get((consumer, name), ()):
            if index < len(self._moves):
                led = self._moves[index], holding.inventory
                flows = [flow for flow in target_state.flows if (flow.move, flow.origin) == led]
                ends = {flow.destination for flow in flows}
                matching: Sequence[Target] = [target for target in targets if target.key in ends]
            else:
                row = self._rows[index]
                state = snapshot.find(row.to_provider)  # an exact UUID wins over a name
                matching = _select_targets(row, state.name if state else row.to_provider, targets)
            if matching:
                matches[index] = matching
        self._used.update(matches)
        rows = ((self._rows[index], matching) for index, matching in matches.items())
        return [(row, _choose_target(row, matching)) for row, matching in rows]

    def _plan_rows(
        self, pairs: Sequence[tuple[AssignmentRow, Target]], amount: int, source: str
    ) -> list[PlannedRow]:
        last = pairs[-1][0]
        name = last.resource_class
        allocated = f'{amount} {name} of {last.consumer_uuid}'
        if len({target for _, target in pairs}) < len(pairs):
            raise last.error(f'the same row twice: {allocated} to {last.to_provider}')
        total = sum(row.amount if row.amount is not None else amount for row, _ in pairs)
        in_place = any(target.only_mapped for _, target in pairs)
        if total > amount or (total < amount and not (in_place and self._spec.split)):
            raise last.error(f'the amounts do not add up: {total} of the {allocated}')
        planned = [
            PlannedRow(
                row.consumer_uuid,
                name,
                row.amount or amount,
                source,
                target.provider,
                target.key.resource_class,
                Label.MAPPED,
                row.evidence,
            )
            for row, target in pairs
        ]
        if total < amount:
            left = replace(planned[0], amount=amount - total, to_provider=source)
            planned.append(replace(left, to_resource_class=name))
        if len(planned) > 1 and not self._spec.split:
            raise last.error(
                f'the {allocated} are divided, but the specification lacks split: true'
            )
        return planned


def _report_unknown_consumers(
    rows: Iterable[AssignmentRow], consumers: Collection[str]
) -> Iterator[errors.BadFile]:
    """Yield an error for each row whose consumer does not exist."""
    unknown = (row for row in rows if row.consumer_uuid not in consumers)
    for number, row in enumerate(unknown):
        near = similar_uuids(row.consumer_uuid, consumers) if number < MAX_HINTS else ()
        hint = suggestion(row.consumer_uuid, near)
        yield row.error(f'unknown consumer {row.consumer_uuid}{hint}')


def _make_undecided_row(
    target_state: TargetState, holding: HoldingKey, amount: int
) -> UndecidedRow:
    """Return an allocation that no row explains, with its possible places."""
    source, targets = target_state.providers[holding.provider_uuid], target_state.targets
    choices = [(t.provider, t.key.resource_class) for t in targets[holding.inventory]]
    names = tuple(dict.fromkeys(name for name, _ in choices))
    classes = tuple(dict.fromkeys(name for _, name in choices)) if len(choices) > len(names) else ()
    roots = {root.uuid: root.name for root in target_state.roots}
    tree = roots.get(source.root_provider_uuid, target_state.name)
    return UndecidedRow(
        tree, holding.consumer_uuid, holding.resource_class, amount, source.name, names, classes
    )


def _select_targets(
    row: AssignmentRow, provider: str, targets: Sequence[Target]
) -> Sequence[Target]:
    """Return the targets that a row may mean."""
    matching = [
        target
        for target in targets
        if target.provider == provider
        and row.to_resource_class in (None, target.key.resource_class)
    ]
    # If a class gets a new name on the same provider, the new name wins.
    return [target for target in matching if not target.stays] or matching


def _choose_target(row: AssignmentRow, matching: Sequence[Target]) -> Target:
    """Return the target that a row means."""
    if len(matching) > 1:
        names = ' and as '.join(target.key.resource_class for target in matching)
        raise row.error(
            f'{row.to_provider} gets {row.resource_class} as {names}: say which in '
            'to_resource_class'
        )
    return matching[0]


def _describe_wrong_target(row: AssignmentRow, providers: Iterable[str]) -> str:
    target = row.to_provider
    hint = suggestion(target, providers)
    if row.to_resource_class is not None:
        target += f' as {row.to_resource_class}'
    return f'{target} is not a target for the {row.resource_class} of {row.consumer_uuid}{hint}'


def _is_in_trees(snapshot: Snapshot, consumer: Consumer, roots: Sequence[str]) -> bool:
    states = map(snapshot.providers.get, consumer.allocations)
    return any(state.provider.root_uuid in roots for state in states if state is not None)


def group_rows(tree: Change) -> dict[HoldingKey, list[PlannedRow]]:
    """Return the rows of a plan by the allocation that they move; additions have no source."""
    uuids = {change.name: change.uuid for change in tree.providers}
    rows: dict[HoldingKey, list[PlannedRow]] = {}
    for row in tree.reasons:
        if row.from_provider is not None:
            key = HoldingKey(row.consumer_uuid, uuids[row.from_provider], row.resource_class)
            rows.setdefault(key, []).append(row)
    return rows


def find_allocated(snapshot: Snapshot, key: HoldingKey) -> int:
    """Return the amount of an allocation now, in units of the class; 0 without one."""
    consumer = snapshot.consumers.get(key.consumer_uuid)
    return consumer.amount(*key.inventory) if consumer else 0
