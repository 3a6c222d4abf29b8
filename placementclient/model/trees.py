# SPDX-License-Identifier: Apache-2.0
"""A provider tree, and the sharing providers that serve it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree for output, with the sharing providers that serve it.

    :param snapshot: has at least this tree; of consumers only their allocations in it are needed
    :param sharing: the sharing providers of other trees, sorted by name
    """

    snapshot: Snapshot
    root: ProviderState
    sharing: Sequence[ProviderState] = ()

    def providers(self) -> list[ProviderState]:
        """All providers, parents before their children."""
        return list(self.snapshot.tree(self.root.uuid))


def explain_inconsistency(providers: Iterable[Provider]) -> str | None:
    """Return the reason why providers are not complete trees, or ``None``.

    In whole trees each UUID and each name occurs once, every parent is present, and each provider
    is below the root that it names.
    """
    by_uuid: dict[str, Provider] = {}
    uuids: dict[str, str] = {}
    for provider in providers:
        uuid, name = provider.uuid, provider.name
        if uuid in by_uuid:
            return f'two providers have the UUID {uuid}'
        if name in uuids:
            return f'two providers have the name {name!r}: {uuids[name]} and {uuid}'
        by_uuid[uuid], uuids[name] = provider, uuid
    children: dict[str | None, list[Provider]] = {}
    for provider in by_uuid.values():
        parent = provider.parent_provider_uuid
        if parent is not None and parent not in by_uuid:
            return f'the parent of {_describe_provider(provider)}, {parent}, is missing'
        children.setdefault(parent, []).append(provider)
    pending = [(root, root.uuid) for root in children.get(None, ())]
    for provider, root in pending:
        if provider.root_uuid != root:
            named = _describe_provider(provider)
            return f'{named} is not in the tree of its root, {provider.root_uuid}'
        pending.extend((child, root) for child in children.get(provider.uuid, ()))
    reached = {provider.uuid for provider, _ in pending}
    for provider in by_uuid.values():
        if provider.uuid not in reached:
            return f'the parents of {_describe_provider(provider)} are a circle'
    return None


def _describe_provider(provider: Provider) -> str:
    return f'{provider.name!r} ({provider.uuid})'


def find_sharers_by_tree(
    sharers: Iterable[tuple[str, str, Iterable[str]]], roots_in: Mapping[str, Iterable[str]]
) -> dict[str, list[str]]:
    """Return the UUIDs of the sharing providers that serve each tree, by the UUID of its root.

    A sharing provider serves every tree of which any provider is in one of its aggregates.

    :param sharers: the UUID of each, of its root, and the aggregates that it is in
    :param roots_in: the roots of the members of each aggregate
    """
    reached: dict[str, dict[str, None]] = {}
    for uuid, sharer_root, aggregates in sharers:
        for aggregate in aggregates:
            for root in roots_in[aggregate]:
                if root != sharer_root:
                    reached.setdefault(root, {})[uuid] = None
    return {root: list(uuids) for root, uuids in reached.items()}
