# SPDX-License-Identifier: Apache-2.0
"""The programs as a user starts them: ``openstack`` and ``placement``, over HTTP, side by side."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.numbers import few_quick

BIN = Path(sys.executable).parent


def run(program, *argv, **environment):
    """Run a program of this environment."""
    return subprocess.run(
        [BIN / program, *argv],
        env={**os.environ, 'PYTHONWARNINGS': 'ignore', **environment},
        capture_output=True,
        timeout=120,
    )


@pytest.fixture
def cloud(service_url):
    """The settings that lead to the service over HTTP."""
    return {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': service_url}


@pytest.fixture
def provider(cloud):
    """The name of a provider."""
    name = f'compute-{uuid.uuid4()}'
    assert run('placement', 'resource', 'provider', 'create', name, **cloud).returncode == 0
    return name


@pytest.mark.parametrize('format', few_quick(['table', 'json'], quick=1))
def test_both_programs_print_the_same_bytes(cloud, provider, format):
    argv = ('resource', 'provider', 'list', '-f', format)
    lean, whole = (run(program, *argv, **cloud) for program in ('placement', 'openstack'))
    assert provider.encode() in lean.stdout
    assert (lean.returncode, lean.stdout, lean.stderr) == (
        whole.returncode,
        whole.stdout,
        whole.stderr,
    )


@pytest.mark.parametrize('program', ['placement', 'openstack'])
def test_a_failure_is_one_line_and_an_exit_status(cloud, program):
    ended = run(program, 'resource', 'provider', 'show', str(uuid.uuid4()), **cloud)
    assert ended.returncode == 1
    assert ended.stdout == b''
    assert ended.stderr.count(b'\n') == 1
    assert b'(HTTP 404)' in ended.stderr


@pytest.mark.parametrize(
    ('program', 'retries'),
    [('placement', '0'), pytest.param('openstack', '1', marks=pytest.mark.slow)],
)
def test_a_service_that_does_not_answer_is_an_error_with_its_url(program, retries):
    nobody = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'http://127.0.0.1:9'}
    words = ('--os-placement-retries', retries, 'trait', 'list')
    ended = run(program, *words, **nobody)
    assert (ended.returncode, ended.stdout) == (1, b'')
    assert ended.stderr.splitlines()[-1] == (
        b'No answer from http://127.0.0.1:9: Connection refused. Check that the service runs '
        b'there; the URL is from OS_ENDPOINT'
    )
    lost = run(program, *words[:2], 'trait', 'create', 'CUSTOM_LOST', **nobody)
    assert lost.returncode == 1
    assert b'unsupported operand' not in lost.stderr


def test_openstack_takes_a_timeout_in_fractions_of_a_second(cloud):
    words = ('--os-placement-timeout', '9.5', 'resource', 'class', 'show', 'VCPU', '-f', 'value')
    ended = run('openstack', *words, **cloud)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b'VCPU\n', b'')


@pytest.mark.parametrize('program', few_quick(['placement', 'openstack'], quick=1))
def test_the_embedded_placement_needs_no_setting(program):
    environment = {'OS_AUTH_TYPE': 'placement_direct'}
    created = run(program, 'resource', 'provider', 'create', 'compute1', **environment)
    assert (created.returncode, created.stderr) == (0, b'')
    listed = run(
        program, 'resource', 'provider', 'list', '-c', 'name', '-f', 'value', **environment
    )
    assert (listed.returncode, listed.stdout) == (0, b'compute1\n')


#: A plugin with the name, the option and a command of osc-placement.
PEER = {
    'osc_placement-4.9.1.dist-info/METADATA': 'Name: osc-placement\nVersion: 4.9.1\n',
    'osc_placement-4.9.1.dist-info/entry_points.txt': """
[openstack.cli.extension]
placement = osc_placement.plugin
[openstack.placement.v1]
resource_class_list = osc_placement.plugin:ListClass
""",
    'osc_placement/__init__.py': '',
    'osc_placement/plugin.py': """
from osc_lib.command import command
API_NAME = 'placement'
API_VERSION_OPTION = 'os_placement_api_version'
API_VERSIONS = {'1': ''}
def make_client(instance): raise SystemExit('the client of osc-placement')
def build_option_parser(parser):
    parser.add_argument('--os-placement-api-version', default='1')
    return parser
class ListClass(command.Lister):
    def take_action(self, args): raise SystemExit('the command of osc-placement')
""",
}
BESIDE = b'osc-placement is installed too: this is the command of python-placementclient\n'


@pytest.mark.parametrize(
    ('order', 'words', 'stderr'),
    [
        ('insert(0, ', ('resource', 'class', 'list', '-f', 'value'), BESIDE),
        ('append(', ('resource', 'class', 'list', '-f', 'value'), BESIDE),
        ('append(', ('server', 'list', '--help'), b''),
    ],
)
def test_the_commands_win_over_those_of_osc_placement_and_others_are_untouched(
    tmp_path, order, words, stderr
):
    for name, content in PEER.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    start = (
        f'import sys; sys.path.{order}{str(tmp_path)!r}); '
        'from openstackclient.shell import main; sys.exit(main())'
    )
    ended = run(sys.executable, '-c', start, *words, OS_AUTH_TYPE='placement_direct')
    assert (ended.returncode, ended.stderr) == (0, stderr)
    assert ended.stdout.strip()
