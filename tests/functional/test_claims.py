# SPDX-License-Identifier: Apache-2.0
"""Allocations that are moved, handed over and claimed, on the real service."""

import json

import pytest

from placementclient.api import allocation, inventory, usage
from tests.functional.clouds import disturbed, uuid_of, watched
from tests.functional.hosts import PROJECT, USER, build, holder

OWNED = f'--project-id {PROJECT} --user-id {USER}'
USED = 'inventory used/capacity'
SERVER, MIGRATION = uuid_of('server'), uuid_of('migration')
ALLOCATED = {'compute0': {'VCPU': 2, 'MEMORY_MB': 512}, 'storage': {'DISK_GB': 10}}


def allocated(client, consumer):
    """What a consumer holds, by provider UUID."""
    allocations = allocation.show(client, consumer).value.allocations
    return {uuid: dict(resources) for uuid, resources in allocations.items()}


def by_uuid(allocations):
    return {uuid_of(name): resources for name, resources in allocations.items()}


def test_move_keeps_allocations_on_other_providers(client, placement):
    build(client, holder('server', ALLOCATED))
    with watched(client) as requests:
        moved = placement(
            f'resource provider allocation move {SERVER} --from compute0 --to compute1 -f json'
        )
    assert moved.status == 0
    after = by_uuid({'compute1': ALLOCATED['compute0'], 'storage': ALLOCATED['storage']})
    assert allocated(client, SERVER) == after
    rows = json.loads(moved.stdout)
    assert {row['resource_provider']: row['resources'] for row in rows} == after
    assert {row['name'] for row in rows} == {'compute1', 'storage'}
    assert [method for method, _ in requests if method != 'GET'] == ['PUT']


def test_move_of_a_class_adds_to_what_the_target_has(client, placement):
    build(client, holder('server', ALLOCATED | {'compute1': {'VCPU': 1}}, kind=None))
    command = f'resource provider allocation move {SERVER} --from compute0 --to compute1'
    assert placement(f'{command} --class VCPU --class VCPU').status == 0
    assert allocated(client, SERVER) == by_uuid(
        ALLOCATED | {'compute0': {'MEMORY_MB': 512}, 'compute1': {'VCPU': 3}}
    )
    assert allocation.show(client, SERVER).value.type is None


@pytest.mark.parametrize(
    ('arguments', 'status', 'sentence'),
    [
        ('--from compute0 --to compute0', 2, 'are the same resource provider'),
        ('--from compute1 --to compute0', 0, 'holds that on compute0 already: nothing was done'),
        ('--from compute1 --to compute0 --class DISK_GB', 1, 'does not hold DISK_GB on'),
        (
            '--from compute1 --to compute0_gpu0',
            1,
            'does not hold anything on the provider compute1',
        ),
        ('--from compute0 --to compute1 --class VGPU', 1, 'does not hold VGPU on'),
        ('--from compute0 --to compute1_gpu0', 1, f'{uuid_of("compute1_gpu0")} (compute1_gpu0)'),
        ('--from nowhere --to compute1', 1, "No resource provider has the name 'nowhere'"),
    ],
)
def test_move_changes_nothing_where_it_is_refused(client, placement, arguments, status, sentence):
    build(client, holder('server', ALLOCATED))
    inventory.delete(client, uuid_of('compute1'), 'MEMORY_MB')
    result = placement(f'resource provider allocation move {SERVER} {arguments}')
    assert (result.status, sentence in result.stderr) == (status, True), result
    assert allocated(client, SERVER) == by_uuid(ALLOCATED)


@pytest.mark.parametrize(
    'arguments',
    [
        # What it holds of the class on a third provider did not go to this one.
        '--from compute1_gpu0 --to compute0_gpu1',
        '--from compute1_gpu0 --to compute0_gpu1 --class VGPU',
        # This one never had the class.
        '--from compute0 --to compute0_gpu1 --class VGPU',
        '--from storage --to compute0_gpu1',
    ],
)
def test_move_refuses_a_provider_that_the_consumer_is_not_on(client, placement, arguments):
    gpus = {'compute0_gpu0': {'VGPU': 1}, 'compute0_gpu1': {'VGPU': 1}}
    build(client, holder('server', gpus))
    result = placement(f'resource provider allocation move {SERVER} {arguments}')
    assert (result.status, result.stdout) == (1, '')
    assert 'does not hold' in result.stderr
    assert allocated(client, SERVER) == by_uuid(gpus)


