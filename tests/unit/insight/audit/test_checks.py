# SPDX-License-Identifier: Apache-2.0
"""Each check of providers and inventories: what it finds, and what it leaves alone."""

import re

import pytest
from msgspec.structs import replace

from placementclient.insight.audit.checks import CHECKS, audit
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.model.inventories import Inventory
from placementclient.model.repairs import AddTrait, LowerReserved
from placementclient.model.servers import Flavor
from placementclient.render import audit_checks
from tests.unit.insight.audit.auditing import PREFIX, findings, ids, only, reason, typed
from tests.unit.insight.clouds import cloud, consumer, pool, provider


def test_the_checks_have_ids_of_their_own():
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.id)
def test_every_check_has_a_complete_text(check):
    texts = audit_checks.find_check_texts(check.id)
    assert texts['summary'].endswith('.')
    assert all(text for name, text in texts.items() if name != 'details')
    assert texts['look'].count('``') % 2 == 0
    assert '``' in texts['look']
    assert re.fullmatch('``[^`]+``', texts['example'])
    # A label that is misspelt would be part of the details.
    assert ': ``' not in texts['details']


def test_a_check_needs_lists_that_there_are_options_for():
    for check in CHECKS:
        assert {*check.needs, *check.also} <= {*CloudLists._fields}
    lists = CloudLists(*([] for _ in CloudLists._fields))._replace(servers={}, ratios={})
    result = audit(Cloud(cloud([]), lists))
    assert (result.findings, result.left_out) == ([], {})


def test_audit_finds_nothing_in_a_sound_cloud():
    states = [
        provider('host', aggregates=['shared'], traits=['OWNER_NOVA'], VCPU=4),
        provider('host_gpu', 'host', traits=['OWNER_NOVA'], VGPU=Inventory(4, step_size=2)),
        pool('nfs', DISK_GB=10),
    ]
    allocated = consumer('s', host={'VCPU': 4}, host_gpu={'VGPU': 2}, nfs={'DISK_GB': 10})
    assert findings(states, [allocated], {'s': 'host.example.com'}, []) == []


@pytest.mark.parametrize(
    ('inventory', 'amount', 'facts', 'ratio'),
    [
        (Inventory(8, reserved=2, allocation_ratio=1.5), 13, {'used': 13, 'capacity': 9}, 2.167),
        (Inventory(3), 10, {'used': 10, 'capacity': 3}, 3.334),
        # A capacity that is rounded to nothing.
        (Inventory(1, allocation_ratio=0.5), 1, {'used': 1, 'capacity': 0}, 1.0),
        # 100 * 1.16 is less than 116 in floating point.
        (Inventory(100), 116, {'used': 116, 'capacity': 100}, 1.161),
    ],
)
def test_audit_finds_usage_over_capacity(inventory, amount, facts, ratio):
    result = only([provider('host', VCPU=inventory)], [consumer('s', host={'VCPU': amount})])
    assert (result.kind, result.severity.value, result.repair) == ('over-capacity', 'error', None)
    assert result.facts == {'resource_class': 'VCPU', **facts}
    assert typed(result) == ''
    assert reason(result).startswith('move servers away, or raise the ratio. Only you')
    assert reason(result).endswith(
        f': {PREFIX} inventory set host --amend --resource VCPU:allocation_ratio={ratio}'
    )
    assert replace(inventory, allocation_ratio=ratio).capacity == amount


@pytest.mark.parametrize(
    ('inventory', 'used', 'reserved'),
    [
        # The disk of a host of which more was reserved than is free.
        (Inventory(500, reserved=480), 100, 400),
        (Inventory(8, reserved=4, allocation_ratio=1.5), 10, 1),
        # 330 * 0.7 is less than 231 in floating point.
        (Inventory(435, reserved=200, allocation_ratio=0.7), 231, 104),
    ],
)
def test_audit_names_the_reserved_amount_that_makes_the_shortage(inventory, used, reserved):
    result = only([provider('host', DISK_GB=inventory)], [consumer('s', host={'DISK_GB': used})])
    assert result.facts == {
        'resource_class': 'DISK_GB', 'used': used, 'capacity': inventory.capacity,
        'total': inventory.total, 'reserved': inventory.reserved,
    }  # fmt: skip
    assert 'move servers away' in reason(result)
    assert reason(result).endswith(
        f': {PREFIX} inventory set host --amend --resource DISK_GB:reserved={reserved}'
    )
    assert replace(inventory, reserved=reserved).capacity >= used
    assert replace(inventory, reserved=reserved + 1).capacity < used


@pytest.mark.parametrize('name', ['VGPU', 'PCPU', 'CUSTOM_PCI_10DE_20B0', 'PGPU', 'SRIOV_NET_VF'])
def test_audit_suggests_no_ratio_for_devices(name):
    result = only([provider('host', **{name: 2})], [consumer('s', host={name: 3})])
    assert (result.kind, typed(result), result.repair) == ('over-capacity', '', None)
    assert 'ratio=' not in reason(result)
    assert '(openstack resource provider allocation list host)' in reason(result)


