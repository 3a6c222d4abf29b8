"""Faults of providers: of their names, traits, aggregates and trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from placementclient.insight import owners
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Fault
from placementclient.insight.topology import is_sharing
from placementclient.model.nova import MANY_SIBLINGS, OWNER_NOVA, OWNER_PREFIX
from placementclient.model.repairs import AddTrait, LeaveAggregate, Rename
from placementclient.model.servers import same_host
from placementclient.model.snapshots import ProviderState

#: The classes that Neutron reports below the providers of Nova.
_NETWORK = 'NET_'


def doubled_host(cloud: Cloud) -> Iterator[Fault]:
    """The same host under its short and under its full name, with its capacity twice."""
    by_short: dict[str, list[ProviderState]] = {}
    for root in cloud.snapshot.roots():
        by_short.setdefault(root.name.partition('.')[0], []).append(root)
    for short, roots in by_short.items():
        bare = [root for root in roots if root.name == short]
        for other in roots:
            if bare and other is not bare[0] and same_host(short, other.name):
                yield _twins(cloud, bare[0], other)


def sharing_without_aggregate(cloud: Cloud) -> Iterator[Fault]:
    """A sharing provider in no aggregate: nobody can use it."""
    for state in filter(is_sharing, cloud.states()):
        if not state.aggregates:
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {'aggregates': [], 'resource_classes': sorted(state.inventories)},
                None,
                'only you know which hosts are to use it: resource provider aggregate add with an '
                'aggregate of theirs',
            )


def sharing_alone(cloud: Cloud) -> Iterator[Fault]:
    """A sharing provider with nobody to share with: it is alone in its aggregates."""
    for state in filter(is_sharing, cloud.states()):
        if state.aggregates and _is_alone(cloud, state):
            aggregates = sorted(state.aggregates)
            yield Fault(
                state.name,
                (cloud.root_of(state),),
                {'aggregates': aggregates, 'resource_classes': sorted(state.inventories)},
                None,
                'only you know which hosts are to use it: resource provider aggregate add for each '
                'of them',
            )


def aggregate_of_one(cloud: Cloud) -> Iterator[Fault]:
    """An aggregate with a single member, but for those of a sharing provider that is alone."""
    for aggregate, members in sorted(cloud.topology.members.items()):
        if len(members) == 1 and not (is_sharing(members[0]) and _is_alone(cloud, members[0])):
            yield Fault(
                aggregate,
                (cloud.root_of(members[0]),),
                {'provider': members[0].name},
                LeaveAggregate(members[0].reference, aggregate),
                'an availability zone may have one host. If nothing needs the aggregate',
            )


def misnamed_child(cloud: Cloud) -> Iterator[Fault]:
    """A child whose name does not begin with its root's, though a sibling's does."""
    for parent, children in _families(cloud):
        root_uuid = cloud.root_of(parent)
        root_name = cloud.name(root_uuid)
        alike = [child for child in children if child.name.startswith(root_name)]
        for child in children if alike else ():
            if child not in alike:
                yield Fault(
                    child.name,
                    (root_uuid,),
                    {'root': root_name, 'siblings': [sibling.name for sibling in alike]},
                    Rename(child.reference, f'{root_name}_{child.name}'),
                    'whoever reports the child makes another one where it does not find the name '
                    'that it gives. If the host has been renamed',
                )


def many_siblings(cloud: Cloud) -> Iterator[Fault]:
    """So many siblings with one class that a request for candidates may take minutes."""
    for parent, children in _families(cloud):
        offering = Counter(name for child in children for name in child.inventories)
        many = {name: count for name, count in sorted(offering.items()) if count >= MANY_SIBLINGS}
        if many:
            yield Fault(
                parent.name,
                (cloud.root_of(parent),),
                {'siblings': many},
                None,
                'set allocation_candidates_generation_strategy = breadth-first and '
                'max_allocation_candidates in [placement] of placement.conf',
            )


def missing_owner(cloud: Cloud) -> Iterator[Fault]:
    """A host without the mark that others have, or a child without that of its root.

    The scheduler of Nova 34 and later does not choose them.
    """
    hosts = {root.uuid for root in owners.unowned(cloud.snapshot)}
    for root in cloud.snapshot.roots():
        for state in cloud.topology.trees[root.uuid]:
            is_childs = OWNER_NOVA in root.traits and OWNER_NOVA not in state.traits
            if state.uuid in hosts or (is_childs and not _is_others(cloud, state)):
                yield Fault(
                    state.name,
                    (root.uuid,),
                    {'root': root.name, 'missing': OWNER_NOVA},
                    AddTrait(state.uuid, state.reference, OWNER_NOVA),
                )


def _is_others(cloud: Cloud, state: ProviderState) -> bool:
    """Whether a provider in a tree of Nova's belongs to another service."""
    if any(trait.startswith(OWNER_PREFIX) for trait in state.traits):
        return True
    classes = {name for below in cloud.snapshot.tree(state.uuid) for name in below.inventories}
    return bool(classes) and all(name.startswith(_NETWORK) for name in classes)


def _is_alone(cloud: Cloud, state: ProviderState) -> bool:
    return all(len(cloud.topology.members[aggregate]) == 1 for aggregate in state.aggregates)


def _families(cloud: Cloud) -> Iterator[tuple[ProviderState, list[ProviderState]]]:
    """Each provider that has children, with them."""
    for state in cloud.states():
        if children := cloud.snapshot.children(state.uuid):
            yield state, children


def _twins(cloud: Cloud, short: ProviderState, full: ProviderState) -> Fault:
    consumers = {
        root.name: sum(
            len(cloud.snapshot.consumers_on(state.uuid))
            for state in cloud.topology.trees[root.uuid]
        )
        for root in (short, full)
    }
    return Fault(
        short.name,
        (short.uuid, full.uuid),
        {'short': short.uuid, 'full': full.uuid, 'full_name': full.name, 'consumers': consumers},
        None,
        'it is not known which of the two is alive, and after a renaming it is the empty one: '
        'openstack compute service list --service nova-compute and openstack hypervisor list say '
        'what nova-compute calls itself',
    )
