"""The given assignments of a tree, matched with the allocations of consumers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from placementclient.client import errors
from placementclient.client.wording import suggestion
from placementclient.files.cursors import Faults
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Allocations
from placementclient.model.plans import Label, PlannedRow, TreeChange
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.layout.target_state import HoldingKey, Place, TargetState


class KnownAssignments:
    """All given rows; records those that were used."""

    def __init__(self, spec: Spec, rows: Sequence[AssignmentRow]) -> None:
        self._spec = spec
        #: those of the specification first
        self._rows: list[AssignmentRow] = []
        #: by consumer and class, the indexes of the rows that were given
        self._given: dict[tuple[str, str], list[int]] = {}
        #: by move, consumer and class, the index of the row that the specification has
        self._inline: dict[tuple[int, str, str], int] = {}
        for index, move in enumerate(spec.moves):
            for consumer, amounts in move.consumers.items():
                for name, amount in amounts.items():
                    self._inline[index, consumer, name] = len(self._rows)
                    self._rows.append(
                        AssignmentRow(consumer, name, amount, move.target, None, spec.path)
                    )
        for row in rows:
            holding = (row.consumer_uuid, row.resource_class)
            self._given.setdefault(holding, []).append(len(self._rows))
            self._rows.append(row)
        #: indexes of the rows that were of use
        self._used: set[int] = set()
        #: by class and consumer on a source of a tree, where it may be; those of a tree have one
        #: set in common, as there are consumers by the hundred thousand
        self._seen: dict[str, dict[str, frozenset[str]]] = {}

    def match(
        self, snapshot: Snapshot, target_state: TargetState
    ) -> dict[HoldingKey, list[PlannedRow]]:
        """Return the rows about one tree, as rows of its plan.

        :raises errors.BadFile: for all rows that do not suit what their consumers hold
        """
        result: dict[HoldingKey, list[PlannedRow]] = {}
        faults = Faults()
        for (source, name), places in target_state.places.items():
            targets = frozenset(place.provider for place in places)
            seen = self._seen.setdefault(name, {})
            for consumer in snapshot.consumers_on(source):
                amount = consumer.amount(source, name)
                if amount:
                    there = seen.get(consumer.uuid)
                    seen[consumer.uuid] = targets if there is None else there | targets
                    holding = HoldingKey(consumer.uuid, source, name)
                    with faults.collected():
                        pairs = self._pairs(snapshot, target_state, holding, places)
                        if pairs:
                            at = target_state.providers[source].name
                            result[holding] = self._known(pairs, amount, at)
        faults.raise_any()
        return result

    def faults(
        self, snapshot: Snapshot, *, partial: bool, left_out: Sequence[str] = ()
    ) -> Iterator[errors.BadFile]:
        """Return the faults of rows that no tree has used.

        :param partial: whether only some of the trees that the specification selects are planned,
            so that rows may be about others
        :param left_out: roots of trees that could not be laid out, so that rows may be theirs
        """
        consumers = snapshot.consumers
        unused = [row for index, row in enumerate(self._rows) if index not in self._used]
        unknown = [row for row in unused if row.consumer_uuid not in consumers]
        if unknown and not partial:
            alike = _by_parts(consumers)
            for row in unknown:
                near = {uuid for part in _parts(row.consumer_uuid) for uuid in alike.get(part, ())}
                reason = f'unknown consumer {row.consumer_uuid}'
                yield row.error(f'{reason}{suggestion(row.consumer_uuid, near)}')
        for row in unused:
            consumer = consumers.get(row.consumer_uuid)
            targets = self._seen.get(row.resource_class, {}).get(row.consumer_uuid)
            if targets:
                yield row.error(_not_a_target(row, targets))
            elif consumer and not partial and not _is_in(snapshot, consumer.allocations, left_out):
                moved = [name for name, seen in self._seen.items() if consumer.uuid in seen]
                hint = suggestion(row.resource_class, moved) or (
                    '; if that has moved already, plan the other trees with --tree'
                )
                reason = f'{row.consumer_uuid} holds no {row.resource_class} on a source'
                yield row.error(f'{reason}{hint}')

    def _pairs(
        self,
        snapshot: Snapshot,
        target_state: TargetState,
        holding: HoldingKey,
        places: Sequence[Place],
    ) -> list[tuple[AssignmentRow, Place]]:
        """The rows about what a consumer holds, with the place that each means."""
        consumer, _, name = holding
        meaning: dict[int, Sequence[Place]] = {}
        for index in self._given.get((consumer, name), ()):
            row = self._rows[index]
            there = snapshot.find(row.to_provider)  # an exact UUID wins over a name
            matching = _matching(row, there.name if there else row.to_provider, places)
            if matching:
                meaning[index] = matching
        for flow in target_state.flows if self._inline else ():
            inline = self._inline.get((flow.move, consumer, name))
            if inline is not None and flow.origin == holding.where:
                meaning[inline] = [place for place in places if place.where == flow.destination]
        self._used.update(meaning)
        rows = ((self._rows[index], matching) for index, matching in meaning.items())
        return [(row, _only(row, matching)) for row, matching in rows]

    def _known(
        self,
        pairs: Sequence[tuple[AssignmentRow, Place]],
        amount: int,
        source: str,
    ) -> list[PlannedRow]:
        last = pairs[-1][0]
        what = f'{amount} {last.resource_class} of {last.consumer_uuid}'
        if len({place for _, place in pairs}) < len(pairs):
            raise last.error(f'the same row twice: {what} to {last.to_provider}')
        given = sum(row.amount if row.amount is not None else amount for row, _ in pairs)
        in_place = any(place.only_mapped for _, place in pairs)
        if given > amount or (given < amount and not (in_place and self._spec.split)):
            raise last.error(f'the amounts do not add up: {given} of the {what}')
        known = [
            PlannedRow(
                row.consumer_uuid,
                row.resource_class,
                row.amount or amount,
                source,
                place.provider,
                place.resource_class,
                Label.MAPPED,
                row.evidence,
            )
            for row, place in pairs
        ]
        if given < amount:
            left = replace(known[0], amount=amount - given, to_provider=source)
            known.append(replace(left, to_resource_class=last.resource_class))
        if len(known) > 1 and not self._spec.split:
            raise last.error(f'the {what} are divided, but the specification lacks split: true')
        return known


def _matching(row: AssignmentRow, target: str, places: Sequence[Place]) -> Sequence[Place]:
    """The places that a row may mean."""
    matching = [
        place
        for place in places
        if place.provider == target and row.to_resource_class in (None, place.resource_class)
    ]
    # Of a class that is renamed in place, the new name comes before what stays.
    return [place for place in matching if not place.stays] or matching


def _only(row: AssignmentRow, matching: Sequence[Place]) -> Place:
    """The place that a row means."""
    if len(matching) > 1:
        names = ' and as '.join(place.resource_class for place in matching)
        raise row.error(
            f'{row.to_provider} gets {row.resource_class} as {names}: say which in '
            'to_resource_class'
        )
    return matching[0]


def _not_a_target(row: AssignmentRow, targets: Iterable[str]) -> str:
    target = row.to_provider
    hint = suggestion(target, targets)
    if row.to_resource_class is not None:
        target += f' as {row.to_resource_class}'
    return f'{target} is not a target for the {row.resource_class} of {row.consumer_uuid}{hint}'


def _parts(uuid: str) -> tuple[str, str]:
    """Return the parts of a UUID that people get right: its beginning and its end."""
    return uuid[:8], uuid[-12:]


def _by_parts(uuids: Iterable[str]) -> dict[str, list[str]]:
    """Comparing each of many with each of many others would take minutes."""
    alike: dict[str, list[str]] = {}
    for uuid in uuids:
        for part in _parts(uuid):
            alike.setdefault(part, []).append(uuid)
    return alike


def _is_in(snapshot: Snapshot, allocations: Allocations, roots: Sequence[str]) -> bool:
    states = (snapshot.providers.get(provider_uuid) for provider_uuid in allocations)
    return any(state.provider.root_uuid in roots for state in states if state is not None)


def rows_by_key(tree: TreeChange, *, backwards: bool) -> dict[HoldingKey, list[PlannedRow]]:
    """Return the rows of a plan by the allocation that they move; additions have no source.

    :param backwards: by what is moved on the way back
    """
    uuids = {change.name: change.uuid for change in tree.providers}
    rows: dict[HoldingKey, list[PlannedRow]] = {}
    for row in tree.rows:
        if row.from_provider is None or row.to_provider is None:
            continue
        origin = (row.from_provider, row.resource_class)
        if backwards:
            if origin == (row.to_provider, row.to_resource_class):
                continue
            origin = (row.to_provider, row.to_resource_class)
        key = HoldingKey(row.consumer_uuid, uuids[origin[0]], origin[1])
        rows.setdefault(key, []).append(row)
    return rows


def held(snapshot: Snapshot, key: HoldingKey) -> int:
    """Return the amount of an allocation now, in units of the class; 0 without one."""
    consumer = snapshot.consumers.get(key.consumer_uuid)
    return consumer.amount(*key.where) if consumer else 0
