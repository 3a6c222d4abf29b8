# SPDX-License-Identifier: Apache-2.0
"""Replacements, purges and heals under attack: false plans, and many operators at a time."""

import copy
import json
import subprocess
import sys
from itertools import product
from random import Random

import pytest

from placementclient.api import allocation, attempts
from placementclient.client import retries
from placementclient.reading import capture
from tests.functional import clouds
from tests.functional.applying import client_of
from tests.functional.clouds import content, uuid_of
from tests.functional.hosts import PROJECT, USER, build, holder
from tests.functional.pausing import count_pauses
from tests.numbers import few_quick, numbers

NEW, LOST = uuid_of('the new host'), uuid_of('lost')
SERVERS = [
    holder('s', {'compute0': {'VCPU': 2, 'MEMORY_MB': 512}, 'compute0_gpu1': {'VGPU': 1}}),
    holder('t', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 1}, 'storage': {'DISK_GB': 2}}),
]
OPERATORS = 8
#: The requests that a command may send at a time, each of which spends its retries.
WORKERS = 4
FLAVOR = {
    'original_name': 'm', 'vcpus': 2, 'ram': 2048, 'disk': 20, 'ephemeral': 0, 'swap': 0,
    'extra_specs': {},
}  # fmt: skip
UNHEALED = {
    'id': LOST, 'tenant_id': PROJECT, 'user_id': USER, 'image': '', 'flavor': FLAVOR,
    'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute0', 'OS-EXT-STS:task_state': None,
    'OS-EXT-STS:vm_state': 'active',
}  # fmt: skip
COMMANDS = {
    'replace': f'replace compute0 --uuid {NEW}',
    'purge': 'purge compute0 --force',
    'heal': 'allocation heal --servers {folder}/servers.json',
}


@pytest.fixture(params=COMMANDS)
def command(request, tmp_path):
    """A command line that changes several objects at once."""
    (tmp_path / 'servers.json').write_text(json.dumps({'servers': [UNHEALED]}))
    return f'resource provider {COMMANDS[request.param].format(folder=tmp_path)}'


