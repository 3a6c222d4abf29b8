"""The files of ``--assume``: what they may say, and where each fault is."""

import pytest

from placementclient.client import errors
from placementclient.insight.shapes import ServerShape
from placementclient.model.servers import Flavor
from placementclient.producers.assuming.assumptions import (
    HostsGone,
    NamedFiles,
    NewHosts,
    NewServers,
    ProviderEdit,
    parse,
)

LARGE = Flavor('m1.large', 4, 8192, 80)
AGGREGATE = '7f3d2b14-35f1-4f7c-8d2c-0c7e86d7a5d1'


def read(text):
    def no_plan(path):
        raise errors.BadFile(path, 'No such file or directory')

    def flavors(path):
        return [LARGE] if path in (None, 'flavors.json') else []

    return parse(text, 'assume.yaml', NamedFiles(no_plan, flavors))  # type: ignore[arg-type]


def test_providers_by_all_selectors():
    [edit] = read(
        f'- {{match: compute1*, with_trait: HW_GPU, with_class: VCPU, member_of: {AGGREGATE},'
        ' inventories: {VCPU: {allocation_ratio: 4}}, traits: {add: [CUSTOM_A], remove: [B]},'
        f' aggregates: {{remove: [{AGGREGATE.upper()}]}}}}'
    )
    assert isinstance(edit, ProviderEdit)
    chosen = edit.selector
    assert (chosen.match, chosen.with_trait, chosen.with_class) == ('compute1*', 'HW_GPU', 'VCPU')
    assert chosen.member_of == (AGGREGATE,)
    assert edit.inventories == {'VCPU': {'allocation_ratio': 4.0}}
    assert edit.traits == {'add': {'CUSTOM_A'}, 'remove': {'B'}}
    assert edit.aggregates == {'remove': {AGGREGATE}}


@pytest.mark.parametrize(
    ('name', 'names'),
    [
        ('new{n}', ['new1', 'new2', 'new3']),
        ('new{n:02d}.example', ['new01.example', 'new02.example', 'new03.example']),
        ('r{n}-h{n:3d}', ['r1-h  1', 'r2-h  2', 'r3-h  3']),
    ],
)
def test_new_hosts_have_numbers_in_their_names(name, names):
    [hosts] = read(f'[{{add: 3, like: compute1, name: "{name}"}}]')
    assert isinstance(hosts, NewHosts)
    assert list(hosts.names()) == names


def test_one_new_host_needs_no_number():
    [hosts] = read('[{add: 1, like: compute1, name: other}]')
    assert isinstance(hosts, NewHosts)
    assert list(hosts.names()) == ['other']


def test_one_name_or_several():
    found = read('[{without: compute7}, {without: [compute8, "gpu*"]}]')
    assert [each.without for each in found if isinstance(each, HostsGone)] == [
        ('compute7',),
        ('compute8', 'gpu*'),
    ]


@pytest.mark.parametrize('flavors', ['', ', flavors: flavors.json'])
def test_servers_of_a_flavor_on_any_host(flavors):
    [servers] = read(f'- servers: {{flavor: m1.large, count: 40, on: any{flavors}}}')
    assert isinstance(servers, NewServers)
    assert (servers.shape.flavor, servers.count, servers.on) == (LARGE, 40, ())


def test_servers_of_resources_on_some_hosts():
    [servers] = read(
        '- servers: {resources: {VCPU: 2}, required: [A], forbidden: [B], count: 1, on: compute1*}'
    )
    assert isinstance(servers, NewServers)
    assert servers.shape == ServerShape(None, {'VCPU': 2}, ('A',), ('B',))
    assert servers.on == ('compute1*',)


@pytest.mark.parametrize(
    ('text', 'fault'),
    [
        ('- match: [a', ':1:10: the bracket that opens here is not closed'),
        ('a: 1', ' has to be a list'),
        ('- 7', ':1:3: [0]: has to be a mapping'),
        (
            '- match: a\n  inventory: {}\n',
            ':2:3: [0].inventory: unknown key. Did you mean "inventories"?',
        ),
        ('- witout: [a]', ':1:3: [0].witout: unknown key. Did you mean "without"?'),
        (
            '- {traits: {add: [A]}}',
            ':1:3: [0]: selects nothing: give match, with_trait, '
            'without_trait, with_class, member_of',
        ),
        ('- {match: a}', ':1:3: [0]: changes nothing: give inventories, traits or aggregates'),
        (
            '- {match: a, inventories: {VCPU: {allocation_ratio: x}}}',
            ':1:35: [0].inventories.VCPU.allocation_ratio: has to be a number',
        ),
        (
            '- match: a\n  inventories: {VCPU: {ratio: 1}}',
            ':2:24: [0].inventories.VCPU.ratio: unknown key, known are '
            'allocation_ratio, min_unit, max_unit, reserved, step_size, total',
        ),
        ('- {match: a, traits: [A]}', ':1:14: [0].traits: has to be a mapping'),
        ('- {match: a, traits: {}}', ':1:14: [0].traits: has neither add nor remove'),
        (
            '- {match: a, traits: {add: [A, b]}}',
            ":1:32: [0].traits.add[1]: 'b' has to be A-Z, 0-9 and _ only",
        ),
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
            '- servers: {flavor: m1.lrage, count: 1}',
            ':1:13: [0].servers.flavor: there is no flavor m1.lrage. Did you mean "m1.large"?',
        ),
        (
            '- servers: {flavor: m1.large, required: [A], count: 1}',
            ':1:3: [0].servers: required and forbidden are for resources: a flavor has its own',
        ),
    ],
)
def test_a_fault_says_its_line_and_column(text, fault):
    with pytest.raises(errors.BadFile) as raised:
        read(text)
    expected = f'assume.yaml{fault}' if fault.startswith(':') else f'assume.yaml:1:1:{fault}'
    assert str(raised.value) == expected


def test_all_faults_are_told_at_once():
    with pytest.raises(errors.BadFile) as raised:
        read('- {without: []}\n- {add: 0, like: a, name: b}')
    assert [(fault.line, fault.column) for fault in raised.value.faults] == [(1, 4), (2, 4)]


def test_a_plan_that_cannot_be_read_is_the_fault_of_its_own_file():
    with pytest.raises(errors.BadFile, match=r'^plan\.json: No such file or directory$'):
        read('- plan: plan.json')
