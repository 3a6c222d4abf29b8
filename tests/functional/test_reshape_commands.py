# SPDX-License-Identifier: Apache-2.0
"""The reshape as an operator types it, on the cloud of the demo."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from msgspec import structs

from placementclient.basis import errors
from placementclient.files import disk
from placementclient.model.snapshots import Origin, Snapshot
from placementclient.nova import service
from placementclient.runs import storage
from tests.documents import document
from tests.functional import clouds
from tests.functional.conftest import process

PREFIX = 'resource provider reshape'
PLAN = f'{PREFIX} plan --spec vgpu.yaml --snapshot cloud.json -o plan.json'
CARDS = ('compute1_pci_0000_84_00_0', 'compute1_pci_0000_85_00_0')


@pytest.fixture
def cloud(client, placement, tmp_path, monkeypatch):
    """The demo's cloud in a real Placement, and its files in the current folder."""
    monkeypatch.chdir(tmp_path)
    with resources.as_file(resources.files('placementclient.runs') / 'demo') as folder:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    placement(f'{PREFIX} assignments --host-facts compute1 -o gpu-map.csv')
    clouds.load(client, disk.read_snapshot('cloud.json'))
    return clouds.captured(client)


def test_the_demo_ends_with_the_trees(placement):
    result = placement(f'{PREFIX} demo')
    assert result.status == 0
    before, after = result.stdout.split('# The same cloud now:')
    assert 'VGPU 6/8' in before
    assert '(exit status 5)' in before
    assert 'VGPU: 8 consumers, 5 explained, 3 unexplained' in before
    for card in CARDS:
        assert f'─ {card}  VGPU 3/4\n' in after
    amounts = 'MEMORY_MB 53248/97395 (512 reserved, ratio 1.5)  VCPU 26/768 (ratio 16)'
    assert f'compute1  DISK_GB 520/1900  {amounts}\n' in after


def test_the_demo_ends_without_traceback_when_its_reader_closes_the_pipe():
    command = f"'{sys.executable}' -m placementclient {PREFIX} demo | head -n 20"
    done = subprocess.run(['sh', '-c', command], capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stderr) == (20, '')


def test_plan_refuses_undecided_consumers_with_a_file_to_fill_in(placement, cloud):
    result = placement(f'{PLAN} --write-assignments todo.csv')
    assert result.status == errors.ExitStatus.UNDECIDED
    assert not Path('plan.json').exists()
    todo = Path('todo.csv').read_text()
    assert todo.count(',VGPU,1,,') == 5
    assert result.stderr.startswith('wrote todo.csv: 5 rows\n')
    assert result.stderr.endswith(
        'Next:\n  1. Fill in the column to_provider of todo.csv, whose comments name the choices\n'
        f'  2. Plan again: placement {PLAN} --assignments todo.csv\n'
    )
    Path('todo.csv').write_text(todo.replace(',VGPU,1,,', f',VGPU,1,{CARDS[0]},', 4))
    filled = Path('todo.csv').read_text()
    refused = placement(f'{PLAN} --write-assignments todo.csv')
    assert (refused.status, Path('todo.csv').read_text()) == (errors.ExitStatus.ERROR, filled)
    assert 'todo.csv: has filled in rows: give it to --assignments' in refused.stderr
    planned = placement(f'{PLAN} --assignments todo.csv')
    assert planned.status == errors.ExitStatus.DONE, planned
    plan = json.loads(Path('plan.json').read_text())
    labels = [row['label'] for row in plan['trees'][0]['rows']]
    assert sorted(labels) == ['forced'] + ['mapped'] * 5

    # The rows of a file replace those of a plan: the command names the files of both.
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    new = 'allocation set 11111111-1111-4111-8111-111111111111 --project-id p --user-id u'
    assert placement(f'resource provider {new} --allocation rp=compute1,VGPU=1').status == 0
    assert placement('resource provider trait add compute1 HW_NIC_SRIOV').status == 0
    again = f'{PREFIX} plan --with-trait HW_NIC_SRIOV --spec plan.json -o plan-2.json'
    result = placement(f'{again} --write-assignments rest.csv')
    steps = f'{again} --assignments rest.csv --assignments gpu-map.csv'
    assert result.stderr.endswith(f'  2. Plan again: placement {steps}\n'), result
    Path('rest.csv').write_text(Path('rest.csv').read_text().replace(',1,,', f',1,{CARDS[1]},'))
    assert placement(steps).status == 0


