"""One tree or several, the state that they are in, what goes wrong, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
from keystoneauth1 import exceptions
from msgspec import structs

from placementclient.api import attempts
from placementclient.changes import comparison
from placementclient.client import errors
from placementclient.client.errors import ExitStatus
from placementclient.model.outcomes import State, Status
from placementclient.model.snapshots import Snapshot
from placementclient.reading import scope
from placementclient.reading.capture import capture
from placementclient.reshape import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.unit.dialogue import Reply, fault
from tests.unit.reshape.memory import Fault, Placement

ROOT, GONE, NEW = uuid_of('compute0'), uuid_of('server0.1'), uuid_of('new')


def made(children=1, hosts=1):
    """A service with hosts, and a plan that moves their VGPU to children."""
    placement = Placement(clouds.cloud(hosts=hosts, servers=2))
    plan = clouds.plan_of(capture(placement.client()), children, moved_trait=True)
    placement.requests.clear()
    return placement, plan


def lost(part, method='POST', **settings):
    return Fault(method, part, is_lost=True, **settings)


def at(disturb, part, method='POST'):
    # The first POST /reshaper is the question whether it is allowed.
    return Fault(method, part, 2 if part == '/reshaper' else 1, before=disturb)


def touch(placement):
    placement.providers[ROOT].generation += 1


def trait(placement):
    placement.providers[ROOT].traits.add('HW_CPU_X86_SSE')
    touch(placement)


def free(placement):
    placement.consumers.pop(GONE, None)


def allocate(placement):
    server = clouds.server('new', 'compute0', 1)
    held = {rp: dict(resources) for rp, resources in server.allocations.items()}
    if 'VGPU' in placement.providers[ROOT].inventories and NEW not in placement.consumers:
        placement.consumers[NEW] = replace(placement.consumers[GONE], allocations=held)
        touch(placement)


def shrink(placement):
    placement.providers[ROOT].inventories['VGPU'] |= {'total': 5}
    touch(placement)


def rename(placement):
    placement.providers[ROOT].name = 'another'
    touch(placement)


def occupy(placement):
    """Somebody else's provider has the name of a child."""
    other = uuid_of('elsewhere')
    placement.providers[other] = replace(
        placement.providers[ROOT], uuid=other, root=other, name='compute0_gpu0'
    )


def busy(placement):
    """The root changes each time that it is looked at."""
    touch(placement)


MANY = 99
DONE, LEFT, FAILED = State.APPLIED, State.LEFT_ALONE, State.FAILED


@dataclass(frozen=True)
class Case:
    """How a tree ends in which something happens.

    :param reshapes: how often the reshape is sent; MANY: until the time is over
    """

    name: str
    faults: tuple[Fault, ...]
    state: State
    reason: str = ''
    reshapes: int = 1
    children: int = 1


