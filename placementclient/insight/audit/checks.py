"""All that an audit looks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from placementclient.insight.audit import (
    completeness,
    consumers,
    inventories,
    providers,
    servers,
)
from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.completeness import MissingRecords
from placementclient.insight.audit.findings import Check, Fault, Finding, Severity
from placementclient.model.repairs import FreeAllocations

#: Why nothing is deleted by such lists; the command says on stderr what they lack.
INCOMPLETE = 'the list of {} does not look complete'
_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

CHECKS = (
    Check(
        'over-capacity', _ERROR, 'what is used of a class, and its capacity',
        inventories.over_capacity,
    ),
    Check(
        'unlisted-usage', _ERROR, 'what is used of a provider, and what its consumers hold',
        inventories.unlisted_usage,
    ),
    Check(
        'broken-units', _ERROR, 'each allocation, and min_unit, max_unit and step_size',
        inventories.broken_units,
    ),
    Check(
        'reserved-above-total', _ERROR, 'reserved and total of each inventory',
        inventories.reserved_above_total,
    ),
    Check(
        'ratio-without-room', _ERROR, 'the allocation ratio of each inventory',
        inventories.ratio_without_room,
    ),
    Check(
        'orphan', _ERROR, 'consumers, and the servers and migrations that there are',
        consumers.orphan,
    ),
    Check(
        'doubled', _ERROR, 'servers on several hosts which no migration explains',
        consumers.doubled,
    ),
    Check(
        'left-by-evacuation', _WARNING, 'servers on the host that they were evacuated from, too',
        consumers.left_by_evacuation,
    ),
    Check(
        'left-by-shelving', _ERROR, 'what servers hold that are shelved and on no host',
        consumers.left_by_shelving,
    ),
    Check(
        'left-by-migration', _WARNING, 'what migrations hold that are over',
        consumers.left_by_migration,
    ),
    Check(
        'on-several-trees', _WARNING,
        'consumers on several hosts, where servers or migrations are not known',
        consumers.on_several_trees,
    ),
    Check(
        'in-migration', _INFO, 'servers on several hosts while a migration is under way',
        consumers.in_migration,
    ),
    Check(
        'without-allocations', _ERROR, 'servers on a host, and whether they hold anything',
        servers.without_allocations,
    ),
    Check(
        'wrong-host', _ERROR, 'the host of each server, here and in Nova',
        servers.wrong_host,
    ),
    Check(
        'wrong-amount', _ERROR, 'what each server holds on its host, and what its flavor says',
        servers.wrong_amount,
    ),
    Check(
        'foreign-owner', _WARNING, 'the project and the user of each server, here and in Nova',
        servers.foreign_owner,
    ),
    Check(
        'doubled-host', _ERROR, 'roots whose names are the short and the full name of one host',
        providers.doubled_host,
    ),
    Check(
        'sharing-without-aggregate', _WARNING, 'sharing providers, and their aggregates',
        providers.sharing_without_aggregate,
    ),
    Check(
        'sharing-alone', _WARNING, 'the aggregates of sharing providers, and their members',
        providers.sharing_alone,
    ),
    Check(
        'aggregate-of-one', _INFO, 'the members of all other aggregates',
        providers.aggregate_of_one,
    ),
    Check(
        'misnamed-child', _WARNING, 'the names of children, of their siblings and of their root',
        providers.misnamed_child,
    ),
    Check(
        'many-siblings', _WARNING, 'how many siblings have one class',
        providers.many_siblings,
    ),
    Check(
        'missing-owner', _WARNING,
        'OWNER_NOVA of hosts, where other hosts have it, and of children, where their root has it',
        providers.missing_owner,
    ),
)  # fmt: skip


class Audit(NamedTuple):
    """What an audit has found.

    :param findings: check by check
    :param passed_over: the number of servers that nothing is said of, by the reason
    :param shortfall: what the lists of Nova lack; ``None`` if they look complete
    """

    findings: list[Finding]
    passed_over: Counter[str]
    shortfall: MissingRecords | None


def audit(
    cloud: Cloud,
    roots: Collection[str] = (),
    ignored: Collection[str] = (),
    subjects: Collection[str] = (),
) -> Audit:
    """Return everything that is wrong.

    :param roots: only what concerns the trees of these roots, by UUID; none: all
    :param ignored: the ids of checks to leave out
    :param subjects: only what is found of these, as of :class:`Fault`; none: all
    """
    shortfall = completeness.shortfall(cloud)
    findings, passed_over = [], {}
    for check in CHECKS:
        for fault in check.find(cloud) if check.id not in ignored else ():
            is_chosen = not roots or set(fault.roots) & set(roots)
            if not is_chosen or (subjects and fault.subject not in subjects):
                continue
            if fault.passed_over:
                passed_over[fault.subject] = fault.passed_over
            else:
                findings.append(Finding(check, _judged(fault, shortfall)))
    return Audit(findings, Counter(passed_over.values()), shortfall)


def _judged(fault: Fault, shortfall: MissingRecords | None) -> Fault:
    """A fault of which the remedy is not safe where it deletes by lists that lack something."""
    if shortfall is None or fault.reason or not isinstance(fault.remedy, FreeAllocations):
        return fault
    lacking = 'servers' if shortfall.is_of_servers else 'migrations'
    return replace(fault, reason=INCOMPLETE.format(lacking))
