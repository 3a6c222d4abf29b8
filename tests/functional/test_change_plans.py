# SPDX-License-Identifier: Apache-2.0
"""Plans of changes on the real service: killed anywhere, beside others, taken back."""

import json
from contextlib import contextmanager
from random import Random

import pytest
from keystoneauth1.session import Session
from msgspec.structs import replace

from placementclient.api import allocation
from placementclient.basis.errors import ExitStatus, PlacementError
from placementclient.changes.plan import make_plan as plan
from placementclient.changes.records import journals
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.model.outcomes import TreeState
from placementclient.model.snapshots import Snapshot
from placementclient.render import runs
from placementclient.runs import engines
from tests.functional import clouds
from tests.snapshot_pairs import content, pair, with_types_of


def planned(client, seed):
    """A plan between two random clouds, of which the service has the first."""
    before, after = pair(Random(seed))
    clouds.load(client, before)
    live = clouds.captured(client)
    made = plan('resource provider tree apply', live, with_types_of(live, after))
    return made, live, after


@contextmanager
def over_requests():
    """A client that reads by requests, as over HTTP, and cannot join writes."""
    with Direct.scratch() as service:
        session = Session(auth=service)
        endpoint = session.get_endpoint(service_type='placement')
        yield http.Client(session, microversion.HIGHEST, endpoint_override=endpoint)


def test_a_plan_is_written_shown_applied_verified_and_rolled_back(placement, client, tmp_path):
    trees, path = tmp_path / 'trees.yaml', str(tmp_path / 'plan.json')
    trees.write_text('name: host\ninventories: {VCPU: {total: 8}}\ntraits: [CUSTOM_A]\n')
    assert placement(f'resource provider tree apply {trees} --yes').status == 0
    before = clouds.captured(client)
    trees.write_text(
        'name: host\ninventories: {VCPU: {total: 8, allocation_ratio: 4.0}}\n'
        'children: [{name: gpu, inventories: {VGPU: {total: 2}}}]\n'
    )
    written = placement(f'resource provider tree apply {trees} --plan {path}')
    assert (written.status, content(clouds.captured(client))) == (0, content(before))
    assert written.stderr == (
        f'1 provider to create, 1 to change. The plan is in {path}\n'
        f'Next: placement resource provider reshape show {path}\n'
    )
    shown = placement(f'resource provider reshape show {path}')
    assert shown.stdout.startswith('1 provider to create, 1 to change\n')
    prefix = 'placement resource provider reshape'
    assert shown.stderr == (
        'Next:\n  1. Save a snapshot, if you have none: placement resource provider snapshot save '
        f'cloud.json\n  2. Rehearse, which changes nothing: {prefix} rehearse {path} --snapshot '
        f'cloud.json\n  3. {prefix} apply {path}\n'
    )
    assert 'before' in shown.stdout
    summary = placement(f'resource provider reshape show {path} --summary')
    assert summary.stdout == ('1 provider to create, 1 to change\n  host: 3 changes\n')
    unread = placement(f'resource provider reshape rehearse {path}')
    assert (unread.status, unread.stdout) == (2, '')
    assert 'the following arguments are required: --snapshot' in unread.stderr
    assert [state(placement, 'status', path), state(placement, 'apply', f'{path} --yes')] == [
        'pending',
        'applied',
    ]
    verified = placement(f'resource provider reshape verify {path} -f json')
    assert (verified.status, json.loads(verified.stdout)[0]['kind']) == (0, 'as planned')
    assert [state(placement, 'status', path), state(placement, 'rollback', f'{path} --yes')] == [
        'applied',
        'rolled back',
    ]
    assert content(clouds.captured(client)) == content(before)


def state(placement, command, arguments):
    result = placement(f'resource provider reshape {command} {arguments} -f json')
    assert result.status == 0, result
    (row,) = json.loads(result.stdout)
    return str(row['state'])


def ratio_plan(client):
    """A plan that changes a field of the inventory of one host, which the service has."""
    before, _ = pair(Random(5))
    clouds.load(client, before)
    live = clouds.captured(client)
    state = next(state for state in live.providers.values() if state.inventories)
    name, was = next(iter(state.inventories.items()))
    desired = replace(
        state, inventories={**state.inventories, name: replace(was, total=was.total + 7)}
    )
    after = Snapshot({**live.providers, state.uuid: desired}.values(), live.consumers.values())
    return plan('resource provider inventory set', live, after)


def test_a_server_that_moved_again_is_changed_later_where_the_journal_says_applied(
    client, tmp_path
):
    clouds.load(client, clouds.cloud(hosts=2, servers=2))
    live, path = clouds.captured(client), str(tmp_path / 'journal')
    first, second = (state.uuid for state in live.roots())
    servers = [live.consumers[clouds.uuid_of(f'server0.{number}')] for number in range(2)]
    moved = {
        server.uuid: replace(server, allocations={second: server.allocations[first]})
        for server in servers
    }
    after = Snapshot(live.providers.values(), {**live.consumers, **moved}.values())
    made = plan('resource provider allocation heal', live, after)
    engines.apply(client, made, path)
    placed = allocation.show(client, servers[0].uuid).value
    allocation.set(client, replace(placed, allocations=servers[0].allocations))
    rows = [
        [
            (row.kind, runs.judge_deviation(row))
            for row in engines.verify(client, made, journal_path=journal)
        ]
        for journal in (path, None)
    ]
    assert rows == [[('misplaced', 'changed later')], [('misplaced', 'damaged')]]