CASES = (
    Case('nothing happens', (), DONE),
    Case('create: not sent', (lost('/resource_providers'),), DONE),
    Case('create: answer lost', (lost('/resource_providers', is_sent=True),), DONE),
    Case('traits: not sent', (lost('/traits', 'PUT'),), DONE),
    Case('traits: answer lost', (lost('/traits', 'PUT', number=2, is_sent=True),), DONE),
    Case('reshape: not sent', (lost('/reshaper', number=2),), DONE, reshapes=2),
    Case('reshape: answer lost', (lost('/reshaper', number=2, is_sent=True),), DONE),
    Case('reshape: a gateway', (Fault('POST', '/reshaper', 2, answer=Reply(504)),), DONE, '', 2),
    Case('a trait of others, before', (at(trait, '/resource_providers'),), DONE, '', 2),
    Case('the generation moves', (at(touch, '/reshaper'),), DONE, '', 2),
    Case('freed', (at(free, '/reshaper'),), DONE, 'planned again', 2),
    Case('a newcomer', (at(allocate, '/reshaper'),), DONE, 'planned again', 2),
    Case('a newcomer with a choice', (at(allocate, '/reshaper'),), LEFT, 'impossible', 1, 2),
    Case('another inventory', (at(shrink, '/reshaper'),), LEFT, 'inventories of compute0', 1),
    Case('another name', (at(rename, '/reshaper'),), LEFT, 'is called another now', 1),
    Case('a name taken', (at(occupy, '/resource_providers'),), LEFT, 'exists elsewhere', 0),
    Case(
        'refused for good', (Fault('POST', '/reshaper', 2, 9, answer=fault(409, 'no room')),),
        FAILED, 'no room', 2,
    ),
    Case(
        'always somebody', (Fault('POST', '/reshaper', 2, 9999, before=busy),),
        LEFT, 'generation conflict', MANY,
    ),
)  # fmt: skip


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
def test_a_tree(case, tmp_path, monkeypatch):
    if case.reshapes == MANY:
        monkeypatch.setattr(attempts, 'DEADLINE', 0.5)
    placement, plan = made(case.children)
    placement.faults += case.faults
    (result,) = engines.apply(placement.client(), plan, str(tmp_path / 'journal')).trees
    assert (result.state, case.reason in result.reason) == (case.state, True), result
    sent = placement.writes().count('POST /reshaper') - 1
    assert sent > 1 if case.reshapes == MANY else sent == case.reshapes
    children = [each for each in placement.providers.values() if each.parent == ROOT]
    root = placement.providers[ROOT]
    if case.state is State.APPLIED:
        assert [each.inventories['VGPU']['total'] for each in children] == [8]
        assert 'VGPU' not in root.inventories
        assert ('HW_CPU_X86_SSE' in root.traits) == case.name.startswith('a trait')
        held = [each.allocations for each in placement.consumers.values()]
        assert not any('VGPU' in each[ROOT] for each in held)
        assert sum('VGPU' in each.get(children[0].uuid, {}) for each in held) == (
            len(placement.consumers) - 1
        )
    else:
        assert children == []
        assert 'VGPU' in root.inventories


@pytest.mark.parametrize('number', range(1, 6))
@pytest.mark.parametrize('is_sent', [False, True])
def test_a_tree_on_its_way_back(number, is_sent, tmp_path):
    placement, plan = made()
    before, path = capture(placement.client()), str(tmp_path / 'journal')
    engines.apply(placement.client(), plan, path)
    placement.faults += [
        lost('', method, number=number + (method == 'POST'), is_sent=is_sent)
        for method in ('POST', 'PUT', 'DELETE')
    ]
    (result,) = engines.rollback(placement.client(), plan, path).trees
    assert result.state is State.ROLLED_BACK, result
    assert clouds.content(capture(placement.client())) == clouds.content(before)


@pytest.mark.parametrize('is_back', [False, True])
def test_what_was_granted_is_read_back(is_back, tmp_path):
    """Somebody puts a consumer elsewhere between the reshape and the look at what became of it."""
    placement, plan = made(2)
    path, client = str(tmp_path / 'journal'), placement.client()
    if is_back:
        engines.apply(client, plan, path)
    one, other = (change.uuid for change in plan.trees[0].created())
    there = {False: (one, other), True: (ROOT, one)}[is_back]

    def misplace(placement):
        for each in placement.consumers.values():
            if 'VGPU' in each.allocations.get(there[0], {}):
                del each.allocations[there[0]]['VGPU']
                each.allocations[there[1]] = {'VGPU': 1}
                return

    sent = len(placement.writes())
    look = len(placement.requests)

    def once(placement):
        if placement.writes()[sent:].count('POST /reshaper') == 2 and not done:
            done.append(True)
            misplace(placement)

    done: list[bool] = []
    placement.faults.append(Fault('GET', '/allocations', times=99, before=once))
    run = engines.rollback if is_back else engines.apply
    outcome = run(client, plan, path)
    assert done
    assert len(placement.requests) > look
    assert outcome.trees[0].state is State.FAILED
    assert outcome.trees[0].reason.startswith('verification: consumer ')
    assert outcome.exit_status is ExitStatus.DIFFERS


