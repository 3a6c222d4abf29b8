# SPDX-License-Identifier: Apache-2.0
"""One tree or several, what goes wrong while they are carried out, and how each ends."""

import functools
import re

import pytest
from keystoneauth1 import exceptions
from msgspec import structs

from placementclient.api import allocation, attempts, resource_provider, trait
from placementclient.basis.errors import ExitStatus
from placementclient.model.outcomes import PlanStatus, TreeState
from placementclient.reading import scope
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import disturbed, uuid_of
from tests.functional.test_reshape_drift import (
    ROOT,
    add_trait,
    allocate,
    free,
    resize,
    touch,
)
from tests.unit.dialogue import Reply, fault

DONE, LEFT, FAILED = TreeState.APPLIED, TreeState.LEFT_ALONE, TreeState.FAILED


def made(client, children=1, hosts=1, servers=2):
    """A plan that moves the VGPU of hosts to children."""
    before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=servers))
    return clouds.plan_of(before, children, moved_trait=True)


def rename(client, name='another'):
    resource_provider.set(client, ROOT, name)
    touch(client)  # no generation guards the name


def occupy(client):
    """Somebody else's provider has the name of a child."""
    resource_provider.create(client, 'compute0_gpu0', uuid=uuid_of('another'))


@pytest.mark.parametrize(
    ('disturb', 'part', 'reason', 'children'),
    [
        (allocate('new', 1), '/reshaper', 'not decided', 2),
        (rename, '/reshaper', 'is called another now', 1),
        (occupy, '/resource_providers', 'exists elsewhere', 1),
    ],
)
def test_apply_leaves_a_tree_alone_that_others_change_between_its_requests(
    client, path, disturb, part, reason, children
):
    plan, number = made(client, children), 2 if part == '/reshaper' else 1
    with disturbed(client, 'POST', part, functools.partial(disturb, client), number=number):
        (result,) = engines.apply(client, plan, path).trees
    assert (result.state, reason in result.reason) == (LEFT, True), result
    live = clouds.captured(client)
    assert not live.children(ROOT)
    assert 'VGPU' in live.providers[ROOT].inventories


def test_a_tree_whose_reshape_is_refused_fails(client, path):
    plan, reply = made(client), fault(409, 'no room')
    with disturbed(client, 'POST', '/reshaper', times=9, number=2, reply=reply):
        (result,) = engines.apply(client, plan, path).trees
    assert (result.state, 'no room' in result.reason) == (FAILED, True)
    assert not clouds.captured(client).children(ROOT)


def test_apply_leaves_a_tree_alone_that_others_change_all_the_time(client, path, monkeypatch):
    monkeypatch.setattr(attempts, 'DEADLINE', 0.5)
    plan, busy = made(client), functools.partial(touch, client)
    with disturbed(client, 'POST', '/reshaper', busy, times=99, number=2):
        (result,) = engines.apply(client, plan, path).trees
    assert (result.state, 'generation conflict' in result.reason) == (LEFT, True)
    assert not clouds.captured(client).children(ROOT)


def test_apply_reads_back_where_consumers_are_after_the_reshape(client, path):
    """Somebody puts a consumer elsewhere between the reshape and the look at what became of it."""
    plan = made(client, 2)
    one, other = (change.uuid for change in plan.changes[0].list_created_providers())

    def misplace():
        consumer = clouds.captured(client).consumers_on(one)[0]
        allocations = dict(consumer.allocations)
        allocations[other] = allocations.pop(one)
        allocation.set(client, structs.replace(consumer, allocations=allocations))

    with disturbed(client, 'GET', '/allocations/', misplace):
        outcome = engines.apply(client, plan, path)
    assert outcome.trees[0].state is FAILED
    assert outcome.trees[0].reason.startswith('verification: consumer ')
    assert outcome.exit_status is ExitStatus.DIFFERS


def test_apply_reads_back_inventories_where_no_allocation_moves(client, path):
    plan = made(client, 2, servers=0)
    gpu = next(plan.changes[0].list_created_providers())
    shrink = functools.partial(resize(1, gpu.uuid), client)
    with disturbed(client, 'GET', f'{gpu.uuid}/inventories', shrink):
        (result,) = engines.apply(client, plan, path).trees
    assert result.state is FAILED
    assert result.reason.startswith(f'verification: the inventory of VGPU on {gpu.name} is not')


