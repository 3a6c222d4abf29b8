"""A provider tree, and what reaches it from outside."""

from __future__ import annotations

from collections.abc import Sequence
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