@pytest.mark.parametrize('kind', ['INSTANCE', None])
def test_transfer_hands_all_allocations_over_and_back(client, placement, kind):
    build(client, holder('server', ALLOCATED, kind))
    before = allocation.show(client, SERVER).value
    command = 'resource provider allocation transfer'
    with watched(client) as requests:
        assert placement(f'{command} {SERVER} --to-consumer {MIGRATION}').status == 0
    assert [method for method, _ in requests if method != 'GET'] == ['POST']
    assert allocated(client, SERVER) == {}
    assert allocated(client, MIGRATION) == by_uuid(ALLOCATED)
    assert placement(f'{command} {MIGRATION} --to-consumer {SERVER}').status == 0
    after = allocation.show(client, SERVER).value
    assert (after.allocations, after.project_id, after.user_id, after.type) == (
        before.allocations,
        before.project_id,
        before.user_id,
        kind,
    )


@pytest.mark.parametrize('kind', ['INSTANCE', None])
def test_transfer_can_set_the_consumer_type(client, placement, kind):
    build(client, holder('server', ALLOCATED, kind))
    result = placement(
        f'resource provider allocation transfer {SERVER} --to-consumer {MIGRATION} '
        '--consumer-type MIGRATION'
    )
    assert result.status == 0
    assert allocation.show(client, MIGRATION).value.type == 'MIGRATION'


def test_transfer_to_a_consumer_with_allocations_needs_replace(client, placement):
    mine, others = {'compute0': {'VCPU': 2}}, {'compute1': {'VCPU': 2}}
    build(client, holder('migration', mine, None), holder('server', others))
    command = f'resource provider allocation transfer {MIGRATION} --to-consumer {SERVER}'
    refused = placement(command)
    assert (refused.status, '--replace would free it' in refused.stderr) == (1, True)
    assert allocated(client, SERVER) == by_uuid(others)
    assert placement(f'{command} --replace').status == 0
    assert allocated(client, SERVER) == by_uuid(mine)
    assert allocation.show(client, SERVER).value.type == 'INSTANCE'
    assert 'holds nothing' in placement(command).stderr


def test_claim_prints_the_claimed_candidate_and_alternates(client, placement):
    build(client, hosts=3)
    result = placement(
        f'resource provider allocation claim {SERVER} {OWNED} --resource VCPU=2 '
        '--resource DISK_GB=10 --group _GPU --resource VGPU=1 --alternates 5 -f json'
    )
    assert result.status == 0, result
    rows = json.loads(result.stdout)
    assert [row['#'] for row in rows] == [0] * 3 + [1] * 3 + [2] * 3
    assert all(uuid_of(row['name']) == row['resource provider'] for row in rows)
    for row in rows[:3]:
        # As it is with what was claimed.
        used = usage.show_provider(client, row['resource provider']).value
        assert all(f'{name}={amount}/' in row[USED] for name, amount in used.items())
    claimed = {row['resource provider'] for row in rows if row['#'] == 0}
    assert set(allocated(client, SERVER)) == claimed
    hosts = [row['root_provider_uuid'] for row in rows if 'VCPU' in row['allocation']]
    assert len(set(hosts)) == 3
    again = placement(f'resource provider allocation claim {SERVER} {OWNED} --resource VCPU=1')
    assert (again.status, 'holds something already' in again.stderr) == (1, True)


def test_a_repeated_claim_prints_the_same_claim_and_alternates(client, placement):
    build(client, hosts=3)
    command = (
        f'resource provider allocation claim {SERVER} {OWNED} --resource MEMORY_MB=64256 '
        '--alternates 2 -f json -c "#" -c name'
    )
    first, again = placement(command), placement(command)
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert [row['#'] for row in json.loads(first.stdout)] == [0, 1, 2]
    assert 'nothing was done' in again.stderr


