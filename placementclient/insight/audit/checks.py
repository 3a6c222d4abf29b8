# SPDX-License-Identifier: Apache-2.0
"""All checks of an audit."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from placementclient.insight.audit import (
    baremetal,
    consumers,
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
from placementclient.insight.audit.consumers import make_needless_check
from placementclient.model.findings import Finding, Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_SERVERS, _SERVICES = ('servers',), ('services',)
_BOTH = ('servers', 'migrations')
_HYPERVISORS = ('hypervisors',)
_MIGRATIONS, _HOSTS = ('migrations',), ('servers', 'hypervisors')
_NODES, _IRONIC = ('hypervisors', 'services'), ('nodes',)
_NAMING, _PORTS = ('services', 'servers'), ('servers', 'ports')


@dataclass(frozen=True, slots=True)
class Check:
    """A check of an audit.

    :param find: yields the findings; it may raise :class:`MissingFields`
    :param needs: the options of the lists of other services that the check cannot do without
    :param also: the options of the lists that the check uses if they are given
    :param is_comparison: whether the check compares answers from different moments
    """

    id: str
    severity: Severity
    find: Callable[[Cloud], Iterable[Finding]]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    is_comparison: bool = False


CHECKS = (
    Check('over-capacity', _ERROR, inventories.find_usage_above_capacity),
    Check('unlisted-usage', _ERROR, inventories.find_unlisted_usage, is_comparison=True),
    Check('broken-units', _ERROR, inventories.find_broken_units),
    Check('reserved-above-total', _ERROR, inventories.find_reserved_above_total),
    Check('ratio-without-room', _ERROR, inventories.find_ratios_without_room),
    Check('orphan', _ERROR, consumers.find_orphans, _SERVERS, ('migrations', 'nodes')),
    Check('doubled', _ERROR, make_needless_check('doubled'), _BOTH, _HYPERVISORS),
    Check('held-elsewhere', _ERROR, consumers.find_amounts_held_elsewhere, _BOTH, _HYPERVISORS),
    Check('left-by-evacuation', _WARNING, make_needless_check('left-by-evacuation'),
          _BOTH, _HYPERVISORS),
    Check('left-by-shelving', _ERROR, make_needless_check('left-by-shelving'), _SERVERS),
    Check('left-by-migration', _WARNING, make_needless_check('left-by-migration'),
          _MIGRATIONS, _HOSTS),
    Check('on-several-trees', _WARNING, consumers.find_consumers_on_several_trees),
    Check('in-migration', _INFO, consumers.find_servers_in_migration, ('migrations',)),
    Check('consumer-incomplete', _WARNING, consumers.find_incomplete_consumers),
    Check('consumer-untyped', _INFO, consumers.find_untyped_consumers),
    Check('without-allocations', _ERROR, servers.find_servers_without_allocations, _SERVERS),
    Check('wrong-host', _ERROR, servers.find_wrong_hosts, _SERVERS),
    Check('wrong-amount', _ERROR, servers.find_wrong_amounts, _SERVERS),
    Check('foreign-owner', _WARNING, servers.find_foreign_owners, _SERVERS),
    Check('class-without-flavor', _INFO, server_flavors.find_classes_without_flavor, _PORTS),
    Check('trait-mismatch', _INFO, server_flavors.find_trait_mismatches, _SERVERS),
    Check('port-resources', _ERROR, neutron.find_missing_port_resources, ('ports',), _BOTH),
    Check('agent-bandwidth', _ERROR, neutron.find_bandwidth_differences, ('agents',)),
    Check('agent-gone', _WARNING, neutron.find_providers_without_agent, ('agents',)),
    Check('segment-addresses', _ERROR, neutron.find_address_differences, ('subnets',)),
    Check('doubled-host', _ERROR, providers.find_doubled_hosts),
    Check('twin', _ERROR, identities.find_twin_hosts, _HYPERVISORS, _NAMING),
    Check('renamed', _ERROR, identities.find_renamed_hosts, _HYPERVISORS, _NAMING),
    Check('provider-without-host', _WARNING, unmatched.find_unmatched_providers, _NODES, _IRONIC),
    Check('host-without-provider', _ERROR, unmatched.find_unmatched_hosts, _NODES),
    Check('disabled-mismatch', _WARNING, hosts.find_disabled_mismatches, _SERVICES, _HYPERVISORS),
    Check('inventory-drift', _ERROR, hosts.find_inventory_drift, ('hypervisors',)),
    Check('ironic-node', _ERROR, baremetal.find_node_differences, ('nodes',), _BOTH),
    Check('flavor-unplaceable', _WARNING, flavors.find_unplaceable_flavors, ('flavors',)),
    Check('limit-missing', _ERROR, flavors.find_missing_limits, ('limits',), ('flavors',)),
    Check('ratio-differs', _WARNING, ratios.find_ratio_differences),
    Check('sharing-without-aggregate', _WARNING, providers.find_sharing_without_aggregate),
    Check('sharing-alone', _WARNING, providers.find_lone_sharing_providers),
    Check('aggregate-of-one', _INFO, providers.find_aggregates_of_one),
    Check('misnamed-child', _WARNING, providers.find_misnamed_children),
    Check('burned-device', _WARNING, inventories.find_burned_devices),
    Check('doubled-device', _ERROR, inventories.find_doubled_devices),
    Check('wide-tree', _WARNING, providers.find_wide_trees, (), ('flavors',)),
    Check('owner-missing', _WARNING, providers.find_missing_owner_traits),
)  # fmt: skip


class Audit(NamedTuple):
    """The result of an audit, check by check.

    :param passed_over: by the subject of a finding that is left out, a server as a rule, the reason
        why it cannot be judged now
    :param left_out: why checks are not made, by their IDs: the lists that they need, or a sentence
    """

    findings: list[Finding]
    passed_over: Mapping[str, str]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def has_comparison_findings(self) -> bool:
        """True if there is a finding of a check that compares answers of different moments."""
        compared = {check.id for check in CHECKS if _is_comparison(check)}
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
    :param roots: the UUIDs of the roots of the trees that findings may concern; empty: all
    :param ignored: the IDs of the checks to leave out
    :param subjects: the subjects that findings may have; empty: all
    :return: the findings check by check, with the checks that were not made
    """
    findings, passed_over, left_out = [], {}, {}
    for check in (check for check in CHECKS if check.id not in ignored):
        confirmed, lacking = _confirm_findings(check, cloud, earlier)
        if lacking:
            left_out[check.id] = lacking
        for finding in confirmed:
            is_of_trees = not roots or not set(roots).isdisjoint(finding.roots)
            if not is_of_trees or (subjects and finding.subject not in subjects):
                continue
            if finding.passed_over:
                passed_over[finding.subject] = finding.passed_over
            else:
                findings.append(replace(finding, kind=check.id, severity=check.severity))
    return Audit(findings, passed_over, left_out)


