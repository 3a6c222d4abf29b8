"""Providers and consumers of a plan: UUIDs, parents, generations, and the names that are made."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator

from placementclient.model.plans import ProviderChange
from placementclient.model.providers import is_uuid
from placementclient.model.specifications import ProviderSpec
from placementclient.planner.invariants.subject import Subject


def faults(subject: Subject) -> Iterator[str]:
    """Names are unique, and UUIDs are those that the plan chooses."""
    tree = subject.tree
    if not tree.is_atomic:
        yield 'it is to change step by step'
    if len(subject.by_name) < len(tree.providers):
        yield 'a name is there twice'
    for root_uuid, name in tree.roots.items():
        if not is_uuid(root_uuid):
            yield f'{root_uuid} is no UUID'
            return
        root = subject.by_uuid.get(root_uuid)
        if root is not None and root.name != name:
            yield f'the root is called {root.name} among the providers'
    yield from _positions(subject)


def _positions(subject: Subject) -> Iterator[str]:
    """Providers are in the trees of their parents."""
    roots = subject.tree.roots
    for change in subject.tree.providers:
        if change.is_created:
            yield from _creation(change, roots, subject.entries_of(change))
        elif change.after is None:
            yield f'{change.name} is to be deleted'
        elif change.is_moved and not subject.backwards:
            # On the way back others may have renamed it: only the reshape of that is sent.
            yield f'{change.name} is to be renamed or moved'
        parent = subject.by_uuid.get(change.parent_provider_uuid or '')
        if parent is not None and parent.root_provider_uuid != change.root_provider_uuid:
            yield f'{change.name} is below {parent.name}, which is in another tree'


def _creation(
    change: ProviderChange, roots: Collection[str], entries: Iterable[ProviderSpec]
) -> Iterator[str]:
    if change.root_provider_uuid not in roots:
        yield f'{change.name} is to be made in another tree'
        return
    chosen = str(uuid.uuid5(uuid.UUID(change.root_provider_uuid), change.name))
    expected = next((entry.uuid for entry in entries if entry.uuid), chosen)
    if change.uuid != expected:
        yield f'{change.name} has not the UUID {expected}'
    if change.parent_provider_uuid is None:
        yield f'{change.name} has no parent'
