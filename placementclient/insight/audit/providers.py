# SPDX-License-Identifier: Apache-2.0
"""Checks of providers: of their names, traits, aggregates and trees."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from placementclient.insight import owners
from placementclient.insight.audit import identities
from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.insight.owners import is_foreign
from placementclient.model.findings import Finding
from placementclient.model.nova import MANY_SIBLINGS, OWNER_NOVA
from placementclient.model.repairs import AddTrait, make_advice
from placementclient.model.requests import CandidateRequest
from placementclient.model.servers import Flavor
from placementclient.model.snapshots import ProviderState
from placementclient.placing import candidate_count
from placementclient.placing.providers import is_sharing

_WIDE = (
    'in placement.conf set [placement]max_allocation_candidates = 1000 and '
    '[placement]allocation_candidates_generation_strategy = breadth-first; where servers ask for '
    'more than 4 of a class, [workarounds]optimize_for_wide_provider_trees = true'
)
_SINGLE = 'an availability zone may have one host. If nothing needs the aggregate'
_TWINS = (
    'it is not known which of the two is alive, and after a renaming it is the empty one: '
    'openstack compute service list --service nova-compute and openstack hypervisor list say what '
    'nova-compute calls itself. Then "placement resource provider replace OTHER --with LIVE '
    '--name NAME" moves everything to the one that is alive'
)
_JOIN = 'only you know which hosts should use it'
_ADD = 'placement resource provider aggregate add'
_RENAMED = (
    'the service that reports the child creates a second one if it does not find its name. If the '
    'host was renamed'
)
_UNKNOWN = (
    'it may be of another service: the names of children of Nova begin with that of the host. If '
    'nova-compute reports it'
)


def find_doubled_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hosts with two providers: one has the short name, the other the full name."""
    by_name = defaultdict[str, list[ProviderState]](list)
    for root in cloud.snapshot.roots():
        by_name[root.name.casefold()].append(root)
    pairs = [
        (short, full)
        for name, roots in by_name.items()
        for full in roots
        for key in dict.fromkeys((name.partition('.')[0], name))
        for short in by_name.get(key, ())
        if (len(short.name), short.name) < (len(full.name), full.name)
    ]
    # The check "twin" reports twins, with the live one.
    try:
        twins = (
            {uuid for twin in identities.find_twin_hosts(cloud) for uuid in twin.roots}
            if pairs
            else set()
        )
    except MissingFields:
        twins = set()
    for short, full in pairs:
        if not {short.uuid, full.uuid} <= twins:
            facts = {
                'short': short.uuid,
                'full': full.uuid,
                'full_name': full.name,
                'consumers': {r.name: identities.count_consumers(cloud, r) for r in (short, full)},
            }
            reason = identities.explain_foreign_owner(cloud, short, full.name) or _TWINS
            yield make_finding(short.name, facts, (short.uuid, full.uuid), reason=reason)


def find_sharing_without_aggregate(cloud: Cloud) -> Iterator[Finding]:
    """Yield the sharing providers in no aggregate."""
    for state in filter(is_sharing, cloud.list_providers()):
        if not state.aggregates:
            reason = f'{_JOIN}: {_ADD} {state.reference} AGGREGATE'
            yield cloud.make_finding(state, _make_sharing_facts(state), reason=reason)


def find_lone_sharing_providers(cloud: Cloud) -> Iterator[Finding]:
    """Yield the sharing providers that are the only members of their aggregates."""
    for state in filter(is_sharing, cloud.list_providers()):
        if state.aggregates and _is_only_member(cloud, state):
            yield cloud.make_finding(
                state, _make_sharing_facts(state), reason=f'{_JOIN}: {_ADD} HOST AGGREGATE'
            )


def find_aggregates_of_one(cloud: Cloud) -> Iterator[Finding]:
    """Yield the aggregates with a single member."""
    for aggregate, members in sorted(cloud.topology.members.items()):
        if len(members) == 1 and not (
            is_sharing(members[0]) and _is_only_member(cloud, members[0])
        ):
            remedy = make_advice('aggregate', 'remove', members[0].reference, aggregate)
            facts = {'provider': members[0].name}
            roots = (members[0].provider.root_uuid,)
            yield make_finding(aggregate, facts, roots, remedy, _SINGLE)


