# SPDX-License-Identifier: Apache-2.0
"""The check of allocation ratios."""

import pytest

from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Answers, Cloud
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.ratios import ConfiguredRatio, ratios


def host(name, ratio=4.0, *aggregates, used=0):
    inventories = {'VCPU': Inventory(16, allocation_ratio=ratio)}
    provider = Provider(name, name, 1, None, name)
    return ProviderState(provider, inventories, frozenset(), frozenset(aggregates), {'VCPU': used})


def found(*states, configured=None):
    cloud = Cloud(Snapshot(states, ()), Answers(ratios=configured or {}))
    return [finding for finding in audit(cloud).findings if finding.kind == 'ratio-differs']


def test_hosts_without_a_common_aggregate_are_not_compared():
    assert found(host('a', 4.0, 'x'), host('b', 8.0, 'y'), host('c', 2.0)) == []


def test_a_host_is_told_once_where_several_aggregates_have_it():
    (finding,) = found(host('a', 8.0, 'x', 'y'), host('b', 4.0, 'x', 'y'), host('c', 4.0, 'x', 'y'))
    assert (finding.subject, finding.facts['allocation_ratio']) == ('a', 8.0)


def test_a_ratio_that_a_whole_aggregate_has_is_meant():
    dense = [host(name, 8.0, 'all', 'dense') for name in 'ab']
    assert found(*dense, *(host(name, 4.0, 'all') for name in 'cdef')) == []


def test_an_aggregate_without_a_usual_ratio_is_told_itself():
    (finding,) = found(host('a', 8.0, 'x'), host('b', 4.0, 'x'))
    assert (finding.subject, finding.remedy) == ('x', None)
    assert finding.facts['ratios'] == {'8.0': ['a'], '4.0': ['b']}


def test_a_lower_ratio_than_is_in_use_is_no_safe_command():
    (finding,) = found(host('a', 8.0, 'x', used=100), host('b', 4.0, 'x'), host('c', 4.0, 'x'))
    assert finding.reason == (
        '100 VCPU of a is in use, more than that ratio allows: move servers away first. Then'
    )


def test_a_file_says_more_than_other_hosts():
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
def test_a_file_states_ratios_as_nova_reads_them(text, expected):
    assert ratios(text, 'nova.conf') == expected
