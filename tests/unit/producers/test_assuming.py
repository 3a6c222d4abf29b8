# SPDX-License-Identifier: Apache-2.0
"""A small cloud under assumptions."""

import dataclasses
import tracemalloc

import pytest
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.changes.plan import make_plan
from placementclient.insight.capacity import fits
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor
from placementclient.model.snapshots import Snapshot
from placementclient.placing.topology import Topology
from placementclient.producers.assuming.assumptions import (
    FileReaders,
    apply_assumptions,
    parse_assumptions,
)
from tests.functional import clouds
from tests.unit.insight.clouds import cloud, consumer, pool, provider

SHARED = '7f3d2b14-35f1-4f7c-8d2c-0c7e86d7a5d1'
OTHER = '5c1d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f'
FLAVORS = [
    Flavor('m1', 2, 512),
    Flavor('gpu', 1, 512, extra_specs={'resources1:VGPU': '1'}),
    Flavor('pin', 1, 512, extra_specs={'hw:cpu_policy': 'dedicated'}),
]


def small():
    """Two hosts, one of them with a GPU below it, and a pool that both use."""
    return cloud(
        [
            provider(
                'compute1', traits=['CUSTOM_SSD'], aggregates=[SHARED], VCPU=8, MEMORY_MB=4096
            ),
            provider('compute1_gpu', 'compute1', VGPU=2),
            provider('compute2', aggregates=[SHARED], VCPU=4, MEMORY_MB=4096),
            pool('nfs', SHARED, DISK_GB=100),
        ],
        [
            consumer('a', compute1={'VCPU': 2}, compute1_gpu={'VGPU': 1}),
            consumer('b', compute2={'VCPU': 1}, nfs={'DISK_GB': 10}),
        ],
    )


def under(text, snapshot=None, **plans):
    entries = parse_assumptions(
        text, 'assume.yaml', FileReaders(plans.__getitem__, lambda _: FLAVORS)
    )
    return apply_assumptions(snapshot or small(), entries)


def fault(text, **plans):
    with pytest.raises(errors.BadFile) as raised:
        under(text, **plans)
    return str(raised.value)


def used(snapshot):
    return {
        state.name: {name: n for name, n in state.usages.items() if n}
        for state in snapshot.providers.values()
    }


def test_providers_get_what_is_given_and_keep_the_rest():
    result = under(
        '- match: compute?\n'
        '  inventories: {VCPU: {allocation_ratio: 4.0}, CUSTOM_X: {total: 3}}\n'
        '  traits: {add: [CUSTOM_FAST], remove: [CUSTOM_SSD]}\n'
        '  aggregates: {remove: [1d2cbb0a-7f0f-4a6b-9a3c-0c5f27c0b9aa]}\n'
    )
    host = result.snapshot.providers['compute1']
    assert host.inventories == {
        'VCPU': Inventory(8, allocation_ratio=4.0),
        'MEMORY_MB': Inventory(4096),
        'CUSTOM_X': Inventory(3),
    }
    assert host.traits == {'CUSTOM_FAST'}
    assert result.snapshot.providers['nfs'] == small().providers['nfs']
    assert result.notes == [
        'assume.yaml:1: No resource provider that is selected is in the aggregate '
        '1d2cbb0a-7f0f-4a6b-9a3c-0c5f27c0b9aa',
    ]


@pytest.mark.parametrize(
    ('selector', 'names'),
    [
        ('match: "*"', {'compute1', 'compute1_gpu', 'compute2', 'nfs'}),
        ('with_trait: CUSTOM_SSD', {'compute1'}),
        ('with_class: VGPU', {'compute1_gpu'}),
        (f'member_of: {SHARED}', {'compute1', 'compute2', 'nfs'}),
        (
            f'member_of: ["{OTHER},{SHARED}", {SHARED}], match: compute*',
            {'compute1', 'compute2'},
        ),
    ],
)
def test_assumptions_change_the_providers_of_a_selector(selector, names):
    result = under(f'- {{{selector}, traits: {{add: [CUSTOM_NEW]}}}}').snapshot
    assert {s.name for s in result.providers.values() if 'CUSTOM_NEW' in s.traits} == names


