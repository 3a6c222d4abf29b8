"""A host that dies, from the evacuation of its servers to its return as another one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.cloud import control, layout, processes, servers, settings
from tests.cloud.compute import Compute, until
from tests.cloud.conftest import Placement

FIRST, SECOND, DEAD = layout.HOSTS
IDENTITY = layout.state() / 'hosts' / DEAD / 'compute_id'


@pytest.fixture
def evacuated(compute: Compute) -> Iterator[list[str]]:
    """Two servers that were evacuated from a host that stays dead."""
    servers.clear(compute)
    uuids = [compute.create(f'dead-{number}', host=DEAD) for number in range(2)]
    for server in uuids:
        compute.wait(server, 'ACTIVE')
    servers.kill(compute, DEAD)
    for server, host in zip(uuids, (FIRST, SECOND), strict=True):
        compute.act(server, 'evacuate', {'host': host}, 'SHUTOFF')
    servers.age()
    yield uuids
    if not processes.pid(DEAD):
        servers.revive(compute, DEAD)
    servers.clear(compute)


def _node(compute: Compute) -> str | None:
    return next((each['uuid'] for each in compute.providers() if each['name'] == DEAD), None)


def _audit(placement: Placement) -> dict[str, str]:
    """The faults of an audit by subject."""
    command = 'resource provider audit --servers nova --migrations nova -f json'
    rows = placement(command).json(0, 3)
    return {row['subject']: row['id'] for row in rows if row['severity'] != 'info'}


def _reinstall() -> None:
    """Start the dead host without what it had on its disk, its UUID too."""
    IDENTITY.unlink()
    IDENTITY.with_name('guests.json').unlink()
    processes.log(DEAD).unlink()
    control.compute(DEAD)


def test_a_service_that_is_deleted_takes_its_provider_away(
    compute: Compute, placement: Placement, evacuated: list[str]
) -> None:
    before = _node(compute)
    assert _audit(placement) == dict.fromkeys(evacuated, 'left-by-evacuation')

    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')

    # Nova frees what evacuated servers hold there, too.
    assert (_node(compute), _audit(placement)) == (None, {})
    _reinstall()
    until(lambda: DEAD in compute.mapped_hosts(), 'the host does not come back')
    assert _node(compute) not in (None, before)
    new = compute.boot('reborn', host=DEAD)
    assert list(compute.allocations(new)) == [_node(compute)]


def _leak(compute: Compute) -> str:
    """Make a consumer on the dead host that Nova does not know."""
    leaked = str(uuid.uuid4())
    body = {
        'allocations': {_node(compute): {'resources': {'VCPU': 1}}},
        'project_id': 'demo',
        'user_id': 'alice',
        'consumer_generation': None,
        'consumer_type': 'UNKNOWN_TO_NOVA',
    }
    compute.call('PUT', f'/allocations/{leaked}', body, service='placement')
    return leaked


@pytest.fixture
def kept(compute: Compute, evacuated: list[str]) -> Iterator[str]:
    """A consumer that Nova does not know, which keeps the provider of a host that came back."""
    before = _node(compute)
    leaked = _leak(compute)
    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')
    assert _node(compute) == before
    _reinstall()
    until(lambda: 'Conflicting resource provider name' in _log(), 'no conflict')
    assert _node(compute) == before
    yield leaked
    compute.discard(f'/allocations/{leaked}', service='placement')


def test_a_host_under_another_uuid_after_a_purge(
    compute: Compute, placement: Placement, kept: str
) -> None:
    before = _node(compute)

    refused = placement(f'resource provider purge {DEAD} --yes -f json')
    freed = placement(f'resource provider purge {DEAD} --force --yes -f json')
    servers.restart(compute, DEAD)

    assert (refused.status, freed.status) == (1, 0), (refused.stderr, freed.stderr)
    assert kept in refused.stderr
    assert _node(compute) not in (None, before)
    assert _audit(placement) == {}


def test_a_host_under_another_uuid_after_its_provider_is_replaced(
    compute: Compute, placement: Placement, kept: str
) -> None:
    identity = IDENTITY.read_text().strip()

    replaced = placement(f'resource provider replace {DEAD} --uuid {identity} --yes -f json')
    servers.restart(compute, DEAD)

    assert replaced.status == 0, replaced.stderr
    assert _node(compute) == identity
    assert list(compute.allocations(kept)) == [identity]
    new = compute.boot('reborn', host=DEAD)
    assert list(compute.allocations(new)) == [identity]


def _log() -> str:
    return processes.tail(DEAD, 200)


def test_audit_frees_what_evacuated_servers_hold_and_purge_takes_the_host_out(
    compute: Compute, placement: Placement, evacuated: list[str]
) -> None:
    dry = placement(f'resource provider purge {DEAD} --migrations nova --dry-run -f json')
    fixed = placement(
        'resource provider audit --servers nova --migrations nova --id left-by-evacuation --fix '
        '--yes -f json'
    )

    assert dry.status == 3, dry.stderr
    assert fixed.status in (0, 3), fixed.stderr
    assert [len(compute.allocations(server)) for server in evacuated] == [1, 1]
    assert placement(f'resource provider purge {DEAD} --yes -f json').status == 0
    assert _node(compute) is None
    servers.revive(compute, DEAD)
    until(lambda: _node(compute), 'no provider')
    assert _audit(placement) == {}


#: Other names of the dead host: one that says nothing, and its full one.
OTHER, FULL = 'compute4', f'{DEAD}.example.com'


@pytest.fixture
def left(compute: Compute) -> Iterator[tuple[str, str]]:
    """The server that stays on a dead host, and the one that was evacuated."""
    servers.clear(compute)
    stays, gone = [compute.boot(name, host=DEAD) for name in ('stays', 'gone')]
    servers.kill(compute, DEAD)
    compute.act(gone, 'evacuate', {'host': FIRST}, 'SHUTOFF')
    servers.age()
    yield stays, gone
    servers.clear(compute)


StartAs = Callable[[str], None]


@pytest.fixture
def start_as(compute: Compute, left: tuple[str, str]) -> Iterator[StartAs]:
    """Starts the nova-compute of the dead host under another name; its service goes at the end."""
    disk = [IDENTITY, IDENTITY.with_name('guests.json')]
    had, started = [path.read_text() for path in disk], list[str]()

    def start(name: str) -> None:
        started.append(name)
        ours = settings.compute(DEAD)
        settings.save(f'nova/{name}.conf', {**ours, 'DEFAULT': {**ours['DEFAULT'], 'host': name}})
        control.compute(name)

    yield start
    for name in started:
        compute.delete(*[each['id'] for each in compute.servers() if each['name'] == name])
        processes.stop(name)
        # A nova-compute that does not start takes its service away itself.
        for service in compute.call('GET', f'/os-services?host={name}')['services']:
            compute.discard(f'/os-services/{service["id"]}')
    for path, text in zip(disk, had, strict=True):
        path.write_text(text)


def _reinstall_as(compute: Compute, start_as: StartAs, name: str) -> None:
    for path in (IDENTITY, IDENTITY.with_name('guests.json')):
        path.unlink()
    start_as(name)
    until(lambda: name in compute.mapped_hosts(), f'{name} does not come up')


def _with_hosts(placement: Placement, *more: str) -> list[dict[str, str]]:
    """What an audit of all lists of hosts and servers finds."""
    kinds = ('servers', 'migrations', 'services', 'hypervisors')
    lists = [word for kind in kinds for word in (f'--{kind}', 'nova')]
    # nova-compute counts an evacuated server that was deleted until it counts all, in 10 minutes.
    audit = 'resource provider audit --ignore inventory-drift -f json'
    rows = placement(*audit.split(), *lists, *more).json(0, 3)
    return [row for row in rows if row['severity'] != 'info']


def _holdings(compute: Compute, *consumers: str) -> list[object]:
    return [compute.providers(), *(compute.allocations(each) for each in consumers)]


def test_nova_does_not_start_under_another_name_with_the_same_uuid(
    compute: Compute, placement: Placement, left: tuple[str, str], start_as: StartAs
) -> None:
    before, held = _with_hosts(placement), _holdings(compute, *left)

    start_as(OTHER)
    until(lambda: not processes.pid(OTHER), 'it starts')

    assert 'refusing to start' in processes.tail(OTHER, 20)
    assert _with_hosts(placement) == before
    assert [row['id'] for row in before] == ['left-by-evacuation']
    assert _holdings(compute, *left) == held


@pytest.mark.parametrize(('name', 'found'), [(OTHER, []), (FULL, ['twin'])])
def test_a_host_under_another_name_is_another_host(
    compute: Compute,
    placement: Placement,
    left: tuple[str, str],
    start_as: StartAs,
    name: str,
    found: list[str],
) -> None:
    stays, gone = left
    _reinstall_as(compute, start_as, name)
    rows = {row['id']: row for row in _with_hosts(placement)}
    held = _holdings(compute, stays, gone)

    _with_hosts(placement, '--id', 'twin', '--id', 'renamed', '--fix', '--yes')

    assert sorted(rows) == ['left-by-evacuation', *found]
    assert rows['left-by-evacuation']['subject'] == gone
    # Nova has a server under the old name: what would move it is not to be run as it is.
    for twin in [rows[each] for each in found]:
        assert (twin['subject'], twin['command']) == (DEAD, '')
        advice = f'Nova has servers on {DEAD}: give nova-compute this name again'
        assert twin['reason'].startswith(advice)
    assert _holdings(compute, stays, gone) == held


def test_a_host_under_another_name_gets_what_the_old_one_has(
    compute: Compute, placement: Placement, left: tuple[str, str], start_as: StartAs
) -> None:
    _reinstall_as(compute, start_as, OTHER)
    compute.act(left[0], 'evacuate', {'host': SECOND}, 'SHUTOFF')
    servers.age()
    _with_hosts(placement, '--id', 'left-by-evacuation', '--fix', '--yes')
    leaked = _leak(compute)

    replaced = placement(
        f'resource provider replace {DEAD} --with {OTHER} --name {OTHER} --yes -f json'
    )
    servers.restart(compute, OTHER)

    assert replaced.status == 0, replaced.stderr
    names = {each['uuid']: each['name'] for each in compute.providers()}
    assert sorted(names.values()) == [FIRST, SECOND, OTHER]
    held = [compute.allocations(each) for each in (*left, leaked)]
    assert [[names[uuid] for uuid in each] for each in held] == [[SECOND], [FIRST], [OTHER]]
    new = compute.boot(OTHER, host=OTHER)
    assert list(compute.allocations(new)) == [IDENTITY.read_text().strip()]
    assert _with_hosts(placement) == []
    compute.discard(f'/allocations/{leaked}', service='placement')
