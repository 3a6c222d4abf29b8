# SPDX-License-Identifier: Apache-2.0
"""One edit on many providers, and many edits on one at the same time; on the real service."""

import json

import pytest

from placementclient.api import inventory, resource_class, resource_provider
from tests.functional import clouds
from tests.functional.clouds import content, uuid_of, watched
from tests.functional.hosts import RACK, STORAGE, build

SET = 'resource provider inventory set'
COMPUTE0, OTHER = uuid_of('compute0'), uuid_of('other')


def vcpu(client, name):
    """What a host keeps for itself of its VCPU, and the ratio."""
    live = inventory.show(client, uuid_of(name), 'VCPU').value
    return live.reserved, live.allocation_ratio


def states(result):
    return {row['object']: row['state'] for row in json.loads(result.stdout)}


def objects(result):
    return {row['object'] for row in json.loads(result.stdout)}


#: Selectors, and the providers that they select.
SELECTED = {
    '--all': {'compute0', 'compute0_gpu0', 'compute1', 'compute1_gpu0', 'storage'},
    '--match compute*': {'compute0', 'compute0_gpu0', 'compute1', 'compute1_gpu0'},
    '--match compute?': {'compute0', 'compute1'},
    '--with-trait CUSTOM_T4': {'compute0_gpu0', 'compute1_gpu0'},
    '--with-class VCPU': {'compute0', 'compute1'},
    '--with-class VCPU --match *1': {'compute1'},
    f'--member-of {RACK}': {'compute0', 'compute1'},
    f'--member-of {STORAGE.upper()} --match [!c]*': {'storage'},
}
RESERVED = '--amend --resource VCPU:reserved=2'
#: Words of commands, the status and a part of the message.
WRONG = [
    (
        f'inventory set --match cmopute* --yes {RESERVED}',
        1,
        'No resource provider is selected: "cmopute*" matches no provider. '
        'Did you mean "compute*"?',
    ),
    (
        f'inventory set --with-class PCPU --yes {RESERVED}',
        1,
        'No resource provider is selected: none of them has inventory of PCPU',
    ),
    ('inventory set --all --yes --resource VCPU:reserved=1', 1, 'VCPU needs a total: '),
    (
        'inventory set --all --yes --amend --resource VCPU:reserved=-1',
        1,
        'VCPU:reserved=-1 is not between 0 and 2147483647',
    ),
    (
        'inventory set --all --yes --amend --resource VCPUS=8',
        1,
        'There is no resource class \'VCPUS\'. Did you mean "VCPU"?',
    ),
    (f'inventory set {RESERVED}', 2, 'the following arguments are required: <provider>'),
    (f'inventory set compute0 --all {RESERVED}', 2, 'Give either a provider, or --aggregate'),
    (f'inventory set --all --aggregate {RESERVED}', 2, 'Give either a provider, or --aggregate'),
    (f'inventory set --all --generation 3 {RESERVED}', 2, '--generation is for one provider'),
    (f'inventory set --all {RESERVED}', 2, 'This is not a terminal'),
    (f'inventory set compute0 --plan plan.json {RESERVED}', 2, '--plan needs a selector'),
    ('trait add compute0', 2, 'the following arguments are required: <trait>'),
    ('trait add', 2, 'the following arguments are required: <provider>, <trait>'),
    ('trait add --all', 2, 'the following arguments are required: <trait>'),
    ('trait add --all CUSTOM_A40 --generation 3', 2, '--generation is for one provider'),
    ('trait add compute0 CUSTOM_A40 --dry-run', 2, '--dry-run needs a selector'),
    ('trait add --all CUSTOM_A41', 1, 'make it first: placement trait create CUSTOM_A41'),
    ('trait add --match x CUSTOM_A40', 1, 'No resource provider is selected: "x" matches no'),
    ('trait add --all CUSTOM_A40', 2, 'This is not a terminal: use --yes to confirm'),
    ('aggregate add --all compute0', 1, "'compute0' is not the UUID of an aggregate; its name"),
]


