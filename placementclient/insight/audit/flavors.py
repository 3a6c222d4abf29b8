# SPDX-License-Identifier: Apache-2.0
"""Flavors that no host can take, even an empty one, and classes without a limit."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from placementclient.insight.audit.cloud import Cloud, make_finding
from placementclient.insight.candidates.conflicts import minimize_conflict
from placementclient.insight.candidates.matching import ProviderIndex, TreeMatcher, index_snapshot
from placementclient.insight.candidates.requirements import list_requirements
from placementclient.insight.unknown_names import (
    ReportedNames,
    describe_absent_name,
    find_absent_names,
)
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE
from placementclient.model.requests import CandidateRequest
from placementclient.model.servers import Flavor
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import server_request
from placementclient.nova.server_parts import Refusal, ServerRequest
from placementclient.nova.server_request import RequestBuilder
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology

#: Traits that older releases of Nova do not require.
_TPM_SECRETS = 'COMPUTE_SECURITY_TPM_SECRET_SECURITY_'
_TPM_MODELS = frozenset({'COMPUTE_SECURITY_TPM_CRB', 'COMPUTE_SECURITY_TPM_TIS'})
#: The kinds of trees that are tried before all: most flavors fit on most kinds.
_FEW = 50
_CHANGE = (
    'change the flavor with openstack flavor set --property and openstack flavor unset --property, '
    'or have a host report what it asks for'
)
#: The classes that only flavors request. Ports, images and PCI devices have no limits.
_OF_FLAVORS = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU')
_SERVERS, _PREFIX = 'servers', 'class:'
_REGISTER = (
    'only you know the limit: openstack registered limit create --service nova '
    '--default-limit LIMIT {}'
)


def find_unplaceable_flavors(cloud: Cloud) -> Iterator[Finding]:
    """Yield the flavors whose servers fit on no host, even on an empty one."""
    if not cloud.lists.flavors:
        return
    names, indexes = (
        ReportedNames.from_snapshot(cloud.snapshot),
        _index_emptied_trees(cloud.topology),
    )
    for flavor in cloud.lists.flavors:
        if facts := _explain_unplaceable_flavor(indexes, names, flavor, cloud.lists.scheduling):
            yield make_finding(flavor.name, facts, reason=_CHANGE)


def _explain_unplaceable_flavor(
    indexes: Sequence[ProviderIndex],
    names: ReportedNames,
    flavor: Flavor,
    scheduling: RequestBuilder,
) -> dict[str, object]:
    """Return the facts why no host can take a server of a flavor; empty if one can.

    :param indexes: as :func:`_index_emptied_trees` returns them
    :param names: the classes, traits and aggregates that providers have
    """
    try:
        sent = scheduling.build_server_request(
            ServerRequest(flavor, from_volume=True), has_owner_trait=False
        )
    except Refusal as reason:
        return {'refused': str(reason)}
    if sent.ignored:
        return {'ignored': list(sent.ignored)}
    if sent.placement_refusal:
        return {'refused': sent.placement_refusal}
    facts = [
        _explain_unmet_request(indexes, names, _drop_temporary_conditions(request, names))
        for request in sent.requests
    ]
    return facts[0] if all(facts) else {}


def _explain_unmet_request(
    indexes: Sequence[ProviderIndex], names: ReportedNames, request: CandidateRequest
) -> dict[str, object]:
    """Return the facts why no tree has candidates of a request; empty if one has.

    :param indexes: as :func:`_index_emptied_trees` returns them
    :param names: the classes, traits and aggregates that providers have
    """
    if not request.common.resources and not request.groups:
        return {}
    if missing := [*map(describe_absent_name, find_absent_names(names, request))]:
        return {'nobody_has': missing}
    together = _find_conflict(indexes, request)
    return {'never_on_one_host': together} if together else {}


def _drop_temporary_conditions(request: CandidateRequest, names: ReportedNames) -> CandidateRequest:
    """Return a request without conditions that hold only for now or for newer releases.

    A disabled host may be enabled again; older releases of Nova require no traits of TPMs.

    :param names: the classes, traits and aggregates that providers have
    """
    required, root = request.common.required, request.root_required
    if names.traits.isdisjoint(_TPM_MODELS):
        required = tuple(name for name in required if name not in _TPM_MODELS)
    if not any(name.startswith(_TPM_SECRETS) for name in names.traits):
        root = tuple(name for name in root if not name.startswith(_TPM_SECRETS))
    return request._replace(
        common=request.common._replace(required=required), root_required=root, root_forbidden=()
    )


def _index_emptied_trees(topology: Topology) -> list[ProviderIndex]:
    """Return two indexes of trees without allocations, where one tree stands for all equal ones.

    The first, for a quick look, has the trees with sharing providers and a few of the others; the
    second has all of them.
    """
    kinds = topology.number_trees(compares_usage=False)
    trees = {kinds[root]: tree for root, tree in topology.trees.items()}.values()
    shared = [tree for tree in trees if any(map(is_sharing, tree))]
    others = [tree for tree in trees if not any(map(is_sharing, tree))]
    return [
        index_snapshot(Snapshot(map(_empty_provider, chain(*shared, *hosts)), ()))
        for hosts in (others[:_FEW], others)
    ]


def _find_conflict(indexes: Iterable[ProviderIndex], request: CandidateRequest) -> list[str]:
    """Return the fewest requirements, as text, that no tree meets together; none if one meets all.

    :param indexes: as :func:`_index_emptied_trees` returns them
    """
    required = list_requirements(request)
    for index in indexes:
        matcher = TreeMatcher(index, required)
        if matcher.is_possible(frozenset(required)):
            return []
    fewest = minimize_conflict(required, matcher.is_possible)
    return [str(need) for need in required if need in fewest]


def _empty_provider(state: ProviderState) -> ProviderState:
    """Return a provider without usage; an inventory that is reserved as a whole is free."""
    inventories = {
        name: replace(inventory, reserved=0) if inventory.reserved >= inventory.total else inventory
        for name, inventory in state.inventories.items()
    }
    return replace(state, usages={}, inventories=inventories)


def find_missing_limits(cloud: Cloud) -> Iterator[Finding]:
    """Yield the resource classes in use that have no registered limit in Keystone."""
    limits = cloud.lists.limits
    if limits is None or not any(n == _SERVERS or n.startswith(_PREFIX) for n in limits):
        return
    flavors = cloud.lists.flavors
    in_use = (
        _count_servers_by_class(cloud)
        if flavors is None
        else _find_flavors_by_class(cloud.lists.scheduling, flavors)
    )
    needed = {_SERVERS: {}, **{f'{_PREFIX}{name}': why for name, why in in_use.items()}}
    for name, why in needed.items():
        if name not in limits:
            facts = {**why, 'registered': sorted(limits)}
            yield make_finding(name, facts, reason=_REGISTER.format(name))


def _find_flavors_by_class(
    scheduling: RequestBuilder, flavors: Iterable[Flavor]
) -> dict[str, dict[str, object]]:
    """Return by class the fact ``flavors``: the names of the flavors that request the class."""
    asking = defaultdict[str, list[str]](list)
    for flavor, request in scheduling.build_accepted_requests(flavors):
        for name in server_request.sum_request_amounts(request):
            asking[name].append(flavor.name)
    return {name: {'flavors': sorted(names)} for name, names in sorted(asking.items())}


def _count_servers_by_class(cloud: Cloud) -> dict[str, dict[str, object]]:
    """Return by class the fact ``consumers``: the number of servers that hold the class.

    Classes that ports or devices may request, too, are left out.
    """
    allocated = Counter(
        name
        for consumer in cloud.snapshot.consumers.values()
        if consumer.type in (None, INSTANCE)
        for name in set(chain(*consumer.allocations.values()))
    )
    return {name: {'consumers': allocated[name]} for name in _OF_FLAVORS if name in allocated}