def test_a_reshape_that_moves_no_allocation_is_judged_by_its_inventories(tmp_path):
    placement = Placement(clouds.cloud(hosts=1, servers=0))
    plan = clouds.plan_of(capture(placement.client()), 2)
    gpu = next(plan.trees[0].created())

    def other(placement):
        placement.providers[gpu.uuid].inventories['VGPU'] |= {'total': 1}

    placement.faults.append(Fault('GET', f'{gpu.uuid}/inventories', before=other))
    (result,) = engines.apply(placement.client(), plan, str(tmp_path / 'journal')).trees
    assert result.state is State.FAILED
    assert result.reason.startswith(f'verification: the inventory of VGPU on {gpu.name} is not')


def no_token(placement):
    raise exceptions.ServiceUnavailable('Keystone is away')


def broken(placement):
    raise ZeroDivisionError('nobody thought of this')


@pytest.mark.parametrize(
    ('disturb', 'status', 'said'),
    [
        (no_token, ExitStatus.PARTIAL, 'Keystone is away'),
        (broken, ExitStatus.PARTIAL, 'ZeroDivisionError: nobody thought of this'),
    ],
)
def test_whatever_ends_a_run_all_trees_are_told(disturb, status, said, tmp_path, monkeypatch):
    monkeypatch.setattr(attempts, 'DEADLINE', 0.5)
    placement, plan = made(hosts=3)
    path = str(tmp_path / 'journal')
    placement.faults.append(Fault('POST', '/reshaper', 3, 9999, before=disturb))
    outcome = engines.apply(placement.client(), plan, path)
    assert [tree.state for tree in outcome.trees] == [DONE, FAILED, State.NOT_STARTED]
    assert outcome.exit_status is status
    assert said in str(outcome.stopped)
    placement.faults.clear()
    assert engines.apply(placement.client(), plan, path).exit_status is ExitStatus.DONE


def interrupted(placement, plan, path, workers):
    """Ctrl-C when the second tree has ended: it reaches the thread that waits for the workers."""
    ended = []

    def report(tree):
        ended.append(tree)
        if len(ended) == 2:
            raise KeyboardInterrupt

    return engines.apply(placement.client(), plan, path, workers=workers, report=report)


@pytest.mark.parametrize('workers', [1, 2])
def test_an_interrupted_run(workers, tmp_path):
    placement, plan = made(hosts=5)
    path = str(tmp_path / 'journal')
    outcome = interrupted(placement, plan, path, workers)
    states = [tree.state for tree in outcome.trees]
    assert set(states) == {DONE, State.NOT_STARTED}
    # What was under way has come to its end.
    assert 2 <= states.count(DONE) <= 2 + workers
    assert outcome.exit_status is ExitStatus.INTERRUPTED
    assert isinstance(outcome.stopped, errors.Interrupted)
    assert engines.apply(placement.client(), plan, path).exit_status is ExitStatus.DONE


@pytest.mark.parametrize('when', ['preflight', 'later'])
def test_status_repeats_why_a_tree_was_left_alone(when, tmp_path):
    placement, plan = made(hosts=2)
    path, client = str(tmp_path / 'journal'), placement.client()
    if when == 'preflight':
        rename(placement)
    else:
        placement.faults.append(at(rename, '/reshaper'))
    outcome = engines.apply(client, plan, path)
    left = outcome.trees[0]
    assert left.state is LEFT
    first, second = engines.status(client, plan, journal_path=path)
    assert (first.status, first.is_left_alone) == (Status.DIFFERS, True)
    assert first.reason == f'left alone: {left.reason}'
    assert second.status is Status.APPLIED
    placement.providers[ROOT].name = 'compute0'
    placement.providers[ROOT].inventories['VGPU']['total'] += 1
    touch(placement)
    first, _ = engines.status(client, plan, journal_path=path)
    assert (first.status, first.is_left_alone) == (Status.DIFFERS, True)
    assert first.reason.startswith('the inventories of compute0 have changed; left alone at 20')
    placement.providers[ROOT].inventories['VGPU']['total'] -= 1
    first, _ = engines.status(client, plan, journal_path=path)
    assert (first.status, first.is_left_alone) == (Status.PENDING, False)
    assert re.fullmatch(
        f'apply tries this tree again; left alone at 20.+: {re.escape(left.reason)}',
        first.reason,
    )
    assert engines.apply(client, plan, path).trees[0].state is State.APPLIED