def test_a_total_below_what_is_in_use_is_a_warning(placement, client, tmp_path):
    clouds.load(client, clouds.cloud(hosts=1, servers=2))
    path = tmp_path / 'plan.json'
    edit = 'resource provider inventory set --match compute0 --amend --resource VGPU:total=1'
    used = '2 VGPU of compute0 is in use, and there would be 1'
    for more, status in (('--dry-run', 3), (f'--plan {path}', 0)):
        result = placement(f'{edit} --resource VGPU:max_unit=1 {more}')
        assert result.status == status, result.stderr
        assert (
            f'{used}. Placement grants nothing more there until enough is freed\n' in result.stderr
        )
    shown = placement(f'resource provider reshape show {path}').stdout
    assert shown.startswith('1 provider to change; 1 warning\n')
    assert shown.endswith(f'Warnings:\n  compute0: {used}\n')


def test_a_plan_is_rehearsed_and_reported(placement, client, tmp_path):
    trees, path, cloud = tmp_path / 't.yaml', str(tmp_path / 'p.json'), str(tmp_path / 'cloud.json')
    trees.write_text('name: host\ninventories: {VCPU: {total: 8}}\n')
    placement(f'resource provider tree apply {trees} --yes')
    trees.write_text('[{name: host, traits: [CUSTOM_A]}, {name: other}]')
    assert placement(f'resource provider tree apply {trees} --plan {path}').status == 0
    assert placement(f'resource provider snapshot save {cloud}').status == 0
    rehearsed = placement(f'resource provider reshape rehearse {path} --snapshot {cloud} -f json')
    stages = [(row['stage'], row['state']) for row in json.loads(rehearsed.stdout)]
    assert (rehearsed.status, stages) == (
        0,
        [
            *[('apply', 'applied')] * 2,
            ('verify', 'as planned'),
            *[('rollback', 'rolled back')] * 2,
            ('compare', 'as before'),
        ],
    )
    page = tmp_path / 'report.html'
    reported = placement(f'resource provider report --snapshot {cloud} --plan {path} -o {page}')
    assert reported.status == 0, reported.stderr
    assert 'other' in page.read_text()


def test_a_rollback_gives_nothing_to_a_consumer_that_ended_before_the_plan_was_applied(
    client, tmp_path
):
    before, _ = pair(Random(0))
    clouds.load(client, before)
    live = clouds.captured(client)
    made = plan('resource provider purge', live, Snapshot([], []))
    ended = next(iter(live.consumers.values()))
    allocation.delete(client, ended.uuid)
    path = str(tmp_path / 'journal')
    for act in (engines.apply, engines.rollback):
        outcome = act(client, made, path)
        assert outcome.exit_status is ExitStatus.DONE, outcome
    back = clouds.captured(client)
    assert back.consumers.keys() == live.consumers.keys() - {ended.uuid}
    assert back.providers.keys() == live.providers.keys()


def test_a_journal_of_unknown_operations_is_damaged(client, tmp_path):
    made, path = ratio_plan(client), tmp_path / 'journal'
    engines.apply(client, made, str(path))
    with path.open('rb+') as journal:
        for entry in journals.decode(journal.read(), str(path)).entries:
            if entry.intent is not None:
                intent = {**entry.intent, 'operation': 'SetNothing'}
                journal.write(journals.encode(replace(entry, intent=intent)))
    with pytest.raises(PlacementError, match=r'journal of the plan is damaged: .SetNothing'):
        engines.status(client, made, journal_path=str(path))


@pytest.mark.parametrize('lost', ['', 'sent'], ids=['refused', 'refused and the answer lost'])
def test_a_rollback_gives_nothing_back_that_another_client_moved_before_the_request(tmp_path, lost):
    """The journal has a request that was not carried out, for all of its consumers."""
    path = str(tmp_path / 'journal')
    with over_requests() as client:
        clouds.load(client, clouds.cloud())
        live = clouds.captured(client)
        made = plan('resource provider purge', live, Snapshot([], []))
        moved = live.consumers[clouds.uuid_of('server0.1')]

        def move():
            allocation.delete(client, moved.uuid)
            allocation.set(client, replace(moved, uuid=clouds.uuid_of('new'), generation=None))

        with clouds.disturbed(client, 'POST', '/allocations', move, lost=lost):
            outcome = engines.apply(client, made, path)
        assert outcome.exit_status is ExitStatus.DIFFERS
        engines.rollback(client, made, path)
        assert moved.uuid not in clouds.captured(client).consumers


def test_a_rollback_of_a_request_that_never_arrived_is_a_rollback(client, tmp_path):
    made, path = ratio_plan(client), str(tmp_path / 'journal')

    def interrupt():
        raise KeyboardInterrupt

    with clouds.disturbed(client, 'PUT', '/inventories', interrupt):
        assert engines.apply(client, made, path).stopped is not None
    [tree] = engines.rollback(client, made, path).trees
    assert tree.state is TreeState.ROLLED_BACK


def test_a_consumer_that_keeps_what_a_plan_frees_is_no_success(client, tmp_path):
    live = clouds.loaded(client, clouds.cloud())
    kept = live.consumers[clouds.uuid_of('server0.1')]
    others = (consumer for consumer in live.consumers.values() if consumer is not kept)
    made = plan('resource provider audit --fix', live, Snapshot(live.providers.values(), others))
    allocation.set(client, replace(kept, project_id='another'), replaces_owner=True)
    outcome = engines.apply(client, made, str(tmp_path / 'journal'))
    assert outcome.exit_status is ExitStatus.DIFFERS