def test_audit_accepts_usage_of_fully_reserved_devices():
    device = provider('device', PGPU=Inventory(1, reserved=1))
    assert findings([device], [consumer('s', device={'PGPU': 1})]) == []


def test_audit_finds_usage_that_no_consumer_accounts_for():
    host = replace(provider('host', VCPU=8, VGPU=2), usages={'VCPU': 5, 'VGPU': 1})
    result = only([host], [consumer('s', host={'VCPU': 3, 'VGPU': 1})])
    assert (result.kind, result.facts) == ('unlisted-usage', {'unlisted': {'VCPU': 2}})
    assert typed(result) == 'placement-manage db online_data_migrations'


def test_usage_that_one_reading_alone_does_not_list_is_of_a_server_that_has_gone():
    host = provider('host', VCPU=8)
    quiet, busy = (Cloud(cloud([replace(host, usages=used)])) for used in ({}, {'VCPU': 2}))
    assert audit(busy).has_comparison_findings
    assert audit(busy, quiet).findings == audit(quiet, busy).findings == []
    assert [finding.kind for finding in audit(busy, busy).findings] == ['unlisted-usage']


@pytest.mark.parametrize(
    ('inventory', 'amount', 'fields'),
    [
        (Inventory(8, min_unit=4), 3, 'min_unit=3'),
        (Inventory(8, max_unit=2), 3, 'max_unit=3'),
        (Inventory(8, step_size=4), 6, 'step_size=2'),
        (Inventory(8, max_unit=4, step_size=4), 6, 'max_unit=6 --resource VGPU:step_size=2'),
    ],
)
def test_audit_finds_amounts_against_the_units_of_their_inventory(inventory, amount, fields):
    allocated = consumer('s', **{'a host': {'VGPU': amount}})
    result = only([provider('a host', VGPU=inventory)], [allocated])
    assert (result.kind, result.subject, result.facts['amount']) == ('broken-units', 's', amount)
    assert typed(result) == ''
    assert reason(result).endswith(
        f": {PREFIX} inventory set 'a host' --amend --resource VGPU:{fields}"
    )


def test_audit_finds_more_reserved_than_there_is():
    result = only([provider('host', VCPU=Inventory(8, reserved=9))])
    assert result.kind == 'reserved-above-total'
    assert result.repair == LowerReserved('host', 'host', 'VCPU', 8)
    assert typed(result) == f'{PREFIX} audit --id reserved-above-total --subject host --fix --yes'
    assert findings([provider('host', VCPU=Inventory(8, reserved=8))]) == []


@pytest.mark.parametrize('ratio', [0.0, -1.0])
def test_audit_reports_a_ratio_without_room_and_not_its_usage_above_capacity(ratio):
    host = provider('host', VCPU=Inventory(8, allocation_ratio=ratio))
    assert ids([host], [consumer('s', host={'VCPU': 1})]) == [('ratio-without-room', 'host')]


@pytest.mark.parametrize(
    ('names', 'result'),
    [
        (['host', 'host.example.com'], ['host']),
        (['host', 'host2.example.com'], []),
        (['host.a', 'host.b'], []),
        (['host', 'host.a', 'host.b'], ['host', 'host']),
    ],
)
def test_audit_finds_hosts_with_two_root_providers(names, result):
    states = [provider(name, VCPU=1) for name in names]
    assert ids(states) == [('doubled-host', name) for name in result]


@pytest.mark.parametrize('used', ['host', 'host.example.com'])
def test_audit_suggests_no_delete_for_a_doubled_host(used):
    """After a renaming the empty one is alive."""
    states = [provider(name, VCPU=1) for name in ('host', 'host.example.com')]
    states.append(provider('host_gpu', 'host', VGPU=1))
    allocated = [consumer('s', **{used: {'VCPU': 1}}), consumer('t', host_gpu={'VGPU': 1})]
    result = only(states, allocated)
    assert (typed(result), result.repair) == ('', None)
    assert 'openstack compute service list' in reason(result)
    assert 'openstack hypervisor list' in reason(result)
    counts = {'host': 1, 'host.example.com': 0}
    assert result.facts['consumers'] == {name: n + (name == used) for name, n in counts.items()}


def test_audit_finds_sharing_providers_that_no_host_shares():
    states = [
        replace(pool('a'), aggregates=frozenset()),
        pool('b', 'x', 'y'),
        pool('c', 'z', 'alone'),
        provider('host', aggregates=['z', 'zone']),
    ]
    assert ids(states) == [
        ('sharing-without-aggregate', 'a'),
        ('sharing-alone', 'b'),
        ('aggregate-of-one', 'alone'),
        ('aggregate-of-one', 'zone'),
    ]


def test_audit_finds_children_named_after_another_host():
    host = provider('host')
    right, wrong = provider('host_0', 'host'), provider('old_1', 'host')
    assert ids([host, right, wrong]) == [('misnamed-child', 'old_1')]
    assert ids([host, wrong]) == []
    deep = [provider(name, 'host_0', 'host') for name in ('pf', 'host_pf')]
    assert ids([host, right, *deep]) == [('misnamed-child', 'pf')]