def find_misnamed_children(cloud: Cloud) -> Iterator[Finding]:
    """Yield the children whose names do not begin with the root's name, as a sibling's does."""
    for parent in cloud.list_providers():
        root_name = cloud.get_name(parent.provider.root_uuid)
        children = cloud.snapshot.children(parent.uuid)
        if all(child.name.startswith(root_name) for child in children):
            continue
        local = [child for child in children if not is_foreign(cloud.snapshot, child)]
        siblings = [child.name for child in local if child.name.startswith(root_name)]
        for child in local if siblings else ():
            if child.name not in siblings:
                facts = {'root': root_name, 'siblings': siblings}
                remedy = make_advice('set', child.reference, '--name', f'{root_name}_{child.name}')
                yield cloud.make_finding(child, facts, remedy, _RENAMED)


def find_wide_trees(cloud: Cloud) -> Iterator[Finding]:
    """Yield the trees in which 8 or more providers have the same class."""
    wide = {
        root: many
        for root, tree in cloud.topology.trees.items()
        if (many := _count_crowded_classes(tree))
    }
    if not wide:
        return
    scheduling, flavors = cloud.lists.scheduling, cloud.lists.flavors
    requests = list(scheduling.build_accepted_requests(flavors or ()))
    counters = _make_flavor_counters(cloud, requests)
    for root, many in wide.items():
        tree = cloud.topology.trees[root]
        facts = {'providers': many}
        together = {name: _count_used_together(cloud, tree, name, requests) for name in many}
        if together := {name: number for name, number in together.items() if number > 1}:
            facts['together'] = together
        numbers = {counter.flavor: counter.count_in_tree(root).count for counter in counters}
        if above := {c.flavor: numbers[c.flavor] for c in counters if numbers[c.flavor] > c.limit}:
            facts['candidates'] = above
        yield cloud.make_finding(tree[0], facts, reason=_WIDE)


class _FlavorCounter(NamedTuple):
    """Counts the candidates of a flavor.

    :param limit: the most that Nova takes
    :param count_in_tree: counts those in a tree, by the UUID of its root
    """

    flavor: str
    limit: int
    count_in_tree: Callable[[str], candidate_count.TreeCandidateCount]


def _make_flavor_counters(
    cloud: Cloud, requests: Iterable[tuple[Flavor, CandidateRequest]]
) -> list[_FlavorCounter]:
    """Return a counter of candidates for each flavor whose request has a limit.

    The limit is the most candidates that Nova takes from Placement.

    :param requests: each flavor with its request
    """
    return [
        _FlavorCounter(
            flavor.name, request.limit, candidate_count.make_tree_counter(cloud.topology, request)
        )
        for flavor, request in requests
        if request.limit is not None
    ]


def _count_crowded_classes(tree: Sequence[ProviderState]) -> dict[str, int]:
    """Return by class the number of its providers in a tree, if 8 or more have the class."""
    having = Counter(name for state in tree for name in state.inventories)
    return {name: count for name, count in sorted(having.items()) if count >= MANY_SIBLINGS}


def _count_used_together(
    cloud: Cloud,
    tree: Sequence[ProviderState],
    resource_class: str,
    requests: Iterable[tuple[Flavor, CandidateRequest]],
) -> int:
    """Return the most providers of a class that one consumer or one request uses in a tree.

    :param requests: each flavor with its request
    """
    using = Counter(
        consumer.uuid
        for state in tree
        for consumer in cloud.snapshot.consumers_on(state.uuid)
        if resource_class in consumer.allocations[state.uuid]
    )
    asking = (
        sum(resource_class in group.resources for group in request.groups.values())
        for _, request in requests
    )
    return max((*using.values(), *asking), default=0)


def find_missing_owner_traits(cloud: Cloud) -> Iterator[Finding]:
    """Yield the hosts and the children of hosts that lack OWNER_NOVA, though others have it."""
    hosts = {root.uuid for root in owners.find_unowned_hosts(cloud.snapshot)}
    for root in cloud.snapshot.roots():
        for state in cloud.topology.trees[root.uuid]:
            is_childs = OWNER_NOVA in root.traits and OWNER_NOVA not in state.traits
            if state.uuid in hosts or (is_childs and not is_foreign(cloud.snapshot, state)):
                facts = {'root': root.name, 'missing': OWNER_NOVA}
                remedy = AddTrait(state.uuid, state.reference, OWNER_NOVA)
                reason = '' if state.name.startswith(root.name) else _UNKNOWN
                yield cloud.make_finding(state, facts, remedy, reason)


def _is_only_member(cloud: Cloud, state: ProviderState) -> bool:
    """Return True if a provider is alone in each of its aggregates."""
    return all(len(cloud.topology.members[aggregate]) == 1 for aggregate in state.aggregates)


def _make_sharing_facts(state: ProviderState) -> dict[str, list[str]]:
    """Return the facts about a sharing provider: its classes and its aggregates."""
    aggregates, classes = sorted(state.aggregates), sorted(state.inventories)
    return {'aggregates': aggregates, 'resource_classes': classes}