def test_a_dry_run_prints_what_differs(client, placement):
    build(client)
    before = content(clouds.captured(client))
    with watched(client) as requests:
        result = placement(f'{SET} --all --amend --resource VCPU:reserved=2 --dry-run -f json')
    # One listing, the inventories of each provider: two hosts, four GPUs and the storage; and what
    # is in use of those that shrink.
    assert requests == [
        ('GET', '/resource_providers'),
        *[('GET', path) for _, path in requests[1:]],
    ]
    assert len({path for _, path in requests if path.endswith('/inventories')}) == 7
    assert len({path for _, path in requests if path.endswith('/usages')}) == 2
    assert len(requests) == 10
    assert result.status == 3
    assert json.loads(result.stdout) == [
        {'object': name, 'change': 'VCPU:reserved', 'before': 0, 'after': 2}
        for name in ('compute0', 'compute1')
    ]
    assert result.stderr == (
        'Skipped, without VCPU: compute0_gpu0, compute0_gpu1, compute1_gpu0 and 2 others\n'
        '2 providers to change (exit 3)\n'
    )
    assert content(clouds.captured(client)) == before


def test_a_ratio_that_is_hardly_meant_is_told_in_a_dry_run_and_before_the_write(client, placement):
    build(client)
    command = f'{SET} --match compute? --amend --resource VCPU:allocation_ratio=1001'
    for mode in ('--dry-run', '--yes'):
        result = placement(f'{command} {mode}')
        assert result.stderr.startswith('VCPU:allocation_ratio=1001 is above 1000\n'), mode


def test_each_selector_selects_its_providers(client, placement):
    build(client)
    resource_class.create(client, 'CUSTOM_X')
    for selectors, names in SELECTED.items():
        command = f'{SET} {selectors} --amend --resource CUSTOM_X=1 --dry-run -f json'
        changed = {name for name in objects(placement(command)) if not name.endswith('gpu1')}
        assert changed == names, selectors


def test_bulk_edits_show_the_changes_and_ask(client, placement):
    build(client)
    result = placement(f'{SET} --with-class VCPU --amend --resource VCPU:reserved=2')
    assert result.stderr == (
        '~ compute0 VCPU:reserved 0 → 2\n'
        '~ compute1 VCPU:reserved 0 → 2\n'
        '2 providers to change. Go on? This is not a terminal: '
        'use --yes to confirm\n'
    )
    assert vcpu(client, 'compute0') == (0, 4.0)


def test_bulk_edits_without_a_change_write_nothing(client, placement):
    build(client)
    with watched(client) as requests:
        placement('resource provider trait add compute0 COMPUTE_NODE')
        placement(f'resource provider aggregate remove compute0 {uuid_of("other")}')
    assert {method for method, _ in requests} == {'GET'}


@pytest.mark.parametrize(
    'command', ['trait add compute0 CUSTOM_A40', f'aggregate remove compute0 {RACK}']
)
def test_bulk_edits_with_a_generation_are_compare_and_swap(client, placement, command):
    build(client)
    generation = resource_provider.read_generation(client, COMPUTE0)
    stale = placement(f'resource provider {command} --generation {generation - 1}')
    assert (stale.status, f'The generation is {generation}, not' in stale.stderr) == (1, True)
    assert resource_provider.read_generation(client, COMPUTE0) == generation
    assert placement(f'resource provider {command} --generation {generation}').status == 0


def test_bulk_aggregates_are_refused_below_the_version_that_guards_them(placement):
    result = placement(f'resource provider aggregate add compute0 {RACK}', microversion='1.18')
    assert (result.status, 'requires at least version 1.19' in result.stderr) == (1, True)


