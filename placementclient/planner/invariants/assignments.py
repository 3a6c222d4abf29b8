"""The rows of a plan keep to what is known of who holds what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from placementclient.model.plans import Label, PlannedRow, Recipe
from placementclient.planner.invariants.subject import Subject


class _KnownHolding(NamedTuple):
    """An amount of a consumer that is known to belong to a provider.

    :param amount: ``None``: all of it
    :param provider: its name or UUID
    :param source: the name of the provider that it is on; ``None``: any
    """

    resource_class: str
    amount: int | None
    provider: str
    source: str | None = None


def faults(recipe: Recipe, subjects: Iterable[Subject]) -> Iterator[str]:
    """A row that was given is kept, none says that it was given and was not, none is a guess.

    :param subjects: the trees of the plan
    """
    given: dict[str, list[_KnownHolding]] = {}
    for row in recipe.assignments:
        known = _KnownHolding(row.resource_class, row.amount, row.to_provider)
        given.setdefault(row.consumer_uuid, []).append(known)
    named = {uuid for move in recipe.spec.moves for uuid in move.consumers}
    for subject in subjects:
        tree = subject.tree
        by_consumer: dict[str, list[PlannedRow]] = {}
        for each in tree.rows:
            by_consumer.setdefault(each.consumer_uuid, []).append(each)
            if each.label is Label.INFERRED and not recipe.allow_inferred:
                yield f'{tree.root_provider_name}: the place of {each.consumer_uuid} is a guess'
        for uuid, rows in by_consumer.items():
            known_of = given.get(uuid, [])
            if uuid in named:
                known_of = [*known_of, *_of_moves(subject, uuid)]
            for fault in _of_consumer(subject, rows, known_of):
                yield f'{tree.root_provider_name}: {fault}'


def _of_moves(subject: Subject, consumer_uuid: str) -> Iterator[_KnownHolding]:
    """Return the amounts of a consumer that the moves of the specification know."""
    for move, source, target in subject.moves:
        for name, amount in move.consumers.get(consumer_uuid, {}).items():
            yield _KnownHolding(name, amount, target, source.name)


def _of_consumer(
    subject: Subject, rows: list[PlannedRow], known: list[_KnownHolding]
) -> Iterator[str]:
    for each in known:
        provider = subject.find(each.provider)
        of_class = [
            row
            for row in rows
            if row.resource_class == each.resource_class
            and each.source in (None, row.from_provider)
        ]
        if provider is None or not of_class:
            continue  # it is about another tree
        there = sum(row.amount for row in of_class if row.to_provider == provider.name)
        if there < (each.amount or 1):
            yield (
                f'{rows[0].consumer_uuid} is known to have {each.resource_class} of '
                f'{provider.name}, and its rows do not say so'
            )