def test_claim_takes_the_next_candidate_when_another_client_was_faster(client, placement):
    build(client)

    def fill():
        """Take what the first candidate offers, between the question and the claim."""
        for number, free in enumerate(['compute0_gpu0', 'compute0_gpu1', 'compute1_gpu0']):
            allocation.set(client, holder(f'rival{number}', {free: {'VGPU': 2}}))

    with disturbed(client, 'PUT', SERVER, fill):
        result = placement(
            f'resource provider allocation claim {SERVER} {OWNED} --resource VGPU=2 '
            '--consumer-type INSTANCE'
        )
    assert result.status == 0, result
    assert allocated(client, SERVER) == by_uuid({'compute1_gpu1': {'VGPU': 2}})
    assert allocation.show(client, SERVER).value.type == 'INSTANCE'
    command = f'resource provider allocation claim {MIGRATION} {OWNED} --resource VGPU=1'
    none = placement(command)
    assert (none.status, 'allocation candidate explain says why' in none.stderr) == (4, True)


def test_claim_fails_when_no_candidate_is_granted(client, placement):
    build(client)

    def fill():
        for free in ['compute0_gpu0', 'compute0_gpu1', 'compute1_gpu0', 'compute1_gpu1']:
            allocation.set(client, holder(f'rival of {free}', {free: {'VGPU': 2}}))

    with disturbed(client, 'PUT', SERVER, fill):
        result = placement(f'resource provider allocation claim {SERVER} {OWNED} --resource VGPU=1')
    assert (result.status, allocated(client, SERVER)) == (1, {})
    assert 'None of the 4 candidates was granted' in result.stderr


def resized(placement, arguments):
    return placement(f'resource provider allocation resize {SERVER} {arguments}')


@pytest.mark.parametrize('kind', ['INSTANCE', None])
def test_resize_changes_amounts_and_keeps_everything_else(client, placement, kind):
    build(client, holder('server', ALLOCATED, kind))
    before = allocation.show(client, SERVER).value
    with watched(client) as requests:
        result = resized(placement, '--resource VCPU=4 --resource MEMORY_MB=256 -f json')
    assert result.status == 0, result
    after = by_uuid(ALLOCATED | {'compute0': {'VCPU': 4, 'MEMORY_MB': 256}})
    assert allocated(client, SERVER) == after
    rows = json.loads(result.stdout)
    assert {row['resource_provider']: row['resources'] for row in rows} == after
    consumer = allocation.show(client, SERVER).value
    assert (consumer.project_id, consumer.user_id, consumer.type) == (
        before.project_id,
        before.user_id,
        before.type,
    )
    assert [method for method, _ in requests if method != 'GET'] == ['PUT']
    again = resized(placement, '--resource VCPU=4')
    assert (again.status, 'holds these amounts already: nothing was done' in again.stderr) == (
        0,
        True,
    )


