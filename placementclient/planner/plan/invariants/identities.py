"""Providers and consumers of a plan: UUIDs, parents, generations, and the names that are made."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator

from placementclient.model.providers import is_uuid
from placementclient.planner.plan.invariants.subject import Subject
from placementclient.planner.plan.state_changes import ProviderChange
from placementclient.planner.specification.values import ProviderSpec


def faults(subject: Subject) -> Iterator[str]:
    """UUIDs fixed and unique, parents first, generations where there is something to have."""
    tree = subject.tree
    if len(subject.by_uuid) < len(tree.providers) or len(subject.by_name) < len(tree.providers):
        yield 'a provider is there twice'
    if len({change.uuid for change in tree.consumers}) < len(tree.consumers):
        yield 'a consumer is there twice'
    for root_uuid, name in tree.roots.items():
        if not is_uuid(root_uuid):
            yield f'{root_uuid} is no UUID'
            return
        root = subject.by_uuid.get(root_uuid)
        if root is not None and root.name != name:
            yield f'the root is called {root.name} among the providers'
    yield from _order(subject)


def _order(subject: Subject) -> Iterator[str]:
    """Providers come after their parents, which are in the same tree."""
    seen: set[str] = set()
    roots = subject.tree.roots
    for change in subject.tree.providers:
        if change.is_created:
            yield from _creation(change, roots, subject.entries_of(change))
        elif change.content_before.generation is None:
            yield f'{change.name} has no generation'
        parent = subject.by_uuid.get(change.parent_provider_uuid or '')
        if parent is not None and parent.uuid not in seen:
            yield f'{change.name} comes before its parent'
        if parent is not None and parent.root_provider_uuid != change.root_provider_uuid:
            yield f'{change.name} is below {parent.name}, which is in another tree'
        if change.after.generation is not None:
            yield f'{change.name} has a generation that cannot be known yet'
        seen.add(change.uuid)


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
