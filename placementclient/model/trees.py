"""A provider tree, and the sharing providers that serve it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree for output.

    :param snapshot: has at least this tree; consumers need not have what they hold elsewhere
    :param sharing: the sharing providers of other trees that serve it, by name
    """

    snapshot: Snapshot
    root: ProviderState
    sharing: Sequence[ProviderState] = ()

    def providers(self) -> list[ProviderState]:
        """All providers, parents before their children."""
        return list(self.snapshot.tree(self.root.uuid))


def fault(providers: Iterable[Provider]) -> str | None:
    """Return the reason why providers are not complete trees, or ``None``.

    In whole trees each UUID and each name occurs once, every parent is present, and each provider
    is below the root that it names.
    """
    by_uuid: dict[str, Provider] = {}
    named: dict[str, str] = {}
    for each in providers:
        if each.uuid in by_uuid:
            return f'two providers have the UUID {each.uuid}'
        if each.name in named:
            return f'two providers have the name {each.name!r}: {named[each.name]} and {each.uuid}'
        by_uuid[each.uuid], named[each.name] = each, each.uuid
    children: dict[str | None, list[Provider]] = {}
    for each in by_uuid.values():
        parent = each.parent_provider_uuid
        if parent is not None and parent not in by_uuid:
            return f'the parent of {each.name!r} ({each.uuid}), {parent}, is missing'
        children.setdefault(parent, []).append(each)
    pending = [(root, root.uuid) for root in children.get(None, ())]
    for each, root in pending:
        if each.root_uuid != root:
            return f'{each.name!r} ({each.uuid}) is not in the tree of its root, {each.root_uuid}'
        pending.extend((child, root) for child in children.get(each.uuid, ()))
    if len(pending) < len(by_uuid):
        circling = by_uuid.keys() - {each.uuid for each, _ in pending}
        each = next(each for each in by_uuid.values() if each.uuid in circling)
        return f'the parents of {each.name!r} ({each.uuid}) are a circle'
    return None


def reach(
    sharers: Iterable[tuple[str, str, Iterable[str]]], roots_in: Mapping[str, Iterable[str]]
) -> dict[str, list[str]]:
    """Return the sharing providers that serve each tree, by the UUID of its root.

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