@pytest.mark.parametrize(
    ('error', 'message'),
    [
        (exceptions.ServiceUnavailable('Keystone is away'), 'Keystone is away'),
        (ZeroDivisionError('nobody thought of this'), 'ZeroDivisionError: nobody thought of this'),
    ],
)
def test_a_run_that_ends_early_reports_all_trees(client, path, monkeypatch, error, message):
    monkeypatch.setattr(attempts, 'DEADLINE', 0.5)
    plan = made(client, hosts=3)

    def disturb():
        raise error

    with disturbed(client, 'POST', '/reshaper', disturb, times=9999, number=3):
        outcome = engines.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [DONE, FAILED, TreeState.NOT_STARTED]
    assert outcome.exit_status is ExitStatus.PARTIAL
    assert message in str(outcome.stopped)
    assert engines.apply(client, plan, path).exit_status is ExitStatus.DONE


def test_status_repeats_why_a_tree_was_left_alone(client, path):
    plan = made(client, hosts=2)
    change = functools.partial(rename, client)
    with disturbed(client, 'POST', '/reshaper', change, number=2):
        left = engines.apply(client, plan, path).trees[0]
    assert left.state is LEFT

    def status():
        first, second = engines.status(client, plan, journal_path=path)
        assert second.status is PlanStatus.APPLIED
        return first.status, first.is_left_alone, first.reason

    assert status() == (PlanStatus.DIFFERS, True, f'left alone: {left.reason}')
    rename(client, 'compute0')
    resize(9)(client)
    state, is_left_alone, reason = status()
    assert (state, is_left_alone) == (PlanStatus.DIFFERS, True)
    assert reason.startswith('the inventories of compute0 have changed; left alone at 20')
    resize(8)(client)
    state, is_left_alone, reason = status()
    assert (state, is_left_alone) == (PlanStatus.PENDING, False)
    message = re.escape(left.reason)
    assert re.fullmatch(f'apply tries this tree again; left alone at 20.+: {message}', reason)
    assert engines.apply(client, plan, path).trees[0].state is DONE


GONE_NOW = fault(404, 'no such provider')


