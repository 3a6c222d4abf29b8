# SPDX-License-Identifier: Apache-2.0
"""``placement batch`` as a script uses it: a process of its own, over HTTP."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
LIST = 'resource class list -f value --sort-column name'


@pytest.fixture
def cloud(service_url):
    """The environment with the settings that lead to the service."""
    return {
        **os.environ,
        'OS_AUTH_TYPE': 'none',
        'OS_ENDPOINT': service_url,
        'PYTHONWARNINGS': 'ignore',
    }


def batch(lines, cloud, *options):
    """Run lines that come from stdin."""
    return subprocess.run(
        [BIN / 'placement', *options, 'batch', '-'],
        env=cloud,
        input=lines,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_line_of_a_batch_sees_what_earlier_lines_have_changed(cloud):
    name = "'host of the batch'"
    ended = batch(
        f'resource provider create {name} -f value -c name  # the host\n'
        f'resource provider inventory set {name} --resource VCPU=8 -f value -c total\n'
        f'resource provider inventory list {name} -f json -c resource_class -c total\n'
        f'resource provider delete {name}\n',
        cloud,
    )
    assert (ended.returncode, ended.stderr) == (0, '4 done\n')
    assert ended.stdout.count('# line ') == 4
    assert '"resource_class": "VCPU"' in ended.stdout


def test_a_batch_uses_one_connection(cloud):
    ended = batch(f'{LIST}\n' * 20, cloud, '--debug')
    assert ended.returncode == 0
    assert ended.stderr.count('Starting new HTTP connection') == 1
    assert ended.stderr.count('"GET /resource_classes HTTP/1.1" 200') == 20


@pytest.mark.parametrize(
    ('lines', 'options', 'count'),
    [(f'{LIST}\n' * 3, ['--timing'], 3), (f'{LIST}\n{LIST} --timing\n', [], 1)],
)
def test_timing_prints_each_request_of_a_batch_once(cloud, lines, options, count):
    assert batch(lines, cloud, *options).stderr.count('GET ') == count


@pytest.fixture
def piped(cloud):
    """Start a batch between pipes: ``piped('--keep-going')``; returns the process."""

    def start(*options):
        command = [BIN / 'placement', 'batch', *options]
        pipes = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.PIPE)
        return subprocess.Popen(command, env=cloud, text=True, **pipes)

    return start


def ask(process, line):
    """Type a line into a batch, and return the first line of the answer."""
    process.stdin.write(f'{line}\n')
    process.stdin.flush()
    return process.stdout.readline()


def test_a_program_may_read_the_answer_of_each_line_before_the_next(piped):
    with piped('--json-lines', '--keep-going') as process:
        for line, status in ((LIST, 0), ('trait show NONE', 1), (LIST, 0)):
            assert json.loads(ask(process, line))['status'] == status
        process.stdin.close()
        assert process.wait(60) == 1


def test_a_batch_ends_without_traceback_when_its_reader_closes_the_pipe(piped):
    with piped() as process:
        ask(process, LIST)
        process.stdout.close()
        process.stdin.write(f'{LIST}\n' * 3)
        process.stdin.close()
        assert process.stderr.read() == ''
        assert process.wait(60) == 141


def test_ctrl_c_ends_a_batch_at_once(piped):
    with piped('--keep-going') as process:
        ask(process, LIST)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == 'Interrupted\n'


def test_openstack_completes_our_commands(cloud):
    ended = subprocess.run(
        [BIN / 'openstack', 'complete'], env=cloud, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0
    for command in ('resource_provider_list', 'resource_provider_reshape_plan', 'trait_list'):
        assert f'  cmds_{command}=' in ended.stdout
    assert subprocess.run(['bash', '-n'], input=ended.stdout, text=True).returncode == 0
