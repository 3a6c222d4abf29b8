# SPDX-License-Identifier: Apache-2.0
"""Reads a Placement, or some of its trees, as a snapshot."""

import datetime
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from placementclient import get_name_and_version
from placementclient.api import allocation, resource_provider
from placementclient.api.parallel import call_in_parallel
from placementclient.basis.errors import PlacementError
from placementclient.basis.wording import join_names
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import GUARDS_CONSUMERS, TYPED
from placementclient.model import patterns
from placementclient.model.consumers import Consumer, Holding, Resources
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Origin, ProviderState, Snapshot, SnapshotReader
from placementclient.reading.facets import ALLOCATIONS, FACETS, read_facets
from placementclient.reading.listing import (
    list_tree_members,
    list_tree_providers,
    refuse_broken_trees,
)

#: From here on the listing of a provider's allocations has the consumers' generations.
SINCE = GUARDS_CONSUMERS
#: The UUID of no provider.
_NOBODY = '00000000-0000-0000-0000-000000000000'
#: How often a tree is read before it is given up.
ATTEMPTS = 6

T = TypeVar('T')


class UnstableRead(PlacementError):
    """Trees change faster than they can be read."""

    def __init__(self, providers: Sequence[str], attempts: int) -> None:
        self.providers, self.attempts = providers, attempts
        names = join_names(providers, 3, 'others')
        subject = f'{names}, or its tree,' if len(providers) == 1 else f'Each of the trees {names}'
        super().__init__(
            f'{subject} changed each of the {attempts} times that it was read: '
            'try again when less is going on there'
        )


def capture(
    client: Client,
    trees: Sequence[str] = (),
    *,
    workers: int = 1,
    keep_going: bool = False,
    progress: Callable[[str], None] | None = None,
    expect: Callable[[int], None] | None = None,
) -> Snapshot:
    """Read whole trees, each at one moment; from the embedded service all at the same moment.

    A tree that changed meanwhile is read again.

    :param trees: providers whose trees are read, by names, UUIDs, or patterns of names; none:
        everything
    :param workers: how many trees to read at the same time
    :param keep_going: keep a tree that changes each time as it was read last, marked unsteady
    :param progress: gets the name of the root of each tree that has been read
    :param expect: gets the number of trees before they are read by requests
    :raises UnstableRead: if trees cannot be read consistently; it names all
    """
    client.require_feature('', SINCE)
    # Before the reading, during which the token may expire.
    origin = make_origin(client)
    if client.snapshot_reader is not None:
        snapshot = _capture_from_database(client, client.snapshot_reader, trees)
        if progress:
            for root in snapshot.roots():
                progress(root.name)
    else:
        every = list_tree_members(client, trees).values()
        if expect:
            expect(len(every))
        snapshot = _capture_by_requests(client, every, workers, progress)
        if snapshot.unsteady and not keep_going:
            raise UnstableRead(snapshot.unsteady_names(), ATTEMPTS)
    # One may have gone while it was read.
    snapshot.root_uuids(name for name in trees if not patterns.is_pattern(name))
    snapshot.origin = origin
    return snapshot


def make_origin(client: Client) -> Origin:
    """Return the origin of a snapshot that is read now: the service and the time."""
    begun = datetime.datetime.now(datetime.UTC)
    return Origin(begun.isoformat(timespec='seconds'), client.service_label, get_name_and_version())


def _capture_by_requests(
    client: Client,
    trees: Iterable[Sequence[Provider]],
    workers: int,
    progress: Callable[[str], None] | None,
) -> Snapshot:
    """Read trees, given as lists of providers, until they agree on the consumers they share."""
    reader = _CaptureReader(client)
    captured: list[Snapshot] = []
    for tree in call_in_parallel(reader.read_tree, trees, workers):
        captured.append(tree)
        if progress and tree.providers:
            progress(_find_root(tree).name)
    attempts = 1
    while contradicting := _find_contradicting_trees(captured, reader):
        if attempts == ATTEMPTS:
            reader.unsteady.update(_find_root(captured[index]).uuid for index in contradicting)
            break
        attempts += 1
        for index in contradicting:
            providers = captured[index].providers.values()
            captured[index] = reader.read_tree([state.provider for state in providers])
    # On a consumer of both, the answer of a steady tree wins.
    captured.sort(key=lambda tree: reader.unsteady.isdisjoint(tree.providers))
    states = [state for tree in captured for state in tree.providers.values()]
    consumers = (consumer for tree in captured for consumer in tree.consumers.values())
    return Snapshot(states, consumers, None, reader.unsteady.intersection(s.uuid for s in states))


