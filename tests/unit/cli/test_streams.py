# SPDX-License-Identifier: Apache-2.0
"""Streams that cron or a shell has closed."""

import os
import shlex
import subprocess
import sys

import pytest

PROGRAM = shlex.join([sys.executable, '-m', 'placementclient'])


def run(command, home):
    environment = os.environ | {'OS_AUTH_TYPE': 'placement_direct', 'XDG_DATA_HOME': str(home)}
    return subprocess.run(
        ['bash', '-c', f'{PROGRAM} {command}'],
        env=environment,
        input='',
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize('closed', ['>&-', '2>&-', '<&- >&- 2>&-'])
def test_closed_streams_do_not_stop_a_command(closed, tmp_path):
    done = run(f'resource class create CUSTOM_X {closed}', tmp_path)
    assert (done.returncode, done.stderr) == (0, '')
    listed = run(f'resource class list -f value {closed}', tmp_path)
    assert (listed.returncode, listed.stderr) == (0, '')
    assert ('CUSTOM_X\n' in listed.stdout) == ('>&-' not in closed.split())


@pytest.mark.slow
def test_an_error_keeps_its_exit_status_with_closed_streams(tmp_path):
    for closed in ('>&-', '>&- 2>&-'):
        refused = run(f'resource class show VCPUS {closed}', tmp_path)
        assert refused.returncode == 1
        assert ('VCPUS' in refused.stderr) == ('2>&-' not in closed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('command', 'ending'),
    [
        (
            'batch - <<< "trait create CUSTOM_A\ntrait create CUSTOM_B"',
            '; line 1 was carried out, with exit status 0; the lines after it have changed nothing',
        ),
        ('complete bash', ''),
        ('--help', ''),
        # Longer than the buffer of a stream, and shorter.
        ('resource provider audit --help', ''),
        ('trait list --help', ''),
        ('help trait list', ''),
    ],
)
def test_a_full_disk_for_output_is_an_error(command, ending, tmp_path):
    full = run(f'{command} > /dev/full', tmp_path)
    sentence = f'Cannot write to stdout: No space left on device{ending}\n'
    assert (full.returncode, full.stderr) == (1, sentence)


@pytest.mark.slow
def test_a_question_without_a_standard_input_is_wrong_usage(tmp_path):
    run('resource provider create compute1', tmp_path)
    purged = run('resource provider purge compute1 <&-', tmp_path)
    assert purged.returncode == 2
    assert 'use --yes' in purged.stderr
