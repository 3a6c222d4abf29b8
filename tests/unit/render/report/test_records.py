# SPDX-License-Identifier: Apache-2.0
"""What the script draws: all of it is there, and what is repeated is there once."""

from placementclient.render.report.records import NOWHERE, Records
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.render.report.reports import SERVERS, flat, nested, plan, report


def document(snapshot, of=None):
    return Records(report(snapshot, of)).make_document()


def test_a_tree_of_the_page_has_all_its_facts():
    records = document(nested())
    texts = records['texts']
    host, pools = records['trees'][0]
    assert [provider[:3] for provider in host] == [
        ['host1', 'host1', NOWHERE],
        ['host1_gpu', 'host1_gpu', 0],
    ]
    assert pools == [(2, 0)]
    assert records['trees'][2][0][0][0] == 'nfs'
    name, inventory, used = host[1][3]
    assert (texts[name], records['inventories'][inventory], used) == (
        'VGPU',
        (2, 2, 0, 1.0, 1, 1, 1),
        1,
    )
    traits, aggregates = (records['sets'][place] for place in host[0][4:6])
    assert [texts[place] for place in (*traits, *aggregates)] == ['COMPUTE_NODE', 'shared']
    holder, allocated = host[0][6]
    assert records['consumers'][holder] == [
        's', texts.index('project'), texts.index('INSTANCE'), ''
    ]  # fmt: skip
    assert allocated == [texts.index('VCPU'), 2]


def test_the_report_stores_equal_inventories_and_traits_once():
    states = [provider(f'host{n}', traits=['A', 'B'], VCPU=8, MEMORY_MB=8) for n in range(50)]
    records = document(cloud(states))
    assert records['inventories'] == [(8, 8, 0, 1.0, 1, 2147483647, 1)]
    assert [records['texts'][place] for place in records['sets'][0]] == ['A', 'B']
    assert len(records['sets']) == 2
    assert sorted(records['texts']) == ['A', 'B', 'MEMORY_MB', 'VCPU']


def test_the_report_stores_the_most_severe_findings_first():
    records = document(
        cloud(
            [
                provider('host', traits=['OWNER_NOVA'], aggregates=['zone'], VCPU=1),
                provider('host_gpu', 'host', VGPU=1),
            ],
            [consumer('s', host={'VCPU': 2})],
        )
    )
    texts = records['texts']
    assert [(texts[kind], texts[check], *rest) for kind, check, *rest in records['findings']] == [
        (
            'error', 'over-capacity', 'host',
            'The provider has VCPU 2 in use, and a capacity of 1.', '',
            'move servers away, or raise the ratio. Only you know if the host can bear that, and '
            'nova-compute may set the ratio back. If it can: openstack resource provider '
            'inventory set host --amend --resource VCPU:allocation_ratio=2.0',
        ),
        (
            'warning', 'owner-missing', 'host_gpu',
            'The provider lacks the trait OWNER_NOVA, and is in the tree of host.',
            'openstack resource provider trait add host_gpu OWNER_NOVA', '',
        ),
        (
            'info', 'aggregate-of-one', 'zone', 'Its only member is host.', '',
            'an availability zone may have one host. If nothing needs the aggregate: '
            'openstack resource provider aggregate remove host zone',
        ),
    ]  # fmt: skip


def test_the_report_stores_the_providers_of_a_plan_before_and_after_it():
    snapshot = flat()
    records = document(snapshot, plan(snapshot))
    texts = records['texts']
    [(name, providers, rows, warnings)] = records['plan']
    assert name == 'gpu1'
    root, first, second = providers
    assert [(texts[entry[0]], entry[1], entry[2]) for entry in providers] == [
        ('gpu1', NOWHERE, 0),
        ('gpu1_0', 0, 1),
        ('gpu1_1', 0, 1),
    ]
    vcpu, vgpu = texts.index('VCPU'), texts.index('VGPU')
    assert root[3:5] == [[vcpu, 3, 8, vgpu, 4, 8], [vcpu, 3, 8]]
    assert first[3] == second[3] == []
    sev = [texts.index('HW_CPU_X86_AMD_SEV')]
    assert (root[5:], first[5:]) == ([[], sev], [sev, []])
    drawn = {
        records['consumers'][consumer][0]: (amount, *(texts[place] for place in places))
        for consumer, amount, *places, _ in rows
    }
    assert drawn[SERVERS[0]] == (2, 'VGPU', 'VGPU', 'gpu1', 'gpu1_0', 'mapped')
    assert {drawn[uuid][-1] for uuid in SERVERS[1:]} == {'inferred'}
    assert len(warnings) == len(plan(snapshot).changes[0].warnings)


def test_the_report_accepts_a_plan_with_consumers_that_are_deleted_now():
    snapshot = flat()
    gone = type(snapshot)(snapshot.providers.values(), [])
    records = document(gone, plan(snapshot))
    assert [entry[0] for entry in records['consumers']] == SERVERS
    assert {entry[1] for entry in records['consumers']} == {NOWHERE}
