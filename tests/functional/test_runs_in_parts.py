# SPDX-License-Identifier: Apache-2.0
"""Runs of a plan for some of its trees, and runs that Ctrl-C ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from placementclient.api import inventory
from placementclient.runs import storage
from tests.functional import clouds, guide
from tests.functional.applying import client_of
from tests.numbers import few_quick

PLACEMENT = Path(sys.executable).parent / 'placement'
EDIT = 'resource provider inventory set --with-class VCPU --amend --resource VCPU:reserved=2'


@pytest.fixture
def client(service):
    result = client_of(service.url)
    clouds.emptied(result)
    return result


class Terminal:
    """Types commands about one plan of some hosts."""

    def __init__(self, client, service, folder, hosts):
        before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
        self.plan = folder / 'plan.json'
        storage.write_plan(str(self.plan), clouds.plan_of(before, 1, moved_trait=True))
        self.environment = {
            **os.environ,
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': service.url,
            'PYTHONWARNINGS': 'ignore',
        }

    def plan_an_edit(self):
        """Replace the plan by a plan of changes, as other commands write it."""
        self.plan.unlink()
        subprocess.run(
            [PLACEMENT, *EDIT.split(), '--plan', self.plan], env=self.environment, check=True
        )

    def started(self, command, *options):
        return subprocess.Popen(
            [
                *(PLACEMENT, 'resource', 'provider', 'reshape', command, self.plan),
                *('--yes', '-f', 'json', *options),
            ],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command, *options):
        """Run a command to its end; return its exit status and the states in its table."""
        process = self.started(command, *options)
        printed, message = process.communicate(timeout=180)
        assert process.returncode in (0, 3, 6), message
        return process.returncode, states(printed)


def wait_for_warning(process, trees):
    warning = f'Waiting for {trees} under way; a second Ctrl-C does not wait\n'
    assert process.stderr is not None
    assert any(line == warning for line in iter(process.stderr.readline, ''))


def states(printed):
    return [row['state'] for row in json.loads(printed)]


@pytest.mark.parametrize('is_edit', few_quick([True, False], quick=1))
def test_limit_bounds_the_trees_of_apply_and_rollback(client, service, tmp_path, is_edit):
    terminal = Terminal(client, service, tmp_path, 4)
    if is_edit:
        terminal.plan_an_edit()
    pending = ['not started'] * 3
    assert terminal.run('apply', '--limit', '1') == (0, ['applied', *pending])
    # Trees that were never begun do not count.
    assert terminal.run('rollback', '--limit', '1')[1] == ['rolled back', *['not applied'] * 3]
    assert terminal.run('apply', '--limit', '2') == (0, ['applied', 'applied', *pending[:2]])
    assert terminal.run('apply', '--workers', '2') == (
        0, ['already applied', 'already applied', 'applied', 'applied']
    )  # fmt: skip
    assert terminal.run('rollback', '--limit', '1') == (0, [*pending, 'rolled back'])
    assert terminal.run('rollback', '--limit', '2') == (
        0, ['not started', 'rolled back', 'rolled back', 'not applied']
    )  # fmt: skip


@pytest.mark.parametrize('command', ['apply', 'rollback'])
def test_ctrl_c_waits_for_the_tree_under_way(client, service, tmp_path, command):
    terminal = Terminal(client, service, tmp_path, 3)
    if command == 'rollback':
        assert terminal.run('apply')[0] == 0
    service.stop_at(3, 'after')
    running = terminal.started(command, '--workers', '1')
    assert service.wait_until_reached(running)
    running.send_signal(signal.SIGINT)
    wait_for_warning(running, '1 tree')
    service.go_on()
    printed, message = running.communicate(timeout=180)
    assert running.returncode == 130
    done = 'applied' if command == 'apply' else 'rolled back'
    assert sorted(states(printed)) == sorted([done, 'not started', 'not started'])
    assert message == (
        'Interrupted: 1 of 3 trees done (exit 130)\n'
        'Next:\n'
        '  1. Run the same command again to continue\n'
        '  2. Or see the state of each tree: placement resource provider reshape status '
        f'{terminal.plan}\n'
    )
    status, ends = terminal.run(command)
    assert (status, ends.count(done), len(ends)) == (0, 2, 3)


@pytest.mark.parametrize('number', few_quick([signal.SIGINT, signal.SIGTERM], quick=1))
def test_a_second_signal_does_not_wait(client, service, tmp_path, number):
    terminal = Terminal(client, service, tmp_path, 2)
    service.stop_at(3, 'after')
    applying = terminal.started('apply', '--workers', '2')
    assert service.wait_until_reached(applying)
    applying.send_signal(number)
    wait_for_warning(applying, '2 trees')
    applying.send_signal(number)
    applying.communicate(timeout=60)
    assert applying.returncode == -number
    service.go_on()
    assert terminal.run('apply')[0] == 0


@pytest.mark.slow
def test_the_playbook_of_the_page_applies_a_plan_in_parts(client, service, tmp_path):
    terminal = Terminal(client, service, tmp_path, 2)
    command = [PLACEMENT.with_name('ansible-playbook'), guide.SOURCE / 'examples' / 'window.yml']

    def played(*options):
        ended = subprocess.run(
            [*command, '-e', f'plan={terminal.plan}', *options],
            cwd=tmp_path,
            env={
                **terminal.environment,
                'PATH': f'{PLACEMENT.parent}:{os.environ["PATH"]}',
                'ANSIBLE_HOME': str(tmp_path / 'ansible'),
                'ANSIBLE_LOCALHOST_WARNING': 'false',
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    tree = storage.read_plan(str(terminal.plan)).changes[0]
    root = tree.root_provider_uuid
    generation = inventory.list(client, root).generation or 0
    inventory.set(client, root, 'VGPU', {'total': 16}, generation)
    status, printed = played()
    assert status == 2, printed
    assert tree.root_provider_name in printed.partition('Name the trees')[2], printed
    inventory.set(client, root, 'VGPU', {'total': 8, 'max_unit': 8}, generation + 1)
    status, printed = played('-e', 'limit=1')
    assert (status, 'changed=1' in printed) == (0, True), printed
    status, printed = played()
    assert (status, 'changed=0' in printed) == (0, True), printed