def test_plan_warns_of_migrations_under_way(placement, cloud):
    planned = f'{PLAN} --assignments gpu-map.csv'
    (moving,) = [uuid for uuid, consumer in cloud.consumers.items() if consumer.type is None]
    assert '1 consumer has no type, and may be part of a migration' in placement(planned).stderr
    record = {'UUID': moving, 'Server UUID': moving, 'Status': 'finished'}
    Path('migrations.json').write_text(json.dumps([record]))
    message = placement(f'{planned} --migrations migrations.json').stderr
    assert message == (
        '2 providers to create, 1 to change; 6 allocations to move; 1 warning\n'
        'compute1: migrations in progress: 2; finish them first if you can\nwrote plan.json\n'
        'Next: placement resource provider reshape show plan.json\n'
    )
    refused = placement(f'{planned} --migrations nova')
    assert (refused.status, refused.stderr) == (
        1,
        'Nova cannot be asked: there is no service catalog (auth type none or placement_direct)\n'
        'Next:\n  1. Make the list where nova answers: openstack server migration list -f json > '
        'migrations.json\n  2. Give the list: --migrations migrations.json\n',
    )


def test_a_reshape_is_rehearsed_applied_verified_and_rolled_back(placement, client, cloud):
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    assert process(f'{PREFIX} rehearse plan.json --snapshot cloud.json').status == 0
    assert placement(f'{PREFIX} apply plan.json').status == errors.ExitStatus.USAGE
    assert document(clouds.captured(client)) == document(cloud)

    assert placement(f'{PREFIX} apply plan.json --yes').status == 0
    assert placement(f'{PREFIX} verify plan.json').status == 0
    assert 'applied' in placement(f'{PREFIX} status plan.json -f value').stdout
    moved = clouds.captured(client)
    types = {uuid: consumer.type for uuid, consumer in cloud.consumers.items()}
    assert None in types.values()
    assert {uuid: consumer.type for uuid, consumer in moved.consumers.items()} == types
    host = cloud.find('compute2')
    assert host is not None
    assert moved.find('compute2') == host
    for consumer in cloud.consumers_on(host.uuid):
        assert moved.consumers[consumer.uuid] == consumer

    assert placement(f'{PREFIX} rollback plan.json --yes').status == 0
    back = clouds.captured(client)
    assert back.providers.keys() == cloud.providers.keys()
    for uuid, state in cloud.providers.items():
        assert back.providers[uuid].inventories == state.inventories
        assert back.providers[uuid].traits == state.traits
    for uuid, consumer in cloud.consumers.items():
        assert back.consumers[uuid].allocations == consumer.allocations
        assert back.consumers[uuid].type == consumer.type


def test_plan_does_not_overwrite_files_that_are_needed(placement, cloud):
    plan = f'{PLAN} --assignments gpu-map.csv'
    assert placement(plan).status == 0
    assert placement(plan).status == 0
    assert placement(f'{PREFIX} apply plan.json --yes').status == 0
    content = Path('plan.json').read_bytes()
    refused = placement(plan)
    assert (refused.status, Path('plan.json').read_bytes()) == (errors.ExitStatus.ERROR, content)
    assert placement(f'{PREFIX} rollback plan.json --yes').status == 0
    assert placement(plan) == refused
    assert refused.stderr == (
        'plan.json: was applied, as plan.json.journal says, and status and rollback need both: '
        'write the new plan to plan-2.json, or, if all trees are rolled back, begin with: '
        'rm plan.json plan.json.journal\n'
    )
    assert placement(f'{plan} --overwrite').status == 0

    content = Path('cloud.json').read_bytes()
    refused = placement('resource provider snapshot save cloud.json')
    assert (refused.status, Path('cloud.json').read_bytes()) == (errors.ExitStatus.ERROR, content)
    assert 'cloud.json: exists' in refused.stderr
    assert placement('resource provider snapshot save cloud.json --overwrite').status == 0