def test_trees_that_are_pending_are_no_damage(tmp_path):
    placement, plan = made(hosts=3)
    path, client = str(tmp_path / 'journal'), placement.client()

    def found():
        return [(d.tree, d.is_damage) for d in engines.verify(client, plan, journal_path=path)]

    assert found() == [(f'compute{n}', False) for n in range(3)]
    engines.apply(client, plan, path, limit=1)
    assert found() == [('compute1', False), ('compute2', False)]
    engines.apply(client, plan, path)
    assert found() == []
    engines.rollback(client, plan, str(tmp_path / 'other'), trees=['compute1'])
    assert found() == [('compute1', True)]
    engines.rollback(client, plan, path, trees=['compute0'])
    assert found() == [('compute0', False), ('compute1', True)]


GONE_NOW = fault(404, 'no such provider')


@pytest.mark.parametrize(
    ('look', 'state'),
    [
        (Fault('GET', f'{ROOT}/traits', answer=GONE_NOW), DONE),
        (Fault('GET', f'{ROOT}/inventories', answer=GONE_NOW), LEFT),
        # It changes at each of the readings of the first look.
        (Fault('GET', f'{ROOT}/allocations', times=5, before=touch), DONE),
    ],
)
def test_a_provider_that_goes_or_changes_while_all_trees_are_looked_at_ends_nothing(
    tmp_path, look, state
):
    placement, plan = made(hosts=2)
    trait(placement)
    placement.faults.append(look)
    outcome = engines.apply(placement.client(), plan, str(tmp_path / 'journal'))
    assert [tree.state for tree in outcome.trees] == [state, DONE], outcome


@pytest.mark.parametrize(('status', 'outcome'), [(502, 'not known: '), (409, 'refused: ')])
def test_the_journal_tells_a_refusal_from_what_is_not_known(status, outcome, tmp_path):
    placement, plan = made()
    reply = Reply(status) if status == 502 else fault(status, 'no')
    placement.faults.append(Fault('POST', '/reshaper', 2, answer=reply))
    path = tmp_path / 'journal'
    engines.apply(placement.client(), plan, str(path))
    said = [line for line in path.read_text().splitlines() if f'"outcome":"{outcome}' in line]
    assert len(said) == 1


def test_a_server_that_was_migrated_since_is_no_damage():
    placement, plan = made(2)
    client = placement.client()
    (tree,) = plan.trees
    consumer = next(each for each in tree.consumers if each.moves)
    there = capture(client)
    elsewhere = uuid_of('elsewhere')
    whole = {
        name: sum(resources.get(name, 0) for resources in consumer.after.allocations.values())
        for resources in consumer.after.allocations.values()
        for name in resources
    }
    left = structs.replace(there.consumers[consumer.uuid], allocations={elsewhere: whole})
    inside = structs.replace(there.consumers[consumer.uuid], allocations={ROOT: whole})
    for moved, is_damage in ((left, False), (inside, True)):
        snapshot = Snapshot(there.providers.values(), [moved])
        found = [each for each in comparison.deviations(tree, snapshot) if each.kind == 'misplaced']
        assert [each.is_damage for each in found] == [is_damage]


def test_what_was_left_alone_at_once_has_nothing_to_take_back(tmp_path):
    placement, plan = made()
    shrink(placement)
    path = str(tmp_path / 'journal')
    assert engines.apply(placement.client(), plan, path).trees[0].state is LEFT
    sent = placement.writes()
    outcome = engines.rollback(placement.client(), plan, path)
    assert [tree.state for tree in outcome.trees] == [State.ALREADY_BACK]
    assert outcome.exit_status is ExitStatus.DONE
    assert [each for each in placement.writes()[len(sent) :] if 'reshaper' not in each] == []