@pytest.mark.parametrize(('count', 'result'), [(7, 0), (8, 1)])
def test_audit_finds_trees_with_more_candidates_than_nova_takes(count, result):
    children = [provider(f'host_{n}', 'host', VGPU=1, VCPU=1) for n in range(count)]
    wide = findings([provider('host'), *children])
    assert [finding.facts for finding in wide] == [{'providers': {'VCPU': 8, 'VGPU': 8}}] * result
    for finding in wide:
        assert finding.kind == 'wide-tree'
        assert '[workarounds]optimize_for_wide_provider_trees = true' in reason(finding)


def gpus(number, **specs):
    specs = {f'resources{group}:VGPU': '1' for group in range(number)} | specs
    return Flavor(f'gpu{number}', 1, 0, extra_specs=specs)


def test_audit_counts_the_providers_of_a_wide_tree_that_are_used_together():
    cells = [provider(f'host_{n}', 'host') for n in range(2)]
    devices = [
        provider(f'host_{n}_{m}', f'host_{n}', 'host', VGPU=1) for n in range(2) for m in range(4)
    ]
    allocated = [consumer('s', **{f'host_{n}_0': {'VGPU': 1} for n in range(2)})]
    states = [provider('host'), *cells, *devices]
    assert only(states, allocated).facts == {'providers': {'VGPU': 8}, 'together': {'VGPU': 2}}
    result = next(
        f for f in findings(states, allocated, flavors=[gpus(5)]) if f.kind == 'wide-tree'
    )
    assert result.facts['together'] == {'VGPU': 5}
    assert 'candidates' not in result.facts


def test_audit_names_flavors_with_more_candidates_on_a_tree_than_nova_takes():
    children = [provider(f'host_{n}', 'host', VGPU=1) for n in range(8)]
    states, used = [provider('host', VCPU=8), *children], [consumer('s', host_0={'VGPU': 1})]
    flavors = [gpus(number, group_policy='none') for number in (3, 4, 5, 7)]
    result = next(f for f in findings(states, used, flavors=flavors) if f.kind == 'wide-tree')
    # 7 of 8 are free: 7 * 6 * 5 * 4 candidates of four, which Nova takes all.
    assert result.facts['candidates'] == {'gpu5': 2520, 'gpu7': 5040}


def test_audit_finds_children_of_nova_without_its_owner_trait():
    host = provider('host', traits=['OWNER_NOVA'])
    result = only([host, provider('host_gpu', 'host', VGPU=1)])
    assert result.repair == AddTrait('host_gpu', 'host_gpu', 'OWNER_NOVA')
    assert typed(result) == f'{PREFIX} trait add host_gpu OWNER_NOVA'
    strange = only([host, provider('strange', 'host', VGPU=1)])
    assert (strange.kind, strange.subject, strange.repair) == ('owner-missing', 'strange', None)
    assert strange.reason.startswith('it may be of another service')


@pytest.mark.parametrize(
    ('traits', 'result'),
    [
        (({'COMPUTE_NODE', 'OWNER_NOVA'}, {'COMPUTE_NODE'}), ['b']),
        (({'COMPUTE_NODE', 'OWNER_NOVA'}, {'COMPUTE_NODE', 'OWNER_ZUN'}), []),
        (({'COMPUTE_NODE', 'OWNER_NOVA'}, ()), []),
        (({'COMPUTE_NODE'}, {'COMPUTE_NODE'}), []),
        (({'OWNER_NOVA'}, {'COMPUTE_NODE'}), []),
    ],
)
def test_audit_finds_hosts_without_the_owner_trait_that_others_have(traits, result):
    states = [provider(name, traits=local) for name, local in zip('ab', traits, strict=True)]
    assert ids(states) == [('owner-missing', name) for name in result]


def test_audit_wants_no_owner_trait_on_providers_of_other_services():
    states = [
        provider('host', traits=['OWNER_NOVA']),
        provider('host_fpga', 'host', traits=['OWNER_CYBORG'], FPGA=1),
        provider('host:agent', 'host'),
        provider('host:agent:br', 'host:agent', 'host', NET_BW_EGR_KILOBIT_PER_SEC=9),
        provider('host:Open vSwitch agent', 'host'),
        provider('host_0000:5e:00.0', 'host', FPGA=1),
        provider('host_0000:5f:00.0', 'host', traits=['CUSTOM_FPGA_INTEL'], CUSTOM_ACCELERATOR=1),
        provider('blazar_host', 'host'),
        provider('blazar_host_below', 'blazar_host', 'host'),
        provider('reserved', 'host', CUSTOM_RESERVATION_0C42A5B0=1),
    ]
    assert findings(states) == []
    assert findings([provider('other'), provider('other_gpu', 'other', VGPU=1)]) == []


def test_audit_of_one_tree_checks_that_tree_alone():
    states = [provider(n, VCPU=Inventory(8, allocation_ratio=0)) for n in 'ab']
    assert [f.subject for f in audit(Cloud(cloud(states)), roots=['b']).findings] == ['b']