def _find_root(tree: Snapshot) -> ProviderState:
    return next(s for s in tree.providers.values() if s.provider.parent_provider_uuid is None)


def _capture_from_database(
    client: Client, reader: SnapshotReader, trees: Sequence[str]
) -> Snapshot:
    """Read trees from the embedded service's database, after a request that policy may refuse."""
    roots = list(list_tree_members(client, trees)) if trees else None
    if roots is None:
        resource_provider.list(client, uuid=_NOBODY)
    snapshot = reader.snapshot(roots, types=client.microversion >= TYPED)
    refuse_broken_trees(
        (state.provider for state in snapshot.providers.values()), 'The database has'
    )
    return snapshot


def capture_named_trees(client: Client, trees: Sequence[str], *, workers: int = 1) -> Snapshot:
    """Read whole trees as :func:`capture` does; an empty snapshot without names."""
    return capture(client, trees, workers=workers) if trees else Snapshot((), ())


class _TreeChanged(Exception):
    """A tree has changed while it was read."""


class _CaptureReader:
    """Reads trees, and each consumer once, wherever it holds something.

    A tree that is returned was like that at one moment, as far as the API can show:

    1. The answers about one provider have one generation (:meth:`_read_provider`).
    2. No generation has changed between the first answer and the last one
       (:meth:`_require_one_moment`).
    3. Freeing allocations changes no generation of a provider. So what the providers list agrees
       with what each consumer holds by its own answer (:meth:`_read_consumer`).
    4. No usage is without a listed allocation, or it was so the time before too: then it is an
       allocation whose consumer has no record (:meth:`read_tree`).
    5. Trees that share a consumer agree on it (:func:`_find_contradicting_trees`).

    A tree that has failed this in each of :data:`ATTEMPTS` is read once more without these checks,
    and is in :attr:`unsteady`.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        #: The consumers that were read, by UUID, each as its latest answer has it.
        self.consumers: dict[str, Consumer] = {}
        #: The UUIDs of the roots of trees that never stood still.
        self.unsteady: set[str] = set()
        # Two threads that need the same consumer wait for each other; others rarely do.
        self._turns = [threading.Lock() for _ in range(61)]
        self._interned: dict[object, object] = {}

    def read_tree(self, members: Sequence[Provider]) -> Snapshot:
        """Read a tree again until it does not change meanwhile; an empty snapshot if it is gone.

        A tree that changes each time is as it was read last, and in :attr:`unsteady`.

        :param members: the providers of the tree
        :raises UnstableRead: if a provider was gone in the last attempt too
        """
        roots = (member for member in members if member.parent_provider_uuid is None)
        root = next(roots, members[0])
        name, member_uuid = root.name, root.uuid
        hidden: dict[str, Resources] | None = None
        for attempt in range(ATTEMPTS + 1):
            is_last = attempt == ATTEMPTS
            if attempt:
                # With jitter, so that a writer with a rhythm is not met each time.
                time.sleep(0 if is_last else random.uniform(0, 0.05 * 2**attempt))  # noqa: S311
                members = list_tree_providers(self._client, member_uuid)
                if not members:
                    return Snapshot((), ())
            try:
                tree = self._read_all_members(members, member_uuid, is_steady=not is_last)
            except (_TreeChanged, errors.NotFound):
                continue
            if is_last:
                self.unsteady.add(_find_root(tree).uuid)
                return tree
            unlisted = {
                uuid: left for uuid in tree.providers if (left := tree.unlisted_usages(uuid))
            }
            # Used but listed nowhere: freed just between the two answers, or an allocation whose
            # consumer has no record. That one is there the next time too.
            if not unlisted or unlisted == hidden:
                return tree
            hidden = unlisted
        raise UnstableRead([name], ATTEMPTS)

    def _read_all_members(
        self, members: Sequence[Provider], member_uuid: str, *, is_steady: bool
    ) -> Snapshot:
        """Read the providers of a tree and their consumers.

        :param member_uuid: one of the providers, by which the tree is listed again
        :param is_steady: whether all answers have to be of one moment
        :raises _TreeChanged: if they are not
        """
        states: list[ProviderState] = []
        holders: dict[str, dict[str, Holding]] = {}
        for provider in members:
            state, holdings = self._read_provider(provider, is_steady)
            states.append(state)
            for holding in holdings:
                holders.setdefault(holding.consumer_uuid, {})[provider.uuid] = holding
        if not is_steady:
            shown = (_intern_texts(allocation.show(self._client, uuid).value) for uuid in holders)
            return Snapshot(states, (consumer for consumer in shown if consumer.allocations))
        member_uuids = {provider.uuid for provider in members}
        consumers = [
            self._read_consumer(uuid, member_uuids, holdings) for uuid, holdings in holders.items()
        ]
        return Snapshot(self._require_one_moment(members, states, member_uuid), consumers)

    def _require_one_moment(
        self, members: Sequence[Provider], states: Sequence[ProviderState], member_uuid: str
    ) -> Sequence[ProviderState]:
        """Return the providers of a tree if all were like that at one moment.

        :param members: the providers as they were listed before they were read
        :param states: the same providers as they were read
        :raises _TreeChanged: if one has changed meanwhile
        """
        if all(
            provider.generation == state.provider.generation
            for provider, state in zip(members, states, strict=True)
        ):
            return states
        closing = {
            provider.uuid: provider for provider in list_tree_providers(self._client, member_uuid)
        }
        if {uuid: provider.generation for uuid, provider in closing.items()} != {
            state.uuid: state.provider.generation for state in states
        }:
            raise _TreeChanged
        # A new parent moves no generation, so what was listed first may be out of date.
        return [replace(state, provider=closing[state.uuid]) for state in states]

    def _read_provider(
        self, provider: Provider, is_steady: bool
    ) -> tuple[ProviderState, Sequence[Holding]]:
        """Read a provider and the allocations on it; raise _TreeChanged if a steady one changes.

        :param is_steady: whether all answers have to be of one generation
        """
        facets = read_facets(self._client, ProviderState(provider), (*FACETS, ALLOCATIONS))
        try:
            state = (facets.require_one_generation() if is_steady else facets).state
        except errors.ConcurrentUpdate:
            raise _TreeChanged from None
        inventories = state.inventories.items()
        lean = replace(
            state,
            inventories={sys.intern(name): self._share_value(value) for name, value in inventories},
            traits=self._share_value(state.traits),
            aggregates=self._share_value(state.aggregates),
        )
        return lean, facets.holdings

    def _share_value(self, value: T) -> T:
        """Return the same object for equal values, to save memory: hosts are alike."""
        return self._interned.setdefault(value, value)  # type: ignore[return-value]

    def _read_consumer(
        self, uuid: str, members: set[str], holdings: Mapping[str, Holding]
    ) -> Consumer:
        """Return a consumer whose allocations agree with those that its providers list.

        :param members: the UUIDs of the providers of the tree
        :param holdings: the allocations that they list for the consumer, by provider
        """
        with self._turns[hash(uuid) % len(self._turns)]:
            consumer = self.consumers.get(uuid)
            if consumer is None or not _has_listed_holdings(consumer, members, holdings):
                consumer = self.consumers[uuid] = _intern_texts(
                    allocation.show(self._client, uuid).value
                )
                if not _has_listed_holdings(consumer, members, holdings):
                    raise _TreeChanged
            return consumer


def _has_listed_holdings(
    consumer: Consumer, members: set[str], holdings: Mapping[str, Holding]
) -> bool:
    """Return whether a consumer has the generation and the allocations that providers list.

    :param members: the UUIDs of these providers
    :param holdings: what they list of the consumer, by their UUIDs
    """
    here = {uuid: part for uuid, part in consumer.allocations.items() if uuid in members}
    return here == {uuid: holding.resources for uuid, holding in holdings.items()} and all(
        holding.consumer_generation == consumer.generation for holding in holdings.values()
    )


def _intern_texts(consumer: Consumer) -> Consumer:
    """Return a consumer whose repeated texts share memory."""
    return replace(
        consumer,
        allocations={
            sys.intern(uuid): {sys.intern(name): amount for name, amount in resources.items()}
            for uuid, resources in consumer.allocations.items()
        },
    )


def _find_contradicting_trees(captured: Sequence[Snapshot], reader: _CaptureReader) -> list[int]:
    """Return the indexes of steady trees that disagree on a consumer, which has moved meanwhile."""
    owner = {uuid: index for index, tree in enumerate(captured) for uuid in tree.providers}
    steady = {i for i, tree in enumerate(captured) if reader.unsteady.isdisjoint(tree.providers)}
    result: set[int] = set()
    for index, tree in enumerate(captured):
        for uuid, consumer in tree.consumers.items():
            if index in steady and reader.consumers[uuid] != consumer:
                result.add(index)
            for other in steady & {owner.get(provider, index) for provider in consumer.allocations}:
                if uuid not in captured[other].consumers:
                    result |= {index, other}
    return sorted(result & steady)
