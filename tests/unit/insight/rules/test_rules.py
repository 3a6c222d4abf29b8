"""Rules about a small cloud: who breaks them, and what a file of rules may say."""

from __future__ import annotations

import pytest

from placementclient.client import errors
from placementclient.insight.rules.rules import Checked, check, parse
from placementclient.model.flavors import Flavor
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from tests.unit.insight.clouds import cloud, consumer, pool, provider

ZONE = '7f3d2b14-35f1-4f7c-8d2c-0c7e86d7a5d1'
NODE = 'COMPUTE_NODE'
NO_UUID = 'is no UUID of an aggregate: resource provider aggregate list HOST prints them'


def small() -> Snapshot:
    """Two hosts, of which one has GPUs below it, another host without a service, and a pool."""
    vcpu = Inventory(8, allocation_ratio=4.0)
    return cloud(
        [
            provider('gpu1', None, None, [NODE, 'CUSTOM_GPU'], [ZONE], VCPU=vcpu, MEMORY_MB=4096),
            provider('gpu1_a', 'gpu1', VGPU=2),
            provider('gpu1_b', 'gpu1', VGPU=4),
            provider('gpu2', None, None, [NODE, 'CUSTOM_GPU'], [ZONE, 'shared'], VCPU=8),
            provider('old', VCPU=Inventory(4, reserved=4)),
            pool('nfs', DISK_GB=100),
        ],
        [
            consumer('a', gpu1={'VCPU': 30}, gpu1_b={'VGPU': 1}, nfs={'DISK_GB': 50}),
            consumer('b', old={'VCPU': 1}),
        ],
    )


def flavors(path: str | None) -> list[Flavor]:
    return [Flavor('m1', 4, 0)]


def checked(text: str) -> Checked:
    [found] = check(small(), parse(f'- {{rule: it, {text}}}', 'rules.yaml', flavors))
    return found


@pytest.mark.parametrize(
    ('text', 'breaches'),
    [
        ('hosts: {with_trait: CUSTOM_GPU}, traits: {required: [COMPUTE_NODE]}', []),
        (
            'hosts: all, traits: {required: [COMPUTE_NODE]}',
            [('old', 'trait COMPUTE_NODE', 'missing')],
        ),
        ('hosts: {match: gpu*}, traits: {required: ["CUSTOM_GPU,CUSTOM_X"]}', []),
        (
            'providers: {with_class: VGPU}, traits: {required: ["CUSTOM_A,CUSTOM_B"]}',
            [
                ('gpu1_a', 'trait CUSTOM_A or CUSTOM_B', 'missing'),
                ('gpu1_b', 'trait CUSTOM_A or CUSTOM_B', 'missing'),
            ],
        ),
        (
            'hosts: {match: gpu2}, traits: {forbidden: [CUSTOM_GPU, CUSTOM_X]}',
            [('gpu2', 'no trait CUSTOM_GPU', 'there')],
        ),
        (
            f'hosts: all, aggregates: {{required: [{ZONE}]}}',
            [('old', f'aggregate {ZONE}', 'missing')],
        ),
        (
            f'hosts: {{member_of: {ZONE}}}, inventories: {{VCPU: {{allocation_ratio: 4.0}}}}',
            [('gpu2', 'VCPU:allocation_ratio = 4', '1')],
        ),
        (
            'hosts: {match: gpu1}, inventories: {VGPU: {total: ">= 3", max_unit: "!= 1"}}',
            [('gpu1_a', 'VGPU:total >= 3', '2')],
        ),
        (
            'hosts: {match: gpu2}, inventories: {VGPU: {}}',
            [('gpu2', 'inventory of VGPU', 'missing')],
        ),
        (
            'hosts: {match: gpu1}, inventories: {VGPU: none}',
            [
                ('gpu1_a', 'no inventory of VGPU', 'total 2'),
                ('gpu1_b', 'no inventory of VGPU', 'total 4'),
            ],
        ),
        ('providers: all, inventories: {VCPU: {}}, names: unique', None),
        (
            'providers: {with_class: VCPU}, inventories: {VCPU: {capacity: "> 0"}}',
            [('old', 'VCPU:capacity > 0', '0')],
        ),
        (
            'hosts: {with_trait: CUSTOM_GPU}, children: {with_class: VGPU}',
            [('gpu2', 'children (with_class VGPU) >= 1', '0')],
        ),
        ('hosts: all, children: {count: "<= 1"}', [('gpu1', 'children <= 1', '2')]),
        (
            f'hosts: {{without_trait: {NODE}}}, consumers: 0',
            [('old', 'consumers = 0', '1: b')],
        ),
        ('providers: {match: gpu1_*}, consumers: "<= 1"', []),
        (
            'hosts: all, usage: {VCPU: "< 80 %"}',
            [
                ('gpu1', 'usage of VCPU < 80 %', '93.8 % (30 used)'),
                ('old', 'usage of VCPU < 80 %', 'no capacity (1 used)'),
            ],
        ),
        (
            'usage: {DISK_GB: 50%, VGPU: "<= 16"}',
            [('(all)', 'usage of VGPU <= 16 %', '16.7 % (1 used)')],
        ),
        ('fits: {flavor: m1, count: ">= 2"}', []),
        (
            'fits: {flavor: m1, count: ">= 3"}',
            [('(all)', 'servers of m1 that fit >= 3', '2')],
        ),
        (
            'hosts: {match: gpu1}, fits: {resources: {VCPU: 1, VGPU: 1}, count: 3}',
            [('(all)', 'servers of VCPU=1,VGPU=1 that fit = 3', '2')],
        ),
    ],
)
def test_who_breaks_a_rule(text: str, breaches: list[tuple[str, str, str]] | None) -> None:
    found = checked(text)
    assert found.note == ''
    if breaches is not None:
        assert list(found.breaches) == breaches


