# SPDX-License-Identifier: Apache-2.0
"""The check of allocation ratios."""

import pytest

from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.ratios import ConfiguredRatio, parse_ratios


def host(name, ratio=4.0, *aggregates, used=0):
    inventories = {'VCPU': Inventory(16, allocation_ratio=ratio)}
    provider = Provider(name, name, 1, None, name)
    return ProviderState(provider, inventories, frozenset(), frozenset(aggregates), {'VCPU': used})


def found(*states, configured=None):
    cloud = Cloud(Snapshot(states, ()), CloudLists(ratios=configured or {}))
    return [finding for finding in audit(cloud).findings if finding.kind == 'ratio-differs']


def test_audit_compares_ratios_only_of_hosts_with_a_common_aggregate():
    assert found(host('a', 4.0, 'x'), host('b', 8.0, 'y'), host('c', 2.0)) == []


def test_audit_reports_the_ratio_of_a_host_in_several_aggregates_once():
    (finding,) = found(host('a', 8.0, 'x', 'y'), host('b', 4.0, 'x', 'y'), host('c', 4.0, 'x', 'y'))
    assert (finding.subject, finding.facts['allocation_ratio']) == ('a', 8.0)


def test_audit_accepts_a_ratio_that_all_hosts_of_an_aggregate_have():
    dense = [host(name, 8.0, 'all', 'dense') for name in 'ab']
    assert found(*dense, *(host(name, 4.0, 'all') for name in 'cdef')) == []


def test_audit_reports_an_aggregate_without_a_ratio_of_most_hosts():
    (finding,) = found(host('a', 8.0, 'x'), host('b', 4.0, 'x'))
    assert (finding.subject, finding.remedy) == ('x', None)
    assert finding.facts['ratios'] == {'8.0': ['a'], '4.0': ['b']}


def test_audit_asks_to_move_servers_before_a_ratio_that_is_too_low_for_usage():
    (finding,) = found(host('a', 8.0, 'x', used=100), host('b', 4.0, 'x'), host('c', 4.0, 'x'))
    assert finding.reason == (
        '100 VCPU of a is in use, more than that ratio allows: move servers away first. Then'
    )


def test_audit_prefers_the_ratio_of_a_configuration_file_to_that_of_other_hosts():
    states = [host('a', 8.0, 'x'), host('b', 4.0, 'x'), host('c', 4.0, 'x')]
    configured = {'a': {'VCPU': ConfiguredRatio('initial_cpu_allocation_ratio', 8.0)}}
    assert found(*states, configured=configured) == []
    configured = {'b': {'VCPU': ConfiguredRatio('initial_cpu_allocation_ratio', 8.0)}}
    assert sorted(f.subject for f in found(*states, configured=configured)) == ['a', 'b']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', {}),
        ('[DEFAULT]\ndebug = true\n[other]\ncpu_allocation_ratio = 3\n', {}),
        ('[DEFAULT]\nram_allocation_ratio = 0\n', {}),
        (
            '[DEFAULT]\ninitial_ram_allocation_ratio = 1.5',
            {'MEMORY_MB': ('initial_ram_allocation_ratio', 1.5)},
        ),
        (
            '[DEFAULT]\ndisk_allocation_ratio = 2\ninitial_disk_allocation_ratio = 3\n',
            {'DISK_GB': ('disk_allocation_ratio', 2.0)},
        ),
        (
            '[DEFAULT]\ncpu_allocation_ratio=2\ncpu_allocation_ratio=3\n',
            {'VCPU': ('cpu_allocation_ratio', 3.0)},
        ),
    ],
)
def test_audit_reads_the_ratios_of_a_configuration_file_as_nova_does(text, expected):
    assert parse_ratios(text, 'nova.conf') == expected