def _is_comparison(check: Check) -> bool:
    """Return True if a check compares answers that were read at different moments."""
    return bool(check.needs or check.also or check.is_comparison)


def _confirm_findings(
    check: Check, cloud: Cloud, earlier: Cloud | None
) -> tuple[list[Finding], tuple[str, ...]]:
    """Return the findings of a check that are in each reading, and the names of lists it lacked.

    A check of one answer looks at the last reading alone.

    :param earlier: another reading; ``None``: there is only one
    """
    # The word of the operator that consumers are gone needs no list.
    needs = () if check.id == 'orphan' and cloud.lists.gone else check.needs
    if missing := tuple(name for name in needs if not cloud.lists.has_list(name)):
        return [], missing
    findings, lacking = _run_check(check, cloud)
    if earlier is None or not _is_comparison(check):
        return findings, lacking
    suspects = {finding.subject for finding in _run_check(check, earlier)[0]}
    return [finding for finding in findings if finding.subject in suspects], lacking


def _run_check(check: Check, cloud: Cloud) -> tuple[list[Finding], tuple[str, ...]]:
    """Return the findings of a check, and the names of the lists or fields that it lacked."""
    findings: list[Finding] = []
    try:
        findings.extend(check.find(cloud))
    except MissingFields as reason:
        return findings, reason.args
    return findings, ()