def test_a_new_host_is_an_empty_copy_with_its_children():
    result = under('- {add: 2, like: compute1, name: "new{n:02d}"}').snapshot
    assert [root.name for root in result.roots()] == [
        'compute1',
        'compute2',
        'new01',
        'new02',
        'nfs',
    ]
    new = result.find_by_name('new01')
    assert new is not None
    child = result.find_by_name('new01_gpu')
    assert [state.name for state in result.tree(new.uuid)] == ['new01', 'new01_gpu']
    assert child is not None
    assert child.provider.root_provider_uuid == new.uuid
    old = result.providers['compute1']
    assert (new.inventories, new.traits, new.aggregates) == (
        old.inventories,
        old.traits,
        old.aggregates,
    )
    assert new.usages == {}


@pytest.mark.parametrize(
    ('name', 'names'),
    [
        ('new{n}', ['new1', 'new2', 'new3']),
        ('new{n:02d}.example', ['new01.example', 'new02.example', 'new03.example']),
        ('r{n}-h{n:3d}', ['r1-h  1', 'r2-h  2', 'r3-h  3']),
    ],
)
def test_new_hosts_have_numbers_in_their_names(name, names):
    result = under(f'[{{add: 3, like: compute2, name: "{name}"}}]').snapshot
    assert {root.name for root in result.roots()} == {'compute1', 'compute2', 'nfs', *names}


def test_a_child_without_the_name_of_its_host_gets_the_new_one_in_front():
    bare = cloud([provider('compute1'), provider('bridge', 'compute1', VCPU=1)])
    result = under('- {add: 1, like: compute1, name: new}', bare).snapshot
    assert result.find_by_name('new_bridge') is not None


def test_servers_of_an_assumed_lost_host_keep_what_they_hold_elsewhere():
    result = under('- without: compute2')
    assert sorted(result.snapshot.providers) == ['compute1', 'compute1_gpu', 'nfs']
    assert result.snapshot.consumers['b'].allocations == {'nfs': {'DISK_GB': 10}}
    assert result.lost == {'b'}
    assert result.notes == ['assume.yaml:1: Lost: 1 consumer on compute2: b']
    result = under('- without: ["compute1*"]')
    assert sorted(result.snapshot.consumers) == ['b']
    assert used(result.snapshot)['nfs'] == {'DISK_GB': 10}


def test_servers_that_are_to_come_get_their_places_in_turn():
    result = under('- servers: {flavor: m1, count: 3, on: any}')
    assert used(result.snapshot) == {
        'compute1': {'VCPU': 6, 'MEMORY_MB': 1024},
        'compute1_gpu': {'VGPU': 1},
        'compute2': {'VCPU': 3, 'MEMORY_MB': 512},
        'nfs': {'DISK_GB': 10},
    }
    assert result.notes == []
    new = [result.snapshot.consumers[uuid] for uuid in result.placed]
    assert sorted(server.type or '' for server in new) == ['INSTANCE'] * 3


def test_as_many_servers_get_a_place_as_fit():
    result = under('- servers: {flavor: m1, count: 40}')
    request = CandidateRequest(Filter({'VCPU': 2, 'MEMORY_MB': 512}))
    assert len(result.placed) == fits.count_fits_by_tree(Topology(small()), request)[-1].count == 4
    assert fits.count_fits_by_tree(Topology(result.snapshot), request)[-1].count == 0
    assert result.notes == ['assume.yaml:1: 36 of 40 servers of m1 do not fit']


def test_servers_with_dedicated_cpus_take_no_place_without_pcpu():
    result = under('- servers: {flavor: pin, count: 2}')
    assert result.placed == set()
    assert result.notes == [
        'assume.yaml:1: 2 of 2 servers of pin do not fit',
        'assume.yaml:1: Not counted: hosts without PCPU. A server with dedicated CPUs starts there '
        'only if nova-compute has vcpu_pin_set, or neither cpu_dedicated_set nor cpu_shared_set, '
        'which Placement does not show',
    ]


