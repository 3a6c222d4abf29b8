# SPDX-License-Identifier: Apache-2.0
"""Commands that end while the real service is at work: what they tell is what was done."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional import stopping

BIN = Path(sys.executable).parent
WAITING = 'Waiting for 1 tree under way; a second Ctrl-C does not wait\n'


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    with stopping.running(tmp_path_factory.mktemp('service')) as service:
        yield service


def start(service, program, *argv):
    """A program on the service."""
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': service.url, 'PYTHONWARNINGS': 'ignore'}
    return subprocess.Popen(
        [BIN / program, *argv],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def providers(service):
    """The names of those that there are."""
    output, _ = start(
        service, 'placement', 'resource', 'provider', 'list', '-f', 'json'
    ).communicate()
    return {row['name'] for row in json.loads(output)}


@pytest.mark.slow
def test_an_interrupted_tree_apply_ends_the_tree_under_way_and_begins_no_other(service, tmp_path):
    hosts = ['host1', 'host2', 'host3']
    path = tmp_path / 'trees.json'
    path.write_text(json.dumps([{'name': name} for name in hosts]))
    service.stop_at(2, 'after')
    command = f'resource provider tree apply {path} --yes -f json'
    process = start(service, 'openstack', *command.split())
    assert service.wait_until_reached(process)
    process.send_signal(signal.SIGTERM)
    said = process.stderr.readline()
    service.go_on()
    printed, message = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, WAITING)
    states = [(row['object'], row['change'], row['state']) for row in json.loads(printed)]
    assert states == [
        (hosts[0], 'create', 'done'),
        (hosts[1], 'create', 'done'),
        (hosts[2], '', 'not started'),
    ]
    assert message == '2 applied, 1 not started (exit 130)\n'
    assert providers(service).intersection(hosts) == {*hosts[:2]}


@pytest.mark.parametrize('program', ['placement', 'openstack'])
def test_a_full_disk_for_output_hides_no_change(service, program):
    with open('/dev/full', 'wb') as full:
        ended = subprocess.run(
            [BIN / program, 'resource', 'provider', 'create', f'{program}-full'],
            env={**os.environ, 'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': service.url},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert ended.returncode == 1
    assert ended.stderr == (
        'Cannot write to stdout: No space left on device; '
        'the last change, POST /resource_providers, was done\n'
    )
    assert f'{program}-full' in providers(service)
