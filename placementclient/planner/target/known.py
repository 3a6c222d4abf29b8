"""What is known of who goes where: assignment rows, matched with what the consumers hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placementclient.model.consumers import Allocations
from placementclient.planner.plan.plan import Label
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import Place, TargetState

#: What a consumer holds on a source: consumer, source UUID, class.
Holding = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Known:
    """An amount that is known to go to a place."""

    place: Place
    amount: int
    label: Label = Label.MAPPED
    evidence: str | None = None


class KnownAssignments:
    """All rows that were given, and which of them were of use."""

    def __init__(self, spec: Spec, rows: Sequence[Row]) -> None:
        self._spec = spec
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self._rows.setdefault((row.consumer_uuid, row.resource_class), []).append(row)
        self._used: set[int] = set()
        #: every (consumer, class) on a source of a tree
        self._seen: set[tuple[str, str]] = set()
        self._inline = {
            (index, consumer, name): Row(consumer, name, amount, move.target, None, spec.path, None)
            for index, move in enumerate(spec.moves)
            for consumer, amounts in move.consumers.items()
            for name, amount in amounts.items()
        }
        self._index = {id(move): index for index, move in enumerate(spec.moves)}

    def match(
        self, overlay: SnapshotOverlay, target_state: TargetState
    ) -> dict[Holding, list[Known]]:
        """The rows that concern one tree.

        :raises errors.BadFile: for a row that does not suit what its consumer holds
        """
        result: dict[Holding, list[Known]] = {}
        for (source, name), places in target_state.places.items():
            for consumer in overlay.consumers_on(source):
                amount = consumer.allocations.get(source, {}).get(name)
                if amount:
                    self._seen.add((consumer.uuid, name))
                    holding = consumer.uuid, source, name
                    pairs = self._pairs(overlay, target_state, holding, places)
                    if pairs:
                        known = self._known(pairs, amount, places)
                        result[consumer.uuid, source, name] = known
        return result

    def check(
        self, overlay: SnapshotOverlay, *, partial: bool, left_out: Sequence[str] = ()
    ) -> None:
        """Refuse rows that were of no use in any tree.

        :param partial: whether only some of the trees that the specification selects are planned,
            so that rows may be about others
        :param left_out: roots of trees that could not be laid out, so that rows may be theirs
        :raises errors.BadFile: for the first such row
        """
        rows = [row for several in self._rows.values() for row in several]
        for row in (*self._inline.values(), *rows):
            if id(row) in self._used:
                continue
            consumer = overlay.snapshot.consumers.get(row.consumer_uuid)
            if consumer is None:
                if not partial:
                    raise row.error(f'unknown consumer {row.consumer_uuid}')
            elif (row.consumer_uuid, row.resource_class) in self._seen:
                raise row.error(
                    f'{row.to_provider} is not a target for the {row.resource_class} of '
                    f'{row.consumer_uuid}'
                )
            elif not partial and not _is_in(overlay, consumer.allocations, left_out):
                raise row.error(
                    f'{row.consumer_uuid} holds no {row.resource_class} on a source; if that has '
                    'moved already, plan the other trees with --tree'
                )

    def _pairs(
        self,
        overlay: SnapshotOverlay,
        target_state: TargetState,
        holding: Holding,
        places: Sequence[Place],
    ) -> list[tuple[Row, Place]]:
        consumer, source, name = holding
        pairs = []
        for row in self._rows.get((consumer, name), ()):
            there = overlay.find(row.to_provider)  # an exact UUID wins over a name
            wanted = there.name if there else row.to_provider
            matching = [place for place in places if place.provider == wanted]
            if matching:  # of a class renamed in place the target comes before what stays
                pairs.append((row, matching[0]))
        if self._inline:
            for flow in target_state.flows:
                inline = self._inline.get((self._index[id(flow.move)], consumer, name))
                if inline is not None and (flow.source, flow.resource_class) == (source, name):
                    target = (flow.target, flow.target_class)
                    pairs += [
                        (inline, place)
                        for place in places
                        if (place.provider_uuid, place.resource_class) == target
                    ]
        self._used.update(id(row) for row, _ in pairs)
        return pairs

    def _known(
        self, pairs: Sequence[tuple[Row, Place]], amount: int, places: Sequence[Place]
    ) -> list[Known]:
        last = pairs[-1][0]
        what = f'{amount} {last.resource_class} of {last.consumer_uuid}'
        if len({place for _, place in pairs}) < len(pairs):
            raise last.error(f'the same row twice: {what} to {last.to_provider}')
        given = sum(row.amount if row.amount is not None else amount for row, _ in pairs)
        stays = [place for place in places if place.stays]
        in_place = any(place.only_mapped for _, place in pairs)
        if given > amount or (given < amount and not (in_place and self._spec.split)):
            raise last.error(f'the amounts do not add up: {given} of the {what}')
        known = [Known(place, row.amount or amount, evidence=row.evidence) for row, place in pairs]
        if given < amount:
            known.append(replace(known[0], place=stays[0], amount=amount - given))
        if len(known) > 1 and not self._spec.split:
            raise last.error(f'the {what} are divided, but the specification lacks split: true')
        return known


def _is_in(overlay: SnapshotOverlay, allocations: Allocations, roots: Sequence[str]) -> bool:
    states = (overlay.state(provider_uuid) for provider_uuid in allocations)
    return any(overlay.root_of(state) in roots for state in states if state is not None)