def test_a_server_takes_a_group_and_a_share_of_a_pool():
    result = under(
        '- servers: {flavor: gpu, count: 1}\n'
        '- servers: {resources: {VCPU: 1, DISK_GB: 5}, forbidden: [CUSTOM_SSD], count: 1}\n'
        '- servers: {resources: {VCPU: 3}, required: [CUSTOM_SSD], count: 1, on: [compute1, nfs]}\n'
    )
    assert used(result.snapshot) == {
        'compute1': {'VCPU': 6, 'MEMORY_MB': 512},
        'compute1_gpu': {'VGPU': 2},
        'compute2': {'VCPU': 2},
        'nfs': {'DISK_GB': 15},
    }


def test_servers_find_room_that_is_assumed_before():
    text = '- servers: {resources: {VCPU: 8}, count: 2}'
    assert len(under(text).placed) == 0
    assert len(under(f'- {{add: 2, like: compute1, name: "n{{n}}"}}\n{text}').placed) == 2


def test_an_assumed_plan_may_delete_a_provider():
    before = cloud([provider('a', VCPU=1), provider('b', VCPU=2)])
    after = Snapshot([before.providers['a']], ())
    assert list(
        under('- plan: it', before, it=make_plan('x', before, after)).snapshot.providers
    ) == ['a']


def test_the_cloud_is_as_it_is_after_a_reshape():
    before = clouds.used(clouds.cloud(hosts=1, servers=2))
    plan = clouds.plan_of(before, 2)
    result = under('- plan: it', before, it=plan).snapshot
    assert {state.name: sorted(state.inventories) for state in result.providers.values()} == {
        'compute0': ['MEMORY_MB', 'VCPU'],
        'compute0_gpu0': ['VGPU'],
        'compute0_gpu1': ['VGPU'],
    }
    assert used(result) == {
        'compute0': {'VCPU': 6, 'MEMORY_MB': 6144},
        'compute0_gpu0': {'VGPU': 1},
        'compute0_gpu1': {'VGPU': 1},
    }
    again = under('[{plan: it}, {plan: it}]', before, it=plan).snapshot
    assert again.providers == result.providers, 'what is done already stays so'


