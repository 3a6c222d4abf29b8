# SPDX-License-Identifier: Apache-2.0
"""Rehearse a plan: send the same requests to a scratch Placement in this process."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from keystoneauth1.session import Session
from msgspec import structs

from placementclient.basis import errors
from placementclient.basis.wording import join_names
from placementclient.changes.summary import describe_row, list_change_rows
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.embedded import Direct
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.model.outcomes import Rehearsal
from placementclient.model.plans import Plan
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers import restore
from placementclient.reading.capture import capture
from placementclient.runs import engines


def rehearse(plan: Plan, snapshot: Snapshot, *, trees: Sequence[str] = ()) -> Rehearsal:
    """Apply a plan, verify it and roll it back, in a scratch Placement loaded from a snapshot.

    The scratch Placement has the trees of the plan, and the other providers of their consumers.

    :param plan: the plan; its generations may be older than the snapshot's
    :raises errors.BadArgument: if the snapshot has none of the trees of the plan
    """
    part = cut_snapshot(snapshot, plan, trees)
    with Direct.scratch() as service, tempfile.TemporaryDirectory() as folder:
        client = Client(Session(auth=service), HIGHEST)
        restore.load_snapshot(client, part)
        before = capture(client)
        journal_path = os.path.join(folder, 'plan.journal')
        applied = engines.apply(client, plan, journal_path, trees=trees, other_service=True)
        done = [tree.root_provider_uuid for tree in applied.trees if tree.is_done]
        differences = (
            engines.verify(client, plan, trees=done, journal_path=journal_path) if done else []
        )
        rolled_back = engines.rollback(client, plan, journal_path, trees=trees, other_service=True)
        remains = [
            Finding(row.change, row.object, reason=describe_row(row))
            for row in list_change_rows(capture(client), before)
        ]
    return Rehearsal(applied, differences, rolled_back, remains)


def cut_snapshot(snapshot: Snapshot, plan: Plan, trees: Sequence[str] = ()) -> Snapshot:
    """Return the part of a snapshot that the changes of a plan concern.

    It has trees, all consumers on them, and the providers of their other allocations. A provider
    that ``snapshot`` itself lacks gets a stand-in without limits.

    :param trees: names or UUIDs of roots, or patterns; none: all of the plan
    """
    roots = _find_root_names(plan, trees)
    _refuse_missing_roots(snapshot, roots)
    states = {state.uuid: state for root in roots for state in snapshot.tree(root)}
    consumers = {c.uuid: c for uuid in states for c in snapshot.consumers_on(uuid)}
    for consumer in consumers.values():
        for uuid in consumer.allocations:
            if uuid in snapshot.providers:
                states.update((state.uuid, state) for state in _walk_to_root(snapshot, uuid))
            else:
                states[uuid] = _make_unlimited_provider(uuid, consumer, states.get(uuid))
    return Snapshot(states.values(), consumers.values())


def _find_root_names(plan: Plan, trees: Sequence[str]) -> dict[str, str]:
    """Return, by UUID, the names of the roots of all trees that the chosen changes concern."""
    selected = plan.select_changes(trees)
    planned = [state for change in selected for state in change.before.walk()]
    names = {uuid: name for change in selected for uuid, name in change.roots.items()}
    names |= {state.uuid: state.name for state in planned}
    # The root of a tree that a reshape only adds to does not change.
    roots = [u for change in selected if plan.recipe for u in change.concerned_roots]
    roots += [state.provider.root_uuid for state in planned]
    return {root: names.get(root, root) for root in roots}


def _refuse_missing_roots(snapshot: Snapshot, roots: Mapping[str, str]) -> None:
    """Raise an error if a snapshot lacks some roots, which are given as names by UUID."""
    missing = [name for root, name in roots.items() if root not in snapshot.providers]
    if missing and len(missing) == len(roots):
        raise errors.BadArgument(
            'The snapshot is of another cloud, or of another part of it: it has none of the trees '
            f'that the plan is about ({join_names(missing, 3)})'
        )
    if missing:
        raise errors.Differs(
            f'The snapshot has no provider {", ".join(missing)}, which the plan is about: take the '
            'one that was planned on, or choose trees with --tree'
        )


def _walk_to_root(snapshot: Snapshot, provider_uuid: str) -> Iterator[ProviderState]:
    """Yield a provider and its ancestors, the root last."""
    uuid: str | None = provider_uuid
    while uuid is not None:
        yield snapshot.providers[uuid]
        uuid = snapshot.providers[uuid].provider.parent_provider_uuid


def _make_unlimited_provider(
    uuid: str, consumer: Consumer, planned: ProviderState | None
) -> ProviderState:
    """Return a provider with inventories without limits for the allocations of a consumer.

    :param planned: the provider to widen: that of the plan, or of an earlier call for another
        consumer; ``None``: a new one
    """
    state = planned or ProviderState(Provider(uuid, f'not in the snapshot {uuid}', 0, None, uuid))
    roomy = dict.fromkeys(consumer.allocations[uuid], Inventory(UNLIMITED))
    return structs.replace(state, inventories={**state.inventories, **roomy})
