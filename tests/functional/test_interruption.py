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
from tests.logged import without_request_id

BIN = Path(sys.executable).parent


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
@pytest.mark.parametrize(
    ('program', 'number'), [('placement', signal.SIGTERM), ('openstack', signal.SIGINT)]
)
def test_an_interrupted_tree_apply_reports_each_change(service, tmp_path, program, number):
    """Those that are done in the table, and the one that was sent beside it."""
    hosts = {f'{program}-{number.name}-{index}': index for index in (1, 2)}
    (tmp_path / 'trees.json').write_text(json.dumps([{'name': name} for name in hosts]))
    service.stop_at(2, 'after')
    command = ('resource', 'provider', 'tree', 'apply', str(tmp_path / 'trees.json'), '--yes')
    process = start(service, program, *command, '-f', 'json')
    assert service.wait_until_reached(process)
    process.send_signal(number)
    printed, message = process.communicate(timeout=60)
    service.go_on()
    assert process.returncode == 130
    states = [(row['object'], row['change'], row['state']) for row in json.loads(printed)]
    assert states == [
        (name, 'create', state) for name, state in zip(hosts, ('done', 'not known'), strict=True)
    ]
    assert without_request_id(message) == (
        'Interrupted: whether POST /resource_providers was done is not known\n'
        f'1 applied, 1 not known: {program}-{number.name}-2 (exit 130)\n'
    )
    assert hosts.keys() <= providers(service)


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
