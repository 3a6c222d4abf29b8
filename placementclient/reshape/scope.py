"""Reads from a live service the trees that a plan of some trees needs."""

from collections.abc import Callable, Iterator, Sequence

from placementclient.api import resource_provider
from placementclient.client.http import Client
from placementclient.model.providers import Provider, normalized
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.reading.capture import capture


def captured(
    client: Client,
    spec: Spec,
    trees: Sequence[str],
    *,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    expect: Callable[[int], None] | None = None,
) -> tuple[Snapshot, list[Provider] | None]:
    """Return a snapshot for a plan, and all providers if the snapshot has only some of them.

    A target may be in another tree, as a sharing provider is: the trees of all providers that the
    specification names for the chosen trees are read too. Without them the plan would make a
    provider that exists.
    """
    listed = resource_provider.list(client) if trees else None
    others = [] if listed is None else _named_elsewhere(spec, trees, listed)
    snapshot = capture(client, [*trees, *others], workers=workers, progress=progress, expect=expect)
    return snapshot, listed


def _named_elsewhere(
    spec: Spec, trees: Sequence[str], listed: Sequence[Provider]
) -> dict[str, None]:
    """The UUIDs of the roots of other trees whose providers are named for some trees."""
    by_name = {provider.name: provider for provider in listed}
    by_uuid = {provider.uuid: provider for provider in listed}

    def find(name: str) -> Provider | None:
        return by_uuid.get(name) or by_name.get(name) or by_uuid.get(normalized(name))

    chosen = dict.fromkeys(each.root_uuid for each in map(find, trees) if each is not None)
    members: dict[str, list[Provider]] = {root: [] for root in chosen}
    for provider in listed:
        if provider.root_uuid in members:
            members[provider.root_uuid].append(provider)

    def named() -> Iterator[Provider | None]:
        for root, providers in members.items():
            names = [name for each in providers for name in (each.name, each.uuid)]
            yield from map(find, spec.index.mentioned((root, by_uuid[root].name), names))

    roots = (each.root_uuid for each in named() if each is not None)
    return dict.fromkeys(sorted(root for root in roots if root not in members))