def test_apply_names_the_command_that_plans_a_changed_tree_again(placement, cloud):
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    shrunk = 'resource provider inventory set compute1 --amend --resource VGPU=7'
    assert placement(shrunk).status == 0
    left = placement(f'{PREFIX} apply plan.json --yes -f json')
    assert left.status == errors.ExitStatus.DIFFERS
    (tree,) = json.loads(left.stdout)
    assert (tree['tree'], tree['state']) == ('compute1', 'left alone')
    command = 'resource provider reshape plan --spec plan.json --tree compute1 -o plan-2.json'
    corrected = command.replace('plan.json', 'CORRECTED.yaml --assignments gpu-map.csv')
    grown = 'resource provider inventory set compute1 --amend --resource VGPU=8'
    steps = left.stderr[left.stderr.index('Next:') :]
    # What undoes a change of another comes last.
    first = f'  1. Plan again with a corrected specification: placement {corrected}\n'
    assert steps.startswith(
        f'Next:\n{first}  2. Or, unless that was on purpose, set it back. compute1 has '
    )
    assert f'compute1 has 7 VGPU now; the plan moves 8: placement {grown}\n' in steps
    assert steps.count('VGPU now') == 1
    assert 'are moved off' not in steps
    assert 'Then apply again: placement resource provider reshape apply plan.json\n' in steps
    again = placement(f'{PREFIX} status plan.json -f json')
    assert again.status == errors.ExitStatus.DIFFERS
    assert json.loads(again.stdout)[0]['reason'] == f'left alone: {tree["reason"]}'
    assert corrected in again.stderr
    # The eight of the old plan's specification are not there any more.
    anew = placement(command)
    assert (anew.status, 'which has 7' in anew.stderr) == (1, True), anew
    assert placement(grown).status == 0
    assert placement(command).status == 0
    assert placement(f'{PREFIX} apply plan-2.json --yes').status == 0


def test_a_plan_that_was_made_of_another_service_says_so(placement, cloud):
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    plan = storage.read_plan('plan.json')
    elsewhere = Origin('2026-11-01T22:00:00+00:00', 'https://elsewhere/placement', 'test')
    storage.write_plan('plan.json', replace(plan, origin=elsewhere))
    unconfirmed = placement(f'{PREFIX} apply plan.json')
    applied = placement(f'{PREFIX} apply plan.json --yes')
    assert (unconfirmed.status, applied.status) == (2, 0)
    extent, warning, planned, here, *_ = applied.stderr.splitlines()
    assert extent == '2 providers to create, 1 to change; 6 allocations to move; 2 warnings'
    assert warning == 'WARNING: the plan was made on another Placement'
    assert planned == (
        '  planned on https://elsewhere/placement, the state of 2026-11-01T22:00:00+00:00'
    )
    assert here.startswith('  applied on sqlite:')
    assert unconfirmed.stderr.splitlines() == [
        *(extent, warning, planned, here),
        'Apply plan.json to 1 tree? This is not a terminal: use --yes to confirm',
    ]


def test_each_run_says_what_it_does_and_not_what_earlier_runs_did(placement, cloud, client):
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    printed = {
        step: placement(f'{PREFIX} {step.split()[0]} plan.json {options}').stderr.splitlines()
        for step, options in (
            ('apply', '--yes'),
            ('apply again', '--yes'),
            ('apply unconfirmed', ''),
            ('rollback', '--yes'),
            ('rollback again', '--yes'),
            ('verify', ''),
        )
    }
    assert printed['apply'][0].startswith('2 providers to create, 1 to change')
    assert printed['apply again'][0] == '1 already applied'
    assert printed['apply again'][-1] == f'Next: placement {PREFIX} verify plan.json'
    said = 'plan.json.journal says that all is applied already'
    assert printed['apply unconfirmed'][0] == said
    assert printed['rollback'][-1] == '1 rolled back'
    assert printed['rollback again'] == ['1 already rolled back']
    assert printed['verify'] == ['1 rolled back']
    clouds.emptied(client)
    elsewhere = placement(f'{PREFIX} rollback plan.json --yes')
    assert (elsewhere.status, 'None of the trees of the plan' in elsewhere.stderr) == (1, True)


