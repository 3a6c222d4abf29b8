# SPDX-License-Identifier: Apache-2.0
"""The providers of whole trees, checked once to be complete trees."""

from collections.abc import Iterable, Sequence

from placementclient.api import resource_provider
from placementclient.basis.errors import NoSuchProvider
from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.model import patterns
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.trees import explain_inconsistency


def list_tree_providers(client: Client, in_tree: str | None = None) -> list[Provider]:
    """Return the providers of all trees, or of the tree of one provider, in any order.

    :param in_tree: the UUID of the provider
    :raises errors.InvalidAnswer: if a provider is its own ancestor, appears twice, or has a parent
        or a root that is missing
    """
    members = resource_provider.list(client, matching=Filter(in_tree=in_tree))
    refuse_broken_trees(members, f'{endpoints.LIST_PROVIDERS} was answered with')
    return members


def refuse_broken_trees(providers: Iterable[Provider], subject: str) -> None:
    """Raise an error, which begins with ``subject``, unless providers are complete trees."""
    if reason := explain_inconsistency(providers):
        raise errors.InvalidAnswer(
            f'{subject} providers that form no tree: {reason}. See "placement resource provider '
            'list", and correct the parent with "placement resource provider set"'
        )


def expand_names(client: Client, names: Sequence[str]) -> list[str]:
    """Return names and UUIDs as they are, and for each pattern of names the roots' UUIDs instead.

    These are the roots of the trees of all providers whose names match.
    """
    return patterns.expand_patterns(
        names,
        lambda: {provider.name: provider.root_uuid for provider in resource_provider.list(client)},
    )


def list_tree_members(client: Client, names: Sequence[str] = ()) -> dict[str, list[Provider]]:
    """Return the providers of trees by the UUIDs of the roots, in the order of the roots' names.

    :param names: names, UUIDs, or patterns of names of providers; none: everything
    """
    listed = [
        provider
        for name in expand_names(client, names)
        for provider in _list_tree_of_provider(client, name)
    ]
    if not names:
        listed = list_tree_providers(client)
    by_root: dict[str, dict[str, Provider]] = {
        provider.uuid: {}
        for provider in sorted(listed, key=lambda provider: provider.name)
        if provider.parent_provider_uuid is None
    }
    for provider in listed:
        by_root[provider.root_uuid][provider.uuid] = provider
    return {root: list(providers.values()) for root, providers in by_root.items()}


def _list_tree_of_provider(client: Client, name_or_uuid: str) -> list[Provider]:
    provider_uuid = resource_provider.find(client, name_or_uuid)
    providers = list_tree_providers(client, provider_uuid)
    if not providers:
        raise NoSuchProvider(f'No resource provider has the UUID {provider_uuid!r}')
    return providers