def _leaves(value, path=()):
    """Return the paths of all values in a document that are neither mappings nor lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in items:
        if isinstance(inside, dict | list):
            yield from _leaves(inside, (*path, key))
        else:
            yield (*path, key)


def _another(value, dice):
    """Return another value of the same type."""
    match value:
        case int() | float():
            return dice.choice([value + 1, value * 2 + 1, 0])
        case str() if len(value) == len(NEW):
            return dice.choice([uuid_of('compute1'), uuid_of('storage'), NEW, LOST])
        case str():
            return dice.choice(['compute1', 'compute0_gpu1', 'COMPUTE_STATUS_DISABLED', value[:-1]])
    return uuid_of('compute1')


def _altered(plan, seed):
    """Return a plan with some false values in what it says of the present."""
    dice, altered = Random(seed), copy.deepcopy(plan)
    present = altered['trees'][0]['before']
    for *path, key in dice.sample([*_leaves(present)], 1 + seed % 3):
        inside = present
        for step in path:
            inside = inside[step]
        inside[key] = _another(inside[key], dice)
    return altered


@pytest.mark.parametrize('seed', numbers(0, 20, quick=1))
def test_a_plan_that_is_false_about_the_present_does_all_that_was_reviewed_or_nothing(
    client, placement, tmp_path, command, seed
):
    build(client, *SERVERS)
    before, path = content(clouds.captured(client)), tmp_path / 'plan.json'
    assert placement(f'{command} --plan {path}').status == 0
    plan = json.loads(path.read_text())
    assert placement(f'resource provider reshape apply {path} --yes').status == 0
    after = content(clouds.captured(client))
    clouds.emptied(client)
    build(client, *SERVERS)

    path = tmp_path / 'altered.json'
    path.write_text(json.dumps(_altered(plan, seed)))
    result = placement(f'resource provider reshape apply {path} --yes')

    found = content(clouds.captured(client))
    assert found in (before, after), result
    assert result.status in ((0,) if found == after != before else (0, 1, 3, 5)), result
    assert 'Traceback' not in result.stderr
    if result.status and found == before:
        assert result.stderr or 'left alone' in result.stdout


@pytest.mark.slow
def test_many_operators_at_a_time_do_it_once(service_url, command):
    client = client_of(service_url)
    clouds.emptied(client)
    build(client, *SERVERS)
    before = _sums(client)
    words = ['--os-auth-type', 'none', '--os-endpoint', service_url, *command.split(), '--yes']
    runs = [
        subprocess.Popen(
            [sys.executable, '-m', 'placementclient', *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(OPERATORS)
    ]  # fmt: skip
    outputs = [run.communicate(timeout=300) for run in runs]
    assert any(run.returncode == 0 for run in runs), outputs
    assert {run.returncode for run in runs} <= {0, 1, 3, 6}, outputs
    assert not any('Traceback' in stderr for _, stderr in outputs)

    after = _sums(client)
    live = clouds.captured(client)
    if 'heal' in command:
        healed = allocation.show(client, LOST).value
        assert healed.allocations == {uuid_of('compute0'): {'VCPU': 2, 'MEMORY_MB': 2048}}
    if 'replace' in command:
        assert after == before
        assert live.find_by_name('compute0').uuid == NEW
    if 'purge' in command:
        assert live.find_by_name('compute0') is None
        kept = {uuid_of('compute1'): {'VCPU': 1}, uuid_of('storage'): {'DISK_GB': 2}}
        assert allocation.show(client, SERVERS[1].uuid).value.allocations == kept


class Failing:
    """A session of a service that fails: it answers 500, though it may have done what was asked.

    :param fails: whether it fails at a request
    """

    def __init__(self, send, fails):
        self._send, self._fails = send, fails

    def request(self, url, method, **options):
        answer = self._send(url, method, **options)
        if self._fails(method):
            answer._content, answer.status_code = b'{"errors": [{"detail": "Oops"}]}', 500
        return answer


@pytest.fixture
def pauses(monkeypatch):
    return count_pauses(monkeypatch, retries, attempts, capture)


@pytest.mark.parametrize('fate', few_quick(list(product(range(8), (0.2, 0.6))), quick=1))
def test_a_command_that_a_failing_service_ends_is_completed_by_the_next(
    client, placement, monkeypatch, pauses, command, fate
):
    build(client, *SERVERS)
    seed, share = fate
    dice, send = Random(seed), client.session.request
    failing = Failing(send, lambda method: dice.random() < share)
    monkeypatch.setattr(client.session, 'request', failing.request)
    ended = placement(f'{command} --yes')
    monkeypatch.setattr(client.session, 'request', send)
    assert ended.status in (0, 1, 3, 6), ended
    if ended.status:
        assert 'Oops' in ended.stdout + ended.stderr

    assert placement(f'{command} --yes').status in (0, 1), 'or the provider is gone'
    live = clouds.captured(client)
    assert uuid_of('compute0') not in live.providers or 'heal' in command
    assert allocation.show(client, SERVERS[1].uuid).value.allocations[uuid_of('compute1')]


@pytest.mark.slow
@pytest.mark.parametrize('is_all', [True, False], ids=['all', 'writes'])
def test_a_service_that_fails_for_good_ends_every_command_after_seconds(
    client, placement, monkeypatch, pauses, command, is_all
):
    """From each of its requests on, and one request spends the retries."""
    send, longest = client.session.request, 0.0
    for first in range(0, 60, 3):
        clouds.emptied(client)
        build(client, *SERVERS)
        left = [first]

        def fails(method, left=left):
            left[0] -= 1
            return left[0] < 0 and (is_all or method != 'GET')

        pauses.clear()
        monkeypatch.setattr(client.session, 'request', Failing(send, fails).request)
        status = placement(f'{command} --yes').status
        monkeypatch.setattr(client.session, 'request', send)
        longest = max(longest, sum(pauses))
        if status == 0:
            break
    assert longest < WORKERS * 15


def _sums(client):
    """Return what each server holds of each class, on any provider."""
    return {
        (server.uuid, name): sum(
            held.get(name, 0)
            for held in allocation.show(client, server.uuid).value.allocations.values()
        )
        for server in SERVERS
        for name in ('VCPU', 'MEMORY_MB', 'VGPU', 'DISK_GB')
    }
