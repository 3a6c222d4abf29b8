"""A provider tree, and what reaches it from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True, slots=True)
class Tree:
    """One tree as it is shown.

    :param snapshot: has at least this tree; consumers need not have what they hold elsewhere
    :param root: the provider that all others of it are below
    :param sharing: the sharing providers of other trees that serve it, by name
    """

    snapshot: Snapshot
    root: ProviderState
    sharing: Sequence[ProviderState] = ()

    def providers(self) -> list[ProviderState]:
        """All of it, parents before their children."""
        return list(self.snapshot.tree(self.root.uuid))


def reach(
    sharers: Iterable[tuple[str, str, Iterable[str]]], roots_in: Mapping[str, Iterable[str]]
) -> dict[str, list[str]]:
    """Which sharing providers serve each tree from another one, by the UUID of its root.

    A sharing provider serves every tree of which any provider is in one of its aggregates.

    :param sharers: the UUID of each, of its root, and the aggregates that it is in
    :param roots_in: the roots of the members of each aggregate
    """
    reached: dict[str, dict[str, None]] = {}
    for uuid, own_root, aggregates in sharers:
        for aggregate in aggregates:
            for root in roots_in[aggregate]:
                if root != own_root:
                    reached.setdefault(root, {})[uuid] = None
    return {root: list(uuids) for root, uuids in reached.items()}
