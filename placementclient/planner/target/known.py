"""What is known of who goes where: assignment rows, matched with what the consumers hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from placementclient.model.consumers import Allocations
from placementclient.planner.plan.plan import Label
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import Place, TargetState, Where


class Holding(NamedTuple):
    """What a consumer holds on a source of a class."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str

    @property
    def where(self) -> Where:
        """The source and the class."""
        return Where(self.provider_uuid, self.resource_class)


@dataclass(frozen=True, slots=True)
class Known:
    """An amount that is known to go to a place.

    :param amount: in units of the class
    :param evidence: the operator's
    """

    place: Place
    amount: int
    label: Label = Label.MAPPED
    evidence: str | None = None


class KnownAssignments:
    """All rows that were given, and which of them were of use."""

    def __init__(self, spec: Spec, rows: Sequence[Row]) -> None:
        self._spec = spec
        #: those of the specification first
        self._rows: list[Row] = []
        #: by consumer and class, the indexes of the rows that were given
        self._given: dict[tuple[str, str], list[int]] = {}
        #: by move, consumer and class, the index of the row that the specification has
        self._inline: dict[tuple[int, str, str], int] = {}
        for index, move in enumerate(spec.moves):
            for consumer, amounts in move.consumers.items():
                for name, amount in amounts.items():
                    self._inline[index, consumer, name] = len(self._rows)
                    self._rows.append(Row(consumer, name, amount, move.target, None, spec.path))
        for row in rows:
            holding = (row.consumer_uuid, row.resource_class)
            self._given.setdefault(holding, []).append(len(self._rows))
            self._rows.append(row)
        #: indexes of the rows that were of use
        self._used: set[int] = set()
        #: every consumer and class on a source of a tree
        self._seen: set[tuple[str, str]] = set()

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
                    holding = Holding(consumer.uuid, source, name)
                    pairs = self._pairs(overlay, target_state, holding, places)
                    if pairs:
                        result[holding] = self._known(pairs, amount, places)
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
        for index, row in enumerate(self._rows):
            if index in self._used:
                continue
            consumer = overlay.snapshot.consumers.get(row.consumer_uuid)
            if consumer is None:
                if not partial:
                    raise row.error(f'unknown consumer {row.consumer_uuid}')
            elif (row.consumer_uuid, row.resource_class) in self._seen:
                target = row.to_provider
                if row.to_resource_class is not None:
                    target += f' as {row.to_resource_class}'
                raise row.error(
                    f'{target} is not a target for the {row.resource_class} of {row.consumer_uuid}'
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
        """The rows about what a consumer holds, with the place that each means."""
        consumer, _, name = holding
        pairs: dict[int, Place] = {}
        for index in self._given.get((consumer, name), ()):
            row = self._rows[index]
            there = overlay.find(row.to_provider)  # an exact UUID wins over a name
            place = _meant(row, there.name if there else row.to_provider, places)
            if place is not None:
                pairs[index] = place
        for flow in target_state.flows if self._inline else ():
            inline = self._inline.get((flow.move, consumer, name))
            if inline is not None and flow.origin == holding.where:
                pairs[inline] = next(place for place in places if place.where == flow.destination)
        self._used.update(pairs)
        return [(self._rows[index], place) for index, place in pairs.items()]

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


def _meant(row: Row, target: str, places: Sequence[Place]) -> Place | None:
    """The place that a row means, if it is one of these.

    :param target: the name of the provider that the row means
    :raises errors.BadFile: if it may be several: a target gets the class under several names
    """
    matching = [
        place
        for place in places
        if place.provider == target and row.to_resource_class in (None, place.resource_class)
    ]
    # Of a class that is renamed in place, the new name comes before what stays.
    matching = [place for place in matching if not place.stays] or matching
    if len(matching) > 1:
        names = ' and as '.join(place.resource_class for place in matching)
        raise row.error(
            f'{row.to_provider} gets {row.resource_class} as {names}: say which in '
            'to_resource_class'
        )
    return matching[0] if matching else None


def _is_in(overlay: SnapshotOverlay, allocations: Allocations, roots: Sequence[str]) -> bool:
    states = (overlay.state(provider_uuid) for provider_uuid in allocations)
    return any(overlay.root_of(state) in roots for state in states if state is not None)