@pytest.mark.parametrize(('hosts', 'lists'), [(2, 2), (3, 1)])
def test_many_trees_are_listed_with_one_request(tmp_path, monkeypatch, hosts, lists):
    monkeypatch.setattr(scope, '_MANY', 3)
    placement, plan = made(children=2, hosts=hosts)
    outcome = engines.apply(placement.client(), plan, str(tmp_path / 'journal'))
    assert {result.state for result in outcome.trees} == {DONE}
    assert placement.requests.count('GET /resource_providers') == lists
    placement.requests.clear()
    states = engines.status(placement.client(), plan)
    assert {each.status for each in states} == {Status.APPLIED}
    assert placement.requests.count('GET /resource_providers') == lists


@pytest.mark.parametrize('disturb', [touch, trait, free, allocate, shrink, rename, occupy])
def test_what_happens_after_the_list_of_all_trees_is_found_out(tmp_path, monkeypatch, disturb):
    ends = []
    for many in (1, 99):
        monkeypatch.setattr(scope, '_MANY', many)
        placement, plan = made()
        placement.faults = [Fault('GET', f'{ROOT}/inventories', before=disturb)]
        outcome = engines.apply(placement.client(), plan, str(tmp_path / f'journal{many}'))
        ends.append([(result.state, result.reason) for result in outcome.trees])
    assert ends[0] == ends[1]


@pytest.mark.parametrize(('children', 'servers', 'number'), [(2, 4, 10), (4, 2, 13), (2, 0, 9)])
def test_the_requests_of_a_tree(children, servers, number, tmp_path):
    """Each gives a guarantee: ``benchmarks/apply.py`` says which."""
    placement = Placement(clouds.cloud(hosts=1, servers=servers))
    plan = clouds.plan_of(capture(placement.client()), children)
    placement.requests.clear()
    engines.apply(placement.client(), plan, str(tmp_path / 'journal'))
    host, *made = (f'/resource_providers/{each.uuid}' for each in plan.trees[0].providers)
    consumers, looks = plan.trees[0].consumers, 2 if servers else 1
    if not servers:
        back = [f'GET {each}/inventories' for each in (host, *made)]
    elif children < servers:
        back = [f'GET {each}/allocations' for each in (host, *made)]
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
    assert [*of_run[:2], *of_tree[:looks], of_run[2], *of_tree[looks:]] == placement.requests
    assert len(of_tree) == number


PARTS = ('inventories', 'allocations')


def mark(placement, uuid):
    """Let another operator add a trait to a provider."""
    placement.providers[uuid].traits.add('HW_CPU_X86_SSE')
    placement.providers[uuid].generation += 1


def test_a_child_that_others_have_changed_is_not_taken_back(tmp_path):
    placement, plan = made()
    path, client = str(tmp_path / 'journal'), placement.client()
    (child,) = plan.trees[0].created()
    engines.apply(client, plan, path)
    mark(placement, child.uuid)
    (result,) = engines.rollback(client, plan, path).trees
    assert (result.state, 'HW_CPU_X86_SSE' in result.reason) == (LEFT, True), result
    assert 'VGPU' in placement.providers[child.uuid].inventories


def test_what_was_prepared_stays_if_others_have_changed_it(tmp_path):
    placement, plan = made()
    (child,) = plan.trees[0].created()

    def disturb(placement):
        shrink(placement)
        mark(placement, child.uuid)

    placement.faults.append(at(disturb, '/reshaper'))
    (result,) = engines.apply(placement.client(), plan, str(tmp_path / 'journal')).trees
    assert (result.state, 'what was prepared is still there' in result.reason) == (LEFT, True)
    assert child.uuid in placement.providers


def test_there_is_no_way_back_without_the_root(tmp_path):
    placement, plan = made(hosts=2)
    path, client = str(tmp_path / 'journal'), placement.client()
    engines.apply(client, plan, path)
    del placement.providers[ROOT]
    for each in placement.consumers.values():
        each.allocations.pop(ROOT, None)
    first, second = engines.rollback(client, plan, path).trees
    assert (first.state, second.state) == (LEFT, State.ROLLED_BACK)
    assert 'No resource provider has the UUID' in first.reason
