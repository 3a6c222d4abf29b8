# SPDX-License-Identifier: Apache-2.0
"""Commands on a bad network: a write is done once, or an error says what is known."""

import re
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing

import pytest

from placementclient.api import allocation, attempts, inventory, resource_provider
from placementclient.cli import shell
from placementclient.client import retries
from placementclient.model.consumers import Consumer
from tests.functional import away, databases
from tests.functional.applying import client_of
from tests.functional.pausing import count_pauses
from tests.functional.wire import FAULTS, Wire
from tests.numbers import few_quick
from tests.programs import Result

CONSUMER = str(uuid.uuid4())
#: A write of each kind: by a name, at a generation, of a consumer, and several with a table.
COMMANDS = {
    'class create': 'resource class create CUSTOM_FRESH',
    'trait add': 'resource provider trait add compute1 HW_NIC_SRIOV',
    'allocation move': (
        f'resource provider allocation move {CONSUMER} --from compute1 --to compute2'
    ),
    'purge': 'resource provider purge compute1 --force --yes',
}
#: Where it is sent twice, the service refuses the second one; or where it is run again.
ONCE = {'class create'}


class Cloud:
    """Two providers and a consumer on the first; always as it was at first."""

    def __init__(self, url, database):
        client = client_of(url)
        for name in ('compute1', 'compute2'):
            made = resource_provider.create(client, name)
            inventory.set_all(client, made.uuid, {'VCPU': {'total': 8}}, made.generation)
            holdings = {made.uuid: {'VCPU': 2}}
            consumer = CONSUMER if name == 'compute1' else str(uuid.uuid4())
            allocation.set(client, Consumer(consumer, holdings, 'p', 'u', None, 'INSTANCE'))
        self._database, self._copy = sqlite3.connect(database), sqlite3.connect(':memory:')
        self._database.backup(self._copy)

    def close(self):
        """Let go of the database."""
        self._database.close()
        self._copy.close()

    def renew(self):
        """Bring it back to what it was."""
        self._copy.backup(self._database)

    def state(self):
        """What there is now."""
        return databases.content(self._database)


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp('wire')
    service = away.Service(folder)
    service.start()
    try:
        with closing(Cloud(service.url, folder / 'service.sqlite')) as cloud:
            yield cloud, service.url
    finally:
        service.stop()


@pytest.fixture
def wire(cloud):
    cloud[0].renew()
    with Wire(cloud[1]) as wire:
        yield wire


@pytest.fixture
def pauses(monkeypatch):
    return count_pauses(monkeypatch, retries, attempts)


Run = Callable[[str], Result]


@pytest.fixture
def run(wire, capsys, request):
    """Runs the program through the proxy; only where an answer is slow it does not wait for it."""
    timeout = '0.3' if 'slow' in request.node.name else '30'

    def run(command):
        capsys.readouterr()
        arguments = ['--os-auth-type', 'none', '--os-endpoint', wire.url, '--timeout', timeout]
        status = shell.main([*arguments, *command.split()])
        return Result(status, *capsys.readouterr())

    return run


@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize(
    'kind', few_quick(['purge', 'trait add', 'class create', 'allocation move'], quick=2)
)
def test_a_write_is_carried_out_once_or_the_error_says_what_is_known(
    cloud, wire, run, pauses, kind, fault
):
    """``tests.interleavings`` loses the answers to every request of every command."""
    scene, _ = cloud
    before, command, is_table = scene.state(), COMMANDS[kind], kind == 'purge'
    wire.hit(FAULTS[fault])
    result = run(command)
    reached = scene.state()
    if fault == '404 with a page':
        assert result.status
        assert reached == before or is_table
    else:
        is_refused = fault == 'sent twice' and kind in ONCE
        assert (result.status, reached != before) == (int(is_refused), True), result
    assert 'Traceback' not in result.stderr
    assert result.stderr.count('\n') <= 1 or is_table
    again = run(command)
    assert again.status in ((0, 1) if kind in ONCE or is_table else (0,)), again
    after = scene.state()
    assert after != before
    if reached != before and not is_table:
        assert after == reached


@pytest.mark.parametrize('fault', [name for name in FAULTS if not name.startswith(('404', 'sent'))])
def test_a_read_is_repeated_with_pauses_and_then_refused(wire, run, pauses, fault):
    wire.hit(FAULTS[fault], 5, writes=False)
    result = run('resource class list -f value')
    assert (result.status, 'VCPU\n' in result.stdout) == (0, True)
    assert re.findall('Trying again, with pauses of about .* s in all\n', result.stderr)
    assert result.stderr.count('\n') == 1
    wire.hit(FAULTS[fault], 6, writes=False)
    result = run('resource class list -f value')
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 2)
    assert len(pauses) == 10
    shortest = {'429 with Retry-After': 3.0, '503 with Retry-After': 30.0}.get(fault, 0.0)
    assert shortest <= min(pauses) <= max(pauses) <= max(shortest, 4.25)


@pytest.mark.parametrize('step', few_quick([80, 3], quick=1))
def test_an_answer_that_is_cut_at_any_byte_is_no_answer(wire, run, pauses, step):
    def cut_at(length):
        return lambda wire, request, client: client.sendall(wire.forward(request)[:length])

    for length in range(0, 400, step):
        wire.hit(cut_at(length), 6, writes=False)
        result = run('--retries 0 resource provider list --name nobody')
        wire.hit(cut_at(length), 0)
        assert result.status in (0, 1)
        assert result.stderr.count('\n') == 1, result
        assert bool(result.status) == ('matches' not in result.stderr)
