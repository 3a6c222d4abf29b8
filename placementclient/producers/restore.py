"""Restore a snapshot: create what the service lacks."""

from collections.abc import Iterator, Sequence

from placementclient.api import allocation, resource_provider
from placementclient.api.attempts import retried
from placementclient.changes.applier import Applier
from placementclient.changes.diff import diff
from placementclient.changes.rebase import additions, rebase
from placementclient.changes.simulation import simulate
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import listed
from placementclient.model.snapshots import Snapshot
from placementclient.producers.producer import Producer
from placementclient.reading.capture import capture_any

#: Trees that are read at a time, to see what is there.
WORKERS = 4
_NOTHING = Snapshot((), ())


class Unrestorable(errors.PlacementError):
    """A snapshot that cannot be restored here."""


class Restoring(Producer):
    """The producer of everything that a snapshot has and the service lacks.

    Generations begin again. Allocations that no consumer answers for cannot be restored.

    :param missing: complete a restore that did not come to its end
    """

    command = 'resource provider snapshot restore'

    def __init__(self, client: Client, snapshot: Snapshot, *, missing: bool = False) -> None:
        super().__init__(client)
        self._snapshot, self._missing = snapshot, missing
        self._is_begun = False

    def read(self, roots: Sequence[str]) -> Snapshot:
        """Read the existing trees of the snapshot."""
        self._is_begun = bool(roots)
        if roots:
            _check_free(self.client, self._snapshot, roots)
        else:
            _check_complete(self._snapshot)
        trees = _existing(self.client, self._snapshot, self._missing or self._is_begun)
        return capture_any(self.client, sorted(trees), workers=WORKERS)

    def desired(self, live: Snapshot) -> Snapshot:
        """Return the existing state with the missing objects, after any interrupted restore."""
        rebased = rebase(_NOTHING, self._snapshot, live, diff(_NOTHING, self._snapshot))
        altered = [] if self._is_begun else [*_added(self._snapshot, live)]
        altered += [obstacle.subject for obstacle in rebased.obstacles]
        if altered:
            raise Unrestorable(
                'A restore of this snapshot does not leave these as they are: '
                f'{listed(list(dict.fromkeys(altered)), 3, "others")}'
            )
        return simulate(live, rebased.operations)


def load(client: Client, snapshot: Snapshot) -> None:
    """Create the classes, traits, providers and allocations of a snapshot."""
    restoring = Restoring(client, snapshot)
    roots: list[str] = []

    def attempt() -> None:
        live = restoring.read(roots)
        after = restoring.desired(live)
        # Another writer may change what this one makes: the next attempt goes on beside that.
        roots[:] = [root.uuid for root in snapshot.roots()]
        Applier(client, live).run(diff(live, after))

    retried(client, attempt)


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


def _existing(client: Client, snapshot: Snapshot, missing: bool) -> set[str]:
    """Return the roots of the providers that need not be made."""
    roots, occupied = set[str](), []
    for provider in resource_provider.list(client):
        state = snapshot.providers.get(provider.uuid) or snapshot.named(provider.name)
        if state is None:
            continue
        if missing and (state.uuid, state.name) == (provider.uuid, provider.name):
            roots.add(provider.root_uuid)
        else:
            occupied.append(provider.name)
    if occupied:
        names = listed(occupied, 3, 'others')
        raise Unrestorable(f'Resource providers of the snapshot exist already: {names}')
    return roots


def _added(snapshot: Snapshot, live: Snapshot) -> Iterator[str]:
    """Return the providers that have more than in the snapshot, and the consumers that it lacks."""
    for uuid, state in snapshot.providers.items():
        if restored := live.providers.get(uuid):
            yield from (obstacle.subject for obstacle in additions(state, restored))
    for uuid, consumer in live.consumers.items():
        if uuid not in snapshot.consumers and consumer.allocations.keys() & snapshot.providers:
            yield f'consumer {uuid}'
