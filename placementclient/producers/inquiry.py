# SPDX-License-Identifier: Apache-2.0
"""The reasons why a request has no candidates, from the service with few requests."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from placementclient.api import allocation_candidate, resource_class, resource_provider, trait
from placementclient.client.http import Client
from placementclient.insight.candidates.matching import ProviderIndex
from placementclient.insight.candidates.relaxations import Ask, TreeCount
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.topology import Topology
from placementclient.reading import tree_reader


class UnknownNames(NamedTuple):
    """The classes and traits of a request that the service does not know."""

    classes: frozenset[str] = frozenset()
    traits: frozenset[str] = frozenset()


NOTHING = UnknownNames()
#: The default limit of candidates.
LIMIT = 1000
#: The most requests for candidates: each costs the service a search.
MOST_REQUESTS = 16


def find_unknown_names(client: Client, request: CandidateRequest) -> UnknownNames:
    """Return the classes and traits of a request that the service does not know."""
    groups = (request.common, *request.groups.values())
    classes = {name for group in groups for name in group.resources}
    traits = _list_traits(request)
    listed = trait.list(client, name=f'in:{",".join(sorted(traits))}') if traits else []
    return UnknownNames(
        frozenset(classes.difference(resource_class.list(client))),
        frozenset(traits.difference(listed)),
    )


def make_live_tree_counter(
    client: Client, limit: int | None = None, unknown: UnknownNames = NOTHING
) -> Ask:
    """Return a function that counts the trees with candidates for a request, from the service.

    It returns ``None`` for unknown traits, and once it has sent :data:`MOST_REQUESTS` requests.

    :param limit: the most candidates of each request
    :param unknown: names that the service does not know, so that no host has them
    """
    most, numbers = limit or LIMIT, iter(range(MOST_REQUESTS))

    def count_trees(request: CandidateRequest) -> TreeCount | None:
        groups = (request.common, *request.groups.values())
        if unknown.classes.intersection(name for group in groups for name in group.resources):
            return TreeCount(0)
        if unknown.traits and unknown.traits & _list_traits(request):
            return None  # calculated: the service would refuse it
        if next(numbers, None) is None:
            return None
        candidates, summaries = allocation_candidate.list(client, request._replace(limit=most))
        trees = {root for candidate in candidates for root in candidate.find_roots(summaries)}
        return TreeCount(len(trees), len(candidates) >= most)

    return count_trees


def count_trees_without_pcpu(client: Client, request: CandidateRequest) -> TreeCount:
    """Return the number of trees without PCPU that have candidates for a request."""
    most = request.limit or LIMIT
    candidates, summaries = allocation_candidate.list(client, request._replace(limit=most))
    trees = {root for candidate in candidates for root in candidate.find_roots(summaries)}
    with_pcpu = {s.root_provider_uuid for s in summaries.values() if 'PCPU' in s.resources}
    return TreeCount(len(trees - with_pcpu), len(candidates) >= most)


def read_provider_index(
    client: Client, requests: Sequence[CandidateRequest], unknown: UnknownNames = NOTHING
) -> ProviderIndex:
    """Read all providers of the service, with the traits and aggregates that requests name.

    :param unknown: names that the service does not know, so that no host has them
    """

    def list_matching_uuids(conditions: Filter) -> set[str]:
        if unknown.classes & conditions.resources.keys() or unknown.traits & {*conditions.required}:
            return set()
        return {item.uuid for item in resource_provider.list(client, matching=conditions)}

    groups = [group for item in requests for group in (item.common, *item.groups.values())]
    joined = [name for group in groups for name in (*group.member_of, *group.forbidden_member_of)]
    traits = sorted(set[str]().union(*map(_list_traits, requests)))
    having = {name: list_matching_uuids(Filter(required=(name,))) for name in traits}
    members = {
        name: list_matching_uuids(Filter(member_of=(name,))) for name in _split_names(joined)
    }
    sharing = tree_reader.read_sharing_providers(client)
    having[SHARING_TRAIT] = set(sharing.providers)
    providers = {item.uuid: item for item in resource_provider.list(client)}

    def find_traits_or_aggregates(
        uuids_by_name: Mapping[str, Set[str]], uuid: str
    ) -> frozenset[str]:
        """Return the traits or aggregates whose providers include the one with a UUID."""
        return frozenset(name for name, uuids in uuids_by_name.items() if uuid in uuids)

    states = (
        ProviderState(
            provider,
            traits=find_traits_or_aggregates(having, uuid),
            aggregates=find_traits_or_aggregates(members, uuid),
        )
        for uuid, provider in {**sharing.providers, **providers}.items()
    )

    def read_trees(roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        trees = tree_reader.read_trees(client, roots, aggregates=True) if roots else ()
        return {tree.root.uuid: [*tree.providers(), *tree.sharing] for tree in trees}

    return ProviderIndex(
        Topology(Snapshot(states, ()), sharing.sharers_by_root),
        lambda name, amount: list_matching_uuids(Filter({name: amount})),
        read_trees,
    )


def _list_traits(request: CandidateRequest) -> set[str]:
    """Return all traits that a request requires or forbids."""
    groups = (request.common, *request.groups.values())
    names = [name for group in groups for name in (*group.required, *group.forbidden)]
    return set(_split_names([*names, *request.root_required, *request.root_forbidden]))


def _split_names(names: Iterable[str]) -> list[str]:
    """Return each name once, from texts with several names between commas."""
    return list(dict.fromkeys(name for text in names for name in text.split(',')))