@pytest.mark.parametrize('mode', ['', ' --dry-run', ' --plan plan.json'])
@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        ('--resource VCPU=17', 'does not grant 17 VCPU at once (max_unit 16)'),
        ('--resource MEMORY_MB=300', 'does not grant 300 MEMORY_MB at once ('),
        ('--resource DISK_GB=500', 'storage has no room: 490 DISK_GB needed, 489 free'),
        (
            '--resource VGPU=1',
            'does not hold VGPU, and resize adds no class\nNext: "allocation set" replaces all '
            'that it holds, so name all of it: placement resource provider allocation set '
            f'{SERVER} --allocation rp=',
        ),
        (
            '--resource VCPUS=5',
            'does not hold VCPUS. Did you mean "VCPU"? Resize adds no class\n',
        ),
        (
            '--resource MEMORY_MB=0.25GB',
            'Requested resource MEMORY_MB expected positive integer amount. Got: 0.25GB. '
            'MEMORY_MB=0.25GB: give a whole number of MiB, without a unit: MEMORY_MB=256',
        ),
        ('--resource VCPU=0', f'use {{}} allocation unset {SERVER} --resource-class VCPU'),
        ('--resource DISK_GB=1 --provider compute0', 'does not hold DISK_GB on compute0'),
        ('--resource VCPU=3 --generation 9', 'The generation is 1, not 9'),
    ],
)
def test_resize_refuses_what_the_provider_cannot_grant_before_it_sends_anything(
    client, placement, tmp_path, monkeypatch, arguments, sentence, mode
):
    monkeypatch.chdir(tmp_path)
    others = (
        holder('other', {'storage': {'DISK_GB': 500}}),
        holder('more', {'storage': {'DISK_GB': 1}}),
    )
    build(client, holder('server', ALLOCATED), *others)
    with watched(client) as requests:
        result = resized(placement, arguments + mode)
    assert (result.status, sentence.format('placement resource provider') in result.stderr) == (
        1,
        True,
    ), result
    assert {method for method, _ in requests} <= {'GET'}
    assert allocated(client, SERVER) == by_uuid(ALLOCATED)
    assert not (tmp_path / 'plan.json').exists()


def test_resize_needs_a_provider_where_several_have_the_class(client, placement):
    gpus = {'compute0_gpu0': {'VGPU': 1}, 'compute0_gpu1': {'VGPU': 1}}
    build(client, holder('server', gpus))
    refused = resized(placement, '--resource VGPU=2')
    assert refused.status == 1
    assert (
        'holds VGPU on compute0_gpu0, compute0_gpu1: choose one with --provider' in refused.stderr
    )
    assert resized(placement, '--resource VGPU=2 --provider compute0_gpu1').status == 0
    assert allocated(client, SERVER) == by_uuid(gpus | {'compute0_gpu1': {'VGPU': 2}})


@pytest.mark.parametrize(
    ('command', 'after'),
    [
        (f'move {SERVER} --from compute0 --to compute1', ALLOCATED['compute0']),
        (f'resize {SERVER} --resource VCPU=4', None),
    ],
)
@pytest.mark.parametrize('kind', ['INSTANCE', None])
def test_plans_of_move_and_resize_are_applied_verified_and_rolled_back(
    client, placement, tmp_path, command, after, kind
):
    build(client, holder('server', ALLOCATED, kind))
    path = tmp_path / 'plan.json'
    line = f'resource provider allocation {command}'
    dry = placement(f'{line} --dry-run -f json')
    assert dry.status == 3, dry
    (row,) = json.loads(dry.stdout)
    assert (row['object'], row['before']['compute0']) == (
        f'consumer {SERVER}',
        ALLOCATED['compute0'],
    )
    assert allocated(client, SERVER) == by_uuid(ALLOCATED)
    written = placement(f'{line} --plan {path}')
    assert (written.status, written.stdout.count('compute0') > 0) == (0, True), written
    assert allocated(client, SERVER) == by_uuid(ALLOCATED)
    run = 'resource provider reshape'
    assert placement(f'{run} apply {path} --yes').status == 0
    desired = {'compute1': after} if after else {'compute0': {'VCPU': 4, 'MEMORY_MB': 512}}
    assert allocated(client, SERVER) == by_uuid({'storage': ALLOCATED['storage']} | desired)
    assert placement(f'{run} verify {path}').status == 0
    assert placement(f'{run} rollback {path} --yes').status == 0
    assert allocated(client, SERVER) == by_uuid(ALLOCATED)
    assert allocation.show(client, SERVER).value.type == kind


def test_move_writes_no_plan_where_there_is_no_room(client, placement):
    full = holder('other', {'compute1': {'VCPU': 16, 'MEMORY_MB': 64256}})
    build(client, holder('server', ALLOCATED), full)
    result = placement(
        f'resource provider allocation move {SERVER} --from compute0 --to compute1 --dry-run'
    )
    assert (
        result.status,
        'compute1 has no room: 512 MEMORY_MB needed, 256 free' in result.stderr,
    ) == (
        1,
        True,
    ), result
