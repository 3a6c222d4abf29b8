"""Build a Placement up to what a snapshot has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from placementclient.api import allocation, resource_provider
from placementclient.api.conflict import retried
from placementclient.changes.applier import Applier, generations_of
from placementclient.changes.diff import diff
from placementclient.changes.plan import ChangePlan, plan_of
from placementclient.changes.rebase import Obstacle, rebase
from placementclient.changes.simulation import simulate
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import listed
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Snapshot
from placementclient.reading import capture

#: Trees that are read at a time, to see what is there.
WORKERS = 4
_NOTHING = Snapshot((), ())


class Unrestorable(errors.PlacementError):
    """A snapshot that cannot be restored here."""


def load(client: Client, snapshot: Snapshot, *, missing: bool = False) -> None:
    """Make the classes, traits, providers and allocations of a snapshot.

    Generations begin again. Allocations that no consumer answers for cannot be restored.

    :param missing: complete a restore that did not come to its end
    :raises: the errors of :func:`plan`
    """
    decided = [_decided(client, snapshot, missing=missing)]

    def attempt() -> None:
        # Another writer may have changed what this one has made: it goes on beside that.
        there, after = decided.pop() if decided else _left(client, snapshot)
        Applier(client, generations_of(there)).run(diff(there, after))

    retried(attempt, max_retries=client.max_retries)


def plan(
    client: Client, snapshot: Snapshot, *, missing: bool = False, again: Sequence[str] = ()
) -> ChangePlan:
    """Plan what has to be made.

    :param missing: complete a restore that did not come to its end
    :param again: go on with the restore of these trees, by name or UUID, after a conflict
    :raises Unrestorable: if there is one of the providers, and ``missing`` is not set, or one has
        the name of another; if something exists that no restore of this snapshot leaves; if
        consumers hold something on providers that the snapshot lacks; or if one holds something of
        which the snapshot has no inventory
    """
    _check_free(client, snapshot, again)
    sides = _left(client, snapshot) if again else _decided(client, snapshot, missing=missing)
    return plan_of('resource provider snapshot restore', *sides)


def _decided(client: Client, snapshot: Snapshot, *, missing: bool) -> tuple[Snapshot, Snapshot]:
    """Return the present state and the wanted state.

    :raises: the errors of :func:`plan`
    """
    _check_complete(snapshot)
    there = _there(client, _existing(client, snapshot, missing))
    after, obstacles = _completed(snapshot, there)
    altered = [*_altered_providers(snapshot, there, obstacles), *_altered(snapshot, there)]
    if altered:
        raise _altered_by(altered)
    return there, after


def _left(client: Client, snapshot: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Return the present state, and the wanted state with the rest."""
    there = _there(client, _existing(client, snapshot, missing=True))
    after, obstacles = _completed(snapshot, there)
    if obstacles:
        raise _altered_by([each.name for each in obstacles])
    return there, after


def _altered_by(names: Sequence[str]) -> Unrestorable:
    """Return the error for things that are not as a restore of the snapshot leaves them.

    :param names: of the providers, and the UUIDs of consumers
    """
    return Unrestorable(
        f'What exists is not what a restore of this snapshot leaves: {listed(names, 3, "others")}'
    )


def _completed(snapshot: Snapshot, there: Snapshot) -> tuple[Snapshot, tuple[Obstacle, ...]]:
    """Return what is there with what is missing, whatever a restore has made of it before."""
    rebased = rebase(_NOTHING, snapshot, there, diff(_NOTHING, snapshot))
    return simulate(there, rebased.operations), rebased.obstacles


def _check_complete(snapshot: Snapshot) -> None:
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            state = snapshot.providers.get(uuid)
            lacking = resources.keys() - (state.inventories.keys() if state else ())
            if lacking:
                raise Unrestorable(
                    f'Consumer {consumer.uuid} holds {", ".join(sorted(lacking))} on the provider '
                    f'{uuid}, of which the snapshot has no inventory'
                )


def _check_free(client: Client, snapshot: Snapshot, trees: Sequence[str]) -> None:
    elsewhere = [
        uuid
        for uuid in (snapshot.only(trees).consumers if trees else ())
        if not allocation.show(client, uuid).value.allocations.keys() <= snapshot.providers.keys()
    ]
    if elsewhere:
        raise Unrestorable(
            'Consumers of the snapshot hold allocations on other providers already: '
            f'{listed(elsewhere, 3, "others")}. Restore into an empty Placement, or look with '
            '"resource provider allocation show" and delete what is not used'
        )


def _there(client: Client, existing: Sequence[Provider]) -> Snapshot:
    roots = sorted({provider.root_uuid for provider in existing})
    return capture.capture_any(client, roots, workers=WORKERS)


def _existing(client: Client, snapshot: Snapshot, missing: bool) -> list[Provider]:
    """The providers that need not be made."""
    same, occupied = [], []
    for provider in resource_provider.list(client):
        found = snapshot.providers.get(provider.uuid) or snapshot.named(provider.name)
        if found is None:
            continue
        if missing and (found.uuid, found.name) == (provider.uuid, provider.name):
            same.append(provider)
        else:
            occupied.append(provider)
    if occupied:
        names = listed([provider.name for provider in occupied], 3, 'others')
        raise Unrestorable(f'Resource providers of the snapshot exist already: {names}')
    return same


def _altered_providers(
    snapshot: Snapshot, there: Snapshot, obstacles: Iterable[Obstacle]
) -> Iterator[str]:
    """Return the names of the providers that have anything but what a restore gives them."""
    in_the_way = {each.uuid for each in obstacles if each.kind == 'provider'}
    for uuid, state in snapshot.providers.items():
        found = there.providers.get(uuid)
        if found is None:
            continue
        is_as_begun = (
            found.inventories.keys() <= state.inventories.keys()
            and found.traits in (frozenset(), state.traits)
            and found.aggregates in (frozenset(), state.aggregates)
        )
        if uuid in in_the_way or not is_as_begun:
            yield state.name


def _altered(snapshot: Snapshot, there: Snapshot) -> Iterator[str]:
    """Return the consumers on the snapshot's providers that it lacks, or that hold other things."""
    for uuid, consumer in there.consumers.items():
        if snapshot.providers.keys().isdisjoint(consumer.allocations):
            continue
        wanted = snapshot.consumers.get(uuid)
        if wanted is None or wanted.allocations != consumer.allocations:
            yield f'consumer {uuid}'
