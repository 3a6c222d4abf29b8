"""A host that dies, from the evacuation of its servers to its return under another UUID."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.cloud import control, layout, processes, servers
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


@pytest.fixture
def kept(compute: Compute, evacuated: list[str]) -> Iterator[str]:
    """A consumer that Nova does not know, which keeps the provider of a host that came back."""
    before = _node(compute)
    leaked = str(uuid.uuid4())
    body = {
        'allocations': {before: {'resources': {'VCPU': 1}}},
        'project_id': 'demo',
        'user_id': 'alice',
        'consumer_generation': None,
        'consumer_type': 'UNKNOWN_TO_NOVA',
    }
    compute.call('PUT', f'/allocations/{leaked}', body, service='placement')
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