@pytest.mark.parametrize(
    ('part', 'reply', 'times'),
    [
        (f'{ROOT}/inventories', GONE_NOW, 1),
        # It changes at each of the readings of the first look.
        (f'{ROOT}/allocations', None, 5),
    ],
)
def test_a_provider_that_goes_or_changes_while_all_trees_are_looked_at_ends_nothing(
    client, path, part, reply, times
):
    plan = made(client, hosts=2)
    add_trait(client)
    disturb = functools.partial(touch, client) if reply is None else lambda: None
    with disturbed(client, 'GET', part, disturb, times, reply=reply):
        outcome = engines.apply(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [DONE, DONE], outcome


@pytest.mark.parametrize(
    ('reply', 'outcome'), [(Reply(502), 'not known: '), (fault(409, 'no'), 'refused: ')]
)
def test_the_journal_tells_a_refusal_from_what_is_not_known(client, path, reply, outcome):
    plan = made(client)
    with disturbed(client, 'POST', '/reshaper', number=2, reply=reply):
        engines.apply(client, plan, path)
    with open(path) as lines:
        assert sum(f'"outcome":"{outcome}' in line for line in lines) == 1


def test_rollback_writes_nothing_for_a_tree_that_apply_left_alone(client, path):
    plan = made(client)
    resize(5)(client)
    assert engines.apply(client, plan, path).trees[0].state is LEFT
    with clouds.watched(client) as requests:
        outcome = engines.rollback(client, plan, path)
    assert [tree.state for tree in outcome.trees] == [TreeState.ALREADY_BACK]
    assert outcome.exit_status is ExitStatus.DONE
    assert {method for method, url in requests if url != '/reshaper'} == {'GET'}


@pytest.mark.parametrize(('hosts', 'lists'), [(2, 2), (3, 1)])
def test_many_trees_are_listed_with_one_request(client, path, monkeypatch, hosts, lists):
    monkeypatch.setattr(scope, '_MANY', 3)
    plan = made(client, children=2, hosts=hosts)

    def listed(run):
        with clouds.watched(client) as requests:
            results = run()
        assert lists == sum(
            method == 'GET' and url.partition('?')[0] == '/resource_providers'
            for method, url in requests
        )
        return results

    outcome = listed(lambda: engines.apply(client, plan, path))
    assert {result.state for result in outcome.trees} == {DONE}
    states = listed(lambda: engines.status(client, plan))
    assert {tree.status for tree in states} == {PlanStatus.APPLIED}


@pytest.mark.parametrize('disturb', [touch, free, occupy])
def test_apply_notices_changes_after_the_list_of_all_trees(client, tmp_path, monkeypatch, disturb):
    before, ends = clouds.cloud(servers=2), []
    for many in (1, 99):
        monkeypatch.setattr(scope, '_MANY', many)
        clouds.emptied(client)
        plan = clouds.plan_of(clouds.loaded(client, before), 1, moved_trait=True)
        act = functools.partial(disturb, client)
        with disturbed(client, 'GET', f'{ROOT}/inventories', act):
            outcome = engines.apply(client, plan, str(tmp_path / f'journal{many}'))
        ends.append([(result.state, result.reason) for result in outcome.trees])
    assert ends[0] == ends[1]


PARTS = ('inventories', 'allocations')


@pytest.mark.parametrize(('children', 'servers', 'number'), [(2, 4, 10), (4, 2, 13), (2, 0, 9)])
def test_apply_sends_no_request_without_a_reason(client, path, children, servers, number):
    """Each gives a guarantee: ``benchmarks/apply.py`` says which."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(servers=servers)), children)
    with clouds.watched(client) as requests:
        engines.apply(client, plan, path)
    host, *made = (f'/resource_providers/{change.uuid}' for change in plan.changes[0].providers)
    consumers, looks = plan.changes[0].consumers, 2 if servers else 1
    if not servers:
        back = [f'GET {provider}/inventories' for provider in (host, *made)]
    elif children < servers:
        back = [f'GET {provider}/allocations' for provider in (host, *made)]
    else:
        back = [f'GET /allocations/{consumer.uuid}' for consumer in consumers]
    of_tree = [
        *(f'GET {host}/{part}' for part in PARTS[:looks]),
        *['POST /resource_providers'] * children,
        *(f'PUT {child}/traits' for child in made),
        'POST /reshaper',
        *back,
    ]
    of_run = ['POST /reshaper', 'GET /resource_providers', 'PUT /traits/CUSTOM_GPU']
    sent = [f'{method} {url.partition("?")[0]}' for method, url in requests]
    assert sent == [*of_run[:2], *of_tree[:looks], of_run[2], *of_tree[looks:]]
    assert len(of_tree) == number


def mark(client, uuid):
    """Let another operator add a trait to a provider."""
    traits = trait.list_of_provider(client, uuid)
    assert traits.generation is not None
    trait.set_on_provider(client, uuid, [*traits.value, 'HW_CPU_X86_SSE'], traits.generation)


def test_rollback_leaves_a_child_alone_that_others_have_changed(client, path):
    plan = made(client)
    (child,) = plan.changes[0].list_created_providers()
    engines.apply(client, plan, path)
    mark(client, child.uuid)
    (result,) = engines.rollback(client, plan, path).trees
    assert (result.state, 'HW_CPU_X86_SSE' in result.reason) == (LEFT, True), result
    assert 'VGPU' in clouds.captured(client).providers[child.uuid].inventories


def test_a_prepared_child_stays_when_others_have_changed_it(client, path):
    plan = made(client)
    (child,) = plan.changes[0].list_created_providers()

    def disturb():
        resize(5)(client)
        mark(client, child.uuid)

    with disturbed(client, 'POST', '/reshaper', disturb, number=2):
        (result,) = engines.apply(client, plan, path).trees
    assert result.state is TreeState.DONE_IN_PART
    assert 'its preparation was not undone' in result.reason
    assert f'{child.name} created' in result.reason
    assert child.uuid in clouds.captured(client).providers


def test_rollback_leaves_a_tree_alone_whose_root_is_gone(client, path):
    plan = made(client, hosts=2, servers=0)
    engines.apply(client, plan, path)
    for consumer in clouds.captured(client).consumers_on(ROOT):
        allocation.delete(client, consumer.uuid)
    for change in reversed(plan.changes[0].providers):
        resource_provider.delete(client, change.uuid)
    first, second = engines.rollback(client, plan, path).trees
    assert (first.state, second.state) == (LEFT, TreeState.ROLLED_BACK)
    assert 'No resource provider has the UUID' in first.reason