MANY = [
    ('trait add {} CUSTOM_A40', 'traits', None, ['CUSTOM_A40']),
    ('trait remove {} COMPUTE_NODE', 'traits', ['COMPUTE_NODE'], None),
    (f'aggregate add {{}} {OTHER}', 'aggregates', None, [OTHER]),
    (f'aggregate remove {{}} {RACK}', 'aggregates', [RACK], None),
]


@pytest.mark.parametrize(('command', 'change', 'before', 'after'), MANY)
def test_traits_and_aggregates_are_added_and_removed_on_many_providers(
    client, placement, command, change, before, after
):
    build(client)
    cloud = content(clouds.captured(client))
    rows = [
        {'object': name, 'change': change, 'before': before, 'after': after}
        for name in ('compute0', 'compute1')
    ]
    words = f'resource provider {command.format("--with-class VCPU")}'
    dry = placement(f'{words} --dry-run -f json')
    assert (dry.status, json.loads(dry.stdout)) == (3, rows)
    assert content(clouds.captured(client)) == cloud
    result = placement(f'{words} --yes -f json')
    assert (result.status, states(result)) == (0, {'compute0': 'done', 'compute1': 'done'})
    for name in ('compute0', 'compute1'):
        facet, *_ = command.split()
        listed = placement(f'resource provider {facet} list {name} -f value').stdout.split()
        assert set(after or []) <= set(listed)
        assert not set(before or []) & set(listed)
    last = placement(f'{words} --yes -f json')
    assert (last.status, last.stdout.strip()) == (0, '[]')


def test_names_of_traits_may_come_before_or_after_selectors(client, placement):
    build(client)
    for words in (
        '--match compute0 CUSTOM_A40 COMPUTE_NODE',
        'CUSTOM_A40 COMPUTE_NODE --match compute0',
        'CUSTOM_A40 --match compute0 COMPUTE_NODE',
        'CUSTOM_A40 --match compute0',
    ):
        result = placement(f'resource provider trait add {words} --dry-run -f json')
        assert json.loads(result.stdout) == [
            {'object': 'compute0', 'change': 'traits', 'before': None, 'after': ['CUSTOM_A40']}
        ]


def test_wrong_usage_of_bulk_edits_changes_nothing(client, placement):
    build(client)
    before = content(clouds.captured(client))
    for words, status, sentence in WRONG:
        result = placement(f'resource provider {words}')
        assert (result.status, sentence in result.stderr) == (status, True), result
    assert content(clouds.captured(client)) == before


@pytest.mark.parametrize('option', ['--yes', '--dry-run'])
def test_a_value_that_one_provider_cannot_have_fails_that_provider_alone(client, placement, option):
    build(client)
    placement(f'{SET} compute0 --amend --resource VCPU:total=4')
    command = f'{SET} --with-class VCPU --amend --resource VCPU:reserved=8 {option} -f json'
    result = placement(command)
    message = 'compute0: VCPU: reserved 8 is above the total of 4\n'
    assert (result.status, result.stderr.startswith(message)) == (6, True)
    outcomes = {row['object']: row.get('state') for row in json.loads(result.stdout)}
    done = {'compute0': 'failed', 'compute1': 'done'}
    assert outcomes == (done if option == '--yes' else {'compute1': None})
    assert vcpu(client, 'compute0')[0] == 0
    alone = placement(command.replace('--with-class', '--match compute0 --with-class'))
    assert (alone.status, alone.stdout, alone.stderr) == (1, '', message)


def test_an_aggregate_without_a_provider_has_the_name_that_was_given(placement, monkeypatch):
    uuid = '0aee21e0-1111-4222-8333-444455556666'
    aggregates = [{'uuid': uuid, 'name': 'rack7', 'hosts': []}]
    monkeypatch.setattr('placementclient.nova.service.aggregates', lambda client: aggregates)
    result = placement('resource provider trait add --member-of rack7 CUSTOM_A40')
    assert result.status == 1
    assert result.stderr == (
        f'No resource provider is selected: none is in the aggregate {uuid} (rack7)\n'
    )