def test_names_are_those_of_one_host_each() -> None:
    names = ('compute1', 'compute1.example', 'web.a.example', 'web.b.example', 'Web2', 'web2')
    [found] = check(
        cloud([provider(name) for name in names]),
        parse('- {rule: it, hosts: all, names: unique}', 'rules.yaml', flavors),
    )
    assert [(each.subject, each.found) for each in found.breaches] == [
        ('Web2', 'also web2'),
        ('web2', 'also Web2'),
        ('compute1', 'also compute1.example'),
        ('compute1.example', 'also compute1'),
    ]


def hosts(**held: int) -> Snapshot:
    """Hosts of 4 VCPU, each with one server that holds so many."""
    return cloud(
        [provider(name, traits=[NODE], VCPU=4) for name in held],
        [consumer(f'on {name}', **{name: {'VCPU': amount}}) for name, amount in held.items()],
    )


@pytest.mark.parametrize(
    ('text', 'breaches'),
    [
        (
            'survives_loss_of: 1',
            [('a', 'room for its 1 server elsewhere', 'no room for 1')],
        ),
        ('hosts: {match: "[bc]"}, survives_loss_of: 1', []),
        (
            'hosts: {match: "[bc]"}, survives_loss_of: 2',
            [('b + c', 'room for its 2 servers elsewhere', 'no room for 2')],
        ),
        ('hosts: {match: b}, survives_loss_of: 2', []),
    ],
)
def test_the_loss_of_hosts(text: str, breaches: list[tuple[str, str, str]]) -> None:
    rules = parse(f'- {{rule: it, {text}}}', 'rules.yaml', flavors)
    [found] = check(hosts(a=4, b=2, c=1), rules)
    assert list(found.breaches) == breaches


def test_all_expectations_of_a_rule_count() -> None:
    found = checked('hosts: {match: old}, consumers: 0, traits: {required: [COMPUTE_NODE]}')
    assert {each.expected for each in found.breaches} == {'consumers = 0', 'trait COMPUTE_NODE'}


@pytest.mark.parametrize(
    ('text', 'note'),
    [
        (
            'hosts: {match: gpuu*}, consumers: 0',
            'rules.yaml:1:22: [0].hosts.match: "gpuu*" matches no provider. Did you mean "gpu*"?',
        ),
        (
            'hosts: {with_trait: CUSTOM_GPUS}, consumers: 0',
            'rules.yaml:1:22: [0].hosts.with_trait: no provider has CUSTOM_GPUS, did you '
            'mean CUSTOM_GPU?',
        ),
    ],
)
def test_a_rule_about_nothing_holds_and_says_so(text: str, note: str) -> None:
    found = checked(text)
    assert (found.breaches, found.note) == ((), note)


def test_a_strict_rule_about_nothing_is_broken() -> None:
    rules = parse('- {rule: it, hosts: {match: gpuu*}, consumers: 0}', 'r.yaml', flavors)
    [found] = check(small(), rules, is_strict=True)
    said = 'r.yaml:1:22: [0].hosts.match: "gpuu*" matches no provider. Did you mean "gpu*"?'
    assert (found.breaches, found.note) == ((('(all)', 'hosts to check', said),), '')
    [found] = check(
        cloud([]),
        parse('- {rule: it, hosts: all, consumers: 0}', 'r.yaml', flavors),
        is_strict=True,
    )
    assert found.breaches == (('(all)', 'hosts to check', 'there are no hosts'),)


