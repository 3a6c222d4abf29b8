"""The trees of a plan, whatever the plan does to them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Generic, Protocol, TypeVar

from placementclient.client import errors
from placementclient.model import patterns
from placementclient.model.origin import Origin
from placementclient.model.providers import normalized
from placementclient.model.snapshots import Snapshot


class PlannedTree(Protocol):
    """A tree of a plan, or several that change together.

    :ivar root_provider_uuid: of the first of them
    :ivar roots: the names of the roots of all of them, by UUID
    :ivar before: every provider and consumer that changes
    :ivar after: the same in its desired state
    """

    @property
    def root_provider_uuid(self) -> str: ...

    @property
    def root_provider_name(self) -> str: ...

    @property
    def roots(self) -> Mapping[str, str]: ...

    @property
    def before(self) -> Snapshot: ...

    @property
    def after(self) -> Snapshot: ...


T = TypeVar('T', bound=PlannedTree)


class PlannedTrees(Generic[T]):
    """Finds the trees of a plan by their roots; a base of both kinds of plans."""

    trees: tuple[T, ...]
    origin: Origin | None

    def tree(self, name_or_uuid: str) -> T | None:
        """The plan of the tree whose root has this UUID or name."""
        return self._by_root.get(name_or_uuid) or self._by_root.get(normalized(name_or_uuid))

    def selected(self, names: Collection[str]) -> tuple[T, ...]:
        """The plans of some trees, in the order of the plan.

        :param names: names or UUIDs of roots, or patterns of names; none: all
        :raises errors.NoSuchProvider: if one of them is not of the plan
        """
        wanted = set()
        for name in patterns.expanded(names, self._root_uuids, 'tree of the plan'):
            tree = self.tree(name)
            if tree is None:
                raise errors.NoSuchProvider(f'The plan has no tree {name!r}')
            wanted.add(tree.root_provider_uuid)
        return tuple(tree for tree in self.trees if not names or tree.root_provider_uuid in wanted)

    def _root_uuids(self) -> dict[str, str]:
        return {name: uuid for tree in self.trees for uuid, name in tree.roots.items()}

    @functools.cached_property
    def _by_root(self) -> dict[str, T]:
        """The trees by the names and the UUIDs of their roots; a UUID wins."""
        by_name = {name: tree for tree in self.trees for name in tree.roots.values()}
        return by_name | {uuid: tree for tree in self.trees for uuid in tree.roots}
