# SPDX-License-Identifier: Apache-2.0
"""All checks of an audit."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from placementclient.insight.audit import (
    baremetal,
    consumers,
    elsewhere,
    flavors,
    hosts,
    identities,
    inventories,
    neutron,
    providers,
    ratios,
    server_flavors,
    servers,
    unmatched,
)
from placementclient.insight.audit.cloud import Cloud, MissingFields
from placementclient.model.findings import Finding, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_SERVERS = ('servers',)
_BOTH = ('servers', 'migrations')
_HYPERVISORS = ('hypervisors',)
_MIGRATIONS, _HOSTS = ('migrations',), ('servers', 'hypervisors')
_NODES = ('hypervisors', 'services')


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an audit.

    :param find: it may raise :class:`MissingFields`
    :param needs: the lists of other services that it cannot do without, by the option for each
    :param also: the lists that it looks at where they are there
    :param is_of_moments: whether it compares answers from different moments
    """

    id: str
    severity: Severity
    find: Callable[[Cloud], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    is_of_moments: bool = False


CHECKS = (
    Check('over-capacity', _ERROR, inventories.over_capacity),
    Check('unlisted-usage', _ERROR, inventories.unlisted_usage, is_of_moments=True),
    Check('broken-units', _ERROR, inventories.broken_units),
    Check('reserved-above-total', _ERROR, inventories.reserved_above_total),
    Check('ratio-without-room', _ERROR, inventories.ratio_without_room),
    Check('orphan', _ERROR, consumers.orphan, _SERVERS, ('migrations', 'nodes')),
    Check('doubled', _ERROR, consumers.doubled, _BOTH, _HYPERVISORS),
    Check('held-elsewhere', _ERROR, elsewhere.held_elsewhere, _BOTH, _HYPERVISORS),
    Check('left-by-evacuation', _WARNING, consumers.left_by_evacuation, _BOTH, _HYPERVISORS),
    Check('left-by-shelving', _ERROR, consumers.left_by_shelving, _SERVERS),
    Check('left-by-migration', _WARNING, consumers.left_by_migration, _MIGRATIONS, _HOSTS),
    Check('on-several-trees', _WARNING, consumers.on_several_trees),
    Check('in-migration', _INFO, consumers.in_migration, ('migrations',)),
    Check('consumer-incomplete', _WARNING, consumers.consumer_incomplete),
    Check('consumer-untyped', _INFO, consumers.consumer_untyped),
    Check('without-allocations', _ERROR, servers.without_allocations, _SERVERS),
    Check('wrong-host', _ERROR, servers.wrong_host, _SERVERS),
    Check('wrong-amount', _ERROR, servers.wrong_amount, _SERVERS),
    Check('foreign-owner', _WARNING, servers.foreign_owner, _SERVERS),
    Check('class-without-flavor', _INFO, server_flavors.class_without_flavor, (*_SERVERS, 'ports')),
    Check('trait-mismatch', _INFO, server_flavors.trait_mismatch, _SERVERS),
    Check('port-resources', _ERROR, neutron.port_resources, ('ports',), _BOTH),
    Check('agent-bandwidth', _ERROR, neutron.agent_bandwidth, ('agents',)),
    Check('agent-gone', _WARNING, neutron.agent_gone, ('agents',)),
    Check('segment-addresses', _ERROR, neutron.segment_addresses, ('subnets',)),
    Check('doubled-host', _ERROR, providers.doubled_host),
    Check('twin', _ERROR, identities.twin, ('hypervisors',), ('services', 'servers')),
    Check('renamed', _ERROR, identities.renamed, ('hypervisors',), ('services', 'servers')),
    Check('provider-without-host', _WARNING, unmatched.provider_without_host, _NODES, ('nodes',)),
    Check('host-without-provider', _ERROR, unmatched.host_without_provider, _NODES),
    Check('disabled-mismatch', _WARNING, hosts.disabled_mismatch, ('services',), ('hypervisors',)),
    Check('inventory-drift', _ERROR, hosts.inventory_drift, ('hypervisors',)),
    Check('ironic-node', _ERROR, baremetal.ironic_node, ('nodes',), _BOTH),
    Check('flavor-unplaceable', _WARNING, flavors.flavor_unplaceable, ('flavors',)),
    Check('limit-missing', _ERROR, flavors.limit_missing, ('limits',), ('flavors',)),
    Check('ratio-differs', _WARNING, ratios.ratio_differs),
    Check('sharing-without-aggregate', _WARNING, providers.sharing_without_aggregate),
    Check('sharing-alone', _WARNING, providers.sharing_alone),
    Check('aggregate-of-one', _INFO, providers.aggregate_of_one),
    Check('misnamed-child', _WARNING, providers.misnamed_child),
    Check('burned-device', _WARNING, inventories.burned_device),
    Check('doubled-device', _ERROR, inventories.doubled_device),
    Check('wide-tree', _WARNING, providers.wide_tree, (), ('flavors',)),
    Check('owner-missing', _WARNING, providers.owner_missing),
)  # fmt: skip


class Audit(NamedTuple):
    """The result of an audit, check by check.

    :param passed_over: the reasons why nothing is said of some servers, by their UUIDs
    :param left_out: why checks were not made: the names of the lists that they need, or a sentence
    """

    findings: list[Finding]
    passed_over: Mapping[str, str]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def has_suspects(self) -> bool:
        """Return True if a comparison of answers from different moments found something."""
        compared = {check.id for check in CHECKS if _is_of_moments(check)}
        return any(f.kind in compared for f in self.findings)


def audit(
    cloud: Cloud,
    earlier: Cloud | None = None,
    roots: Collection[str] = (),
    ignored: Collection[str] = (),
    subjects: Collection[str] = (),
) -> Audit:
    """Return all findings of the checks.

    Two answers are never of the same moment: a server that is deleted in between seems to be
    leaked, or its usage to have no consumer. With an earlier reading, a comparison of answers
    reports what it finds in both.

    :param earlier: another reading, in the reverse order of services
    :param roots: only what concerns the trees of these roots, by UUID; none: all
    :param subjects: only what is found of these; none: all
    """
    findings, passed_over, left_out = [], {}, {}
    for check in (check for check in CHECKS if check.id not in ignored):
        confirmed, lacking = _confirmed(check, cloud, earlier)
        if lacking:
            left_out[check.id] = lacking
        for finding in _chosen(confirmed, set(roots), subjects):
            if finding.passed_over:
                passed_over[finding.subject] = finding.passed_over
            else:
                findings.append(replace(finding, kind=check.id, severity=check.severity))
    return Audit(findings, passed_over, left_out)


def _chosen(
    findings: Iterable[Finding], roots: Set[str], subjects: Collection[str]
) -> Iterator[Finding]:
    """Return the findings that concern some trees, and some subjects; none: all."""
    for finding in findings:
        is_of_trees = not roots or not roots.isdisjoint(finding.roots)
        if is_of_trees and (not subjects or finding.subject in subjects):
            yield finding


def _is_of_moments(check: Check) -> bool:
    return bool(check.needs or check.also or check.is_of_moments)


def _confirmed(
    check: Check, cloud: Cloud, earlier: Cloud | None
) -> tuple[list[Finding], tuple[str, ...]]:
    """Return the findings of a check that are in each reading, and what the check lacked.

    A check of one answer looks at the last reading alone.
    """
    # The word of the operator that consumers are gone needs no list.
    needs = () if check.id == 'orphan' and cloud.answers.gone else check.needs
    if missing := tuple(name for name in needs if not cloud.answers.has(name)):
        return [], missing
    findings, lacking = _found(check, cloud)
    if earlier is None or not _is_of_moments(check):
        return findings, lacking
    suspects = {finding.subject for finding in _found(check, earlier)[0]}
    return [finding for finding in findings if finding.subject in suspects], lacking


def _found(check: Check, cloud: Cloud) -> tuple[list[Finding], tuple[str, ...]]:
    findings: list[Finding] = []
    try:
        findings.extend(check.find(cloud))
    except MissingFields as reason:
        return findings, reason.args
    return findings, ()