def test_an_assumed_plan_that_does_not_suit_the_cloud_is_refused():
    before = small()
    state = before.providers['compute2']
    edited = replace(state, inventories={**state.inventories, 'VCPU': Inventory(16)})
    others = [state for state in before.providers.values() if state.uuid != 'compute2']
    plan = make_plan('x', before, Snapshot([*others, edited], before.consumers.values()))
    text = '- {match: compute2, inventories: {VCPU: {total: 9}}}\n- plan: it'
    assert fault(text, it=plan) == (
        'assume.yaml:2:3: [1].plan: the plan does not suit the cloud any more: compute2: '
        'VCPU:total is 9, neither 4 nor 16. Make the plan again'
    )
    other_field = '- {match: compute2, inventories: {VCPU: {reserved: 1}}}\n- plan: it'
    assert under(other_field, it=plan).snapshot.providers['compute2'].capacity('VCPU') == 15
    atomic = dataclasses.replace(
        plan, changes=(dataclasses.replace(plan.changes[0], is_atomic=True),)
    )
    message = fault(other_field, it=atomic)
    assert 'the inventories of compute2 have changed' in message, 'what moves is compared whole'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('- witout: [a]', ':1:3: [0].witout: unknown key. Did you mean "without"?'),
        (
            '- {traits: {add: [A]}}',
            ':1:3: [0]: selects nothing: give match, with_trait, '
            'without_trait, with_class, member_of',
        ),
        ('- {match: a}', ':1:3: [0]: changes nothing: give inventories, traits or aggregates'),
        ('- {match: a, traits: {}}', ':1:14: [0].traits: has neither add nor remove'),
        ('- {add: 2, like: a}', ':1:3: [0]: name is missing'),
        ('- {add: 0, like: a, name: b}', ':1:4: [0].add: has to be from 1 to 100000'),
        ('- {add: 2, like: a, name: b}', ':1:21: [0].name: is the same 2 times: put {n} in it'),
        (
            "- {add: 2, like: a, name: 'b{m}'}",
            ':1:21: [0].name: unknown placeholder, known are {n} and with leading zeros {n:03d}',
        ),
        ('- {without: []}', ':1:4: [0].without: is empty'),
        ('- {without: [a], match: b}', ':1:18: [0].match: unknown key, known are without'),
        (
            '- servers: {count: 1}',
            ':1:3: [0].servers: has to have either a flavor or resources',
        ),
        (
            '- servers: {flavor: m1x, count: 1}',
            ':1:13: [0].servers.flavor: there is no flavor m1x. Did you mean "m1"?',
        ),
        (
            '- servers: {flavor: m1.large, required: [A], count: 1}',
            ':1:3: [0].servers: required and forbidden are for resources: a flavor has its own',
        ),
        (
            '- {match: cmopute1, traits: {add: [CUSTOM_A]}}',
            ':1:4: [0].match: "cmopute1" matches no provider. Did you mean "compute1"?',
        ),
        (
            '- {with_trait: CUSTOM_SDS, traits: {add: [CUSTOM_A]}}',
            ':1:4: [0].with_trait: no provider has CUSTOM_SDS. Did you mean "CUSTOM_SSD"?',
        ),
        (
            '- {match: nfs, with_class: VGPU, traits: {add: [CUSTOM_A]}}',
            ':1:16: [0].with_class: no provider meets all conditions',
        ),
        (
            '- {match: nfs, traits: {add: [COMPUTE_NODEE]}}',
            ':1:25: [0].traits.add: COMPUTE_NODEE is no standard trait, and does not begin with '
            'CUSTOM_. Did you mean "COMPUTE_NODE"?',
        ),
        (
            '- {match: nfs, inventories: {VCPUS: {total: 1}}}',
            ':1:16: [0].inventories: VCPUS is no standard resource class, and does not begin with '
            'CUSTOM_. Did you mean "VCPU"?',
        ),
        (
            '- {match: nfs, inventories: {VCPU: {reserved: 1}}}',
            ':1:16: [0].inventories: No resource provider that is selected has inventory of VCPU',
        ),
        (
            '- {match: nfs, inventories: {DISK_GB: {reserved: 101}}}',
            ':1:16: [0].inventories: DISK_GB: reserved 101 is above the total of 100',
        ),
        (
            '- {add: 1, like: compute3, name: x}',
            ':1:12: [0].like: there is no provider compute3. '
            'Did you mean "compute1" or "compute2"?',
        ),
        (
            '- {add: 1, like: compute1_gpu, name: x}',
            ':1:12: [0].like: compute1_gpu is a part of compute1: name the whole host',
        ),
        (
            '- {add: 1, like: compute1, name: nfs}',
            ':1:28: [0].name: there is a provider nfs already',
        ),
        (
            f'- {{add: 1, like: compute1, name: {"x" * 198}}}',
            f':1:28: [0].name: {"x" * 20}… has more than 200 characters',
        ),
        (
            '- without: [compute1, compute9]',
            ':1:23: [0].without[1]: there is no provider compute9. '
            'Did you mean "compute1" or "compute2"?',
        ),
        (
            '- without: ["gpu*"]',
            ':1:13: [0].without[0]: "gpu*" matches no provider',
        ),
    ],
)
def test_a_fault_has_its_place_and_a_suggestion(text, message):
    assert fault(text) == f'assume.yaml{message}'


def test_all_faults_of_the_form_are_told_at_once():
    with pytest.raises(errors.BadFile) as raised:
        under('- {without: []}\n- {add: 0, like: a, name: b}')
    assert [(fault.line, fault.column) for fault in raised.value.faults] == [(1, 4), (2, 4)]


def test_a_plan_that_cannot_be_read_is_the_fault_of_its_own_file():
    def missing(path):
        raise errors.BadFile(path, 'No such file or directory')

    with pytest.raises(errors.BadFile, match=r'^plan\.json: No such file or directory$'):
        parse_assumptions(
            '- plan: plan.json', 'assume.yaml', FileReaders(missing, lambda _: FLAVORS)
        )


def test_long_names_of_many_hosts_are_refused_at_the_first():
    tracemalloc.start()
    message = fault(f'- {{add: 100000, like: compute1, name: "{"x" * 1000}{{n}}"}}')
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert message.endswith('has more than 200 characters')
    assert peak < 10 << 20