def test_apply_refuses_a_service_that_has_none_of_the_trees(placement, cloud, client):
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    clouds.emptied(client)
    for command in ('apply', 'rollback'):
        refused = placement(f'{PREFIX} {command} plan.json --yes')
        assert (refused.status, refused.stdout) == (1, '')
        assert 'None of the trees of the plan exists here\n' in refused.stderr
        assert refused.stderr.endswith('if it is this one, give --other-service\n')
        assert not Path('plan.json.journal').exists()
    left = placement(f'{PREFIX} apply plan.json --yes --other-service -f json')
    assert left.status == errors.ExitStatus.DIFFERS
    assert json.loads(left.stdout)[0]['reason'] == 'compute1 does not exist any more'


def test_a_nova_compute_that_is_up_is_asked_about(placement, cloud, client, monkeypatch):
    live = f'{PREFIX} plan --spec vgpu.yaml --assignments gpu-map.csv -o plan.json'
    assert 'nova-compute' not in placement(live).stderr
    up = [{'host': 'compute1.lab.test', 'state': 'up'}, {'host': 'compute2', 'state': 'up'}]
    monkeypatch.setattr(service, 'compute_services', lambda client: up)
    warning = (
        'nova-compute is up on compute1 (as compute1.lab.test): it reports its inventory every '
        'minute and undoes the reshape. Stop it '
    )
    planned = placement(live)
    assert (planned.status, f'{warning}before the plan is applied\n' in planned.stderr) == (0, True)
    # A plan of a snapshot asks nobody.
    assert 'nova-compute' not in placement(f'{PLAN} --assignments gpu-map.csv').stderr
    refused = placement(f'{PREFIX} apply plan.json --yes')
    assert (refused.status, refused.stderr) == (2, f'{warning}there, or give --compute-is-up\n')
    assert document(clouds.captured(client)) == document(cloud)
    monkeypatch.setitem(up[0], 'state', 'down')
    assert placement(f'{PREFIX} apply plan.json --yes').status == 0
    monkeypatch.setitem(up[0], 'state', 'up')
    assert placement(f'{PREFIX} apply plan.json --yes --compute-is-up').status == 0


def test_an_edited_plan_does_not_change_owners(placement, cloud, client):
    """An edited plan does not hand consumers over: the embedded service reads who owns them."""
    assert placement(f'{PLAN} --assignments gpu-map.csv').status == 0
    plan = storage.read_plan('plan.json')
    (change,) = plan.changes
    before, after = (
        Snapshot(
            side.providers.values(),
            (structs.replace(consumer, project_id='thief') for consumer in side.consumers.values()),
        )
        for side in (change.before, change.after)
    )
    stolen = replace(change, before=before, after=after)
    storage.write_plan('plan.json', replace(plan, changes=(stolen,)))
    assert placement(f'{PREFIX} apply plan.json --yes').status == 0
    live = clouds.captured(client).consumers
    for uuid, consumer in cloud.consumers.items():
        assert live[uuid].project_id == consumer.project_id


@pytest.mark.parametrize('text', ['moves: []', '[]', 'trees: {name: [compute1]}'])
def test_a_specification_that_moves_nothing_fails_no_playbook(placement, cloud, text):
    Path('nothing.yaml').write_text(text)
    for _ in range(2):
        result = placement(f'{PREFIX} plan --spec nothing.yaml -o plan.json')
        assert (result.status, result.stderr) == (
            0,
            'Nothing to change: the plan has no trees\nwrote plan.json\n',
        )
        result = placement(f'{PREFIX} apply plan.json --yes -f json')
        assert (result.status, result.stdout) == (0, '[]\n')
    assert not Path('plan.json.journal').exists()


def test_a_service_without_reshaper_is_named_before_anything_else(placement, cloud):
    result = placement(
        f'{PREFIX} plan --spec vgpu.yaml --assignments gpu-map.csv -o plan.json',
        microversion='1.29',
    )
    assert result.stderr.startswith('Microversion 1.29 has no reshaper, which came with 1.30')
