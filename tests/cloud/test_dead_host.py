"""A host that dies, from the evacuation of its servers to its return under another UUID."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.cloud import layout, processes, servers
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


def test_a_dead_host_is_emptied_and_comes_back(
    compute: Compute, placement: Placement, evacuated: list[str]
) -> None:
    before = _node(compute)
    assert _audit(placement) == dict.fromkeys(evacuated, 'left-by-evacuation')

    # Nova takes the service away, and leaves the provider, as there are allocations.
    compute.call('DELETE', f'/os-services/{compute.service(DEAD)["id"]}')
    assert _node(compute) == before
    # The host is installed anew: it comes back under another UUID, and Nova cannot make the
    # provider, as the name is taken.
    IDENTITY.write_text(str(uuid.uuid4()))
    IDENTITY.unlink()
    servers.control.compute(DEAD)
    refused = 'Another resource provider with the provided name exists'
    until(lambda: refused in _log() or 'Conflicting resource provider name' in _log(), 'no refusal')
    assert _node(compute) == before
    purged = placement(f'resource provider purge {DEAD} --migrations nova --yes -f json')
    assert purged.status == 0, purged.stderr
    servers.restart(compute, DEAD)

    after = _node(compute)
    assert after not in (None, before)
    assert IDENTITY.read_text().strip() == after
    assert _audit(placement) == {}
    assert [len(compute.allocations(server)) for server in evacuated] == [1, 1]
    new = compute.boot('reborn', host=DEAD)
    assert list(compute.allocations(new)) == [after]


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