def test_there_are_no_hosts_at_all() -> None:
    [found] = check(
        cloud([]), parse('- {rule: it, hosts: all, consumers: 0}', 'rules.yaml', flavors)
    )
    assert (found.breaches, found.note) == ((), 'there are no hosts')


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('- {hosts: all, consumers: 0}', ':1:3: [0]: rule is missing'),
        (
            '- {rule: a, hosts: all}',
            ':1:3: [0]: expects nothing: give traits, aggregates, inventories, children, '
            'consumers, usage, names, fits, survives_loss_of',
        ),
        (
            '- {rule: a, hosts: all, providers: all, consumers: 0}',
            ':1:3: [0]: is about either hosts or providers',
        ),
        (
            '- {rule: a, consumers: 0}',
            ':1:13: [0].consumers: of which? Give hosts or providers, or one of them "all"',
        ),
        (
            '- {rule: a, providers: all, fits: {flavor: m1, count: 1}}',
            ':1:29: [0].fits: is for hosts, or for the whole cloud',
        ),
        (
            '- {rule: a, providers: all, survives_loss_of: 1}',
            ':1:29: [0].survives_loss_of: is for hosts, or for the whole cloud',
        ),
        ('- {rule: a, survives_loss_of: 3}', ':1:13: [0].survives_loss_of: has to be from 1 to 2'),
        (
            '- {rule: a, fits: {flavor: m11, count: 1}}',
            ':1:20: [0].fits.flavor: there is no flavor m11, did you mean m1?',
        ),
        ('- {rule: a, fits: {flavor: m1}}', ':1:13: [0].fits: count is missing'),
        (
            '- {rule: a, hosts: all, consumer: 0}',
            ':1:25: [0].consumer: unknown key, did you mean consumers?',
        ),
        (
            '- {rule: a, hosts: all, consumers: few}',
            ":1:25: [0].consumers: 'few' has to be a number or a comparison, such as 4 or '>= 4'",
        ),
        (
            '- {rule: a, hosts: all, consumers: "< 80 %"}',
            ":1:25: [0].consumers: '< 80 %' has to be a number or a comparison, such as 4 or "
            "'>= 4'",
        ),
        (
            '- {rule: a, usage: {VCPU: yes}}',
            ":1:21: [0].usage.VCPU: True has to be a number or a comparison, such as '< 80 %'",
        ),
        (
            '- {rule: a, hosts: all, traits: {forbidden: [COMPUTE_NOD]}}',
            ':1:46: [0].traits.forbidden[0]: COMPUTE_NOD is no standard trait, did you mean '
            'COMPUTE_NODE?',
        ),
        (
            '- {rule: a, hosts: all, inventories: {VGPUS: none}}',
            ':1:39: [0].inventories.VGPUS: VGPUS is no standard resource class, did you mean VGPU?',
        ),
        (
            '- {rule: a, hosts: all, inventories: {VCPU: {totl: 3}}}',
            ':1:46: [0].inventories.VCPU.totl: unknown key, did you mean total?',
        ),
        (
            '- {rule: a, hosts: all, aggregates: {required: [ssd]}}',
            ":1:49: [0].aggregates.required[0]: 'ssd' has to be a UUID",
        ),
        (
            '- {rule: a, hosts: all, traits: {}}',
            ':1:25: [0].traits: has neither required nor forbidden',
        ),
        ('- {rule: a, hosts: all, names: all}', ':1:25: [0].names: has to be unique'),
        ('[]', ':1:1: has no rules: give at least one'),
        (
            '- {rule: a, hosts: {member_of: notauuid}, consumers: 0}',
            f":1:21: [0].hosts.member_of: 'notauuid' {NO_UUID}",
        ),
        (
            f'- {{rule: a, providers: {{member_of: [{ZONE}, "{ZONE},rack"]}}, consumers: 0}}',
            f":1:75: [0].providers.member_of[1]: 'rack' {NO_UUID}",
        ),
        (
            '- {rule: a, hosts: {with_trait: NOPE}, consumers: 0}',
            ':1:21: [0].hosts.with_trait: NOPE is no standard trait, did you mean CUSTOM_NOPE?',
        ),
        (
            '- {rule: a, hosts: {without_trait: COMPUTE_NOD}, consumers: 0}',
            ':1:21: [0].hosts.without_trait: COMPUTE_NOD is no standard trait, did you mean '
            'COMPUTE_NODE?',
        ),
        (
            '- {rule: a, hosts: all, traits: {forbidden: [NOPE]}}',
            ':1:46: [0].traits.forbidden[0]: NOPE is no standard trait, did you mean CUSTOM_NOPE?',
        ),
        (
            '- {rule: a, hosts: all, children: {with_class: NOPE}}',
            ':1:36: [0].children.with_class: NOPE is no standard resource class, did you mean '
            'CUSTOM_NOPE?',
        ),
        (
            '- {rule: a, hosts: {}, consumers: 0}',
            ':1:13: [0].hosts: selects nothing: give match, with_trait, without_trait, with_class, '
            'member_of',
        ),
        (
            '- {rule: a, hosts: all, consumers: 0}\n- {rule: a, hosts: all, consumers: 0}',
            ':2:4: [1].rule: a is there twice',
        ),
    ],
)
def test_a_fault_says_its_line_and_column(text: str, fault: str) -> None:
    with pytest.raises(errors.BadFile) as raised:
        parse(text, 'rules.yaml', flavors)
    assert str(raised.value) == f'rules.yaml{fault}'
