# SPDX-License-Identifier: Apache-2.0
"""What starting loads: no more than the command needs, or starting would become slow unnoticed."""

import json
import os
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

#: Other services' clients, the interactive shell, the SDK, servers, solvers, what draws progress,
#: what reads files.
NEVER = {
    'alembic', 'cinderclient', 'cmd2', 'dogpile', 'highspy', 'hypothesis', 'jsonschema', 'networkx',
    'novaclient', 'numpy', 'openstack', 'openstackclient', 'os_traits',
    'oslo_config', 'oslo_db', 'osc_lib.clientmanager', 'osc_lib.shell', 'pip', 'pkg_resources',
    'placement', 'prompt_toolkit', 'pygments', 'pytest', 'readline', 'rich', 'scipy', 'setuptools',
    'placementclient.cli.completion', 'sqlalchemy', 'webob', 'yaml',
}  # fmt: skip
#: What it takes to reach a service, and to print a table.
NETWORK = {'keystoneauth1', 'requests', 'urllib3', 'ssl', 'socket'}
#: No commands, but their bases and their options.
BASES = {
    'base', 'change_command', 'document_command', 'filter_options', 'log_filters', 'option',
    'parser', 'placement_command', 'progress', 'provider_edits', 'selection_options', 'signals',
    'table_width',
}  # fmt: skip
#: The modules of commands that ``resource provider list`` needs.
LISTING = {
    'base', 'filter_options', 'log_filters', 'option', 'parser', 'placement_command',
    'resource_provider', 'signals',
}  # fmt: skip
#: What only an error needs.
FAILING = {'placementclient.client.unreachable', 'placementclient.render.failures'}
OURS_NEVER = {'planner', 'insight', 'runs', 'producers', 'embedded'}

#: Runs the program and prints what is loaded at its end, on stderr, behind all that it says.
RUN = """
import atexit, json, sys
print_ = print
stderr = sys.stderr
atexit.register(lambda: print_(json.dumps(sorted(sys.modules)), file=stderr))
from placementclient.__main__ import main
sys.exit(main())
"""

#: The same with the other program.
RUN_OPENSTACK = RUN.replace('placementclient.__main__', 'openstackclient.shell')


class _Answer(BaseHTTPRequestHandler):
    """A service that has one provider."""

    def do_GET(self):
        provider = {'uuid': 'u', 'name': 'compute1', 'generation': 1}
        provider |= {'root_provider_uuid': 'u', 'parent_provider_uuid': None}
        body = json.dumps({'resource_providers': [provider]}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope='module')
def url():
    server = HTTPServer(('127.0.0.1', 0), _Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()


def loaded(*argv, program=RUN, **environment):
    """What a program prints, and the modules that it has loaded when it ends."""
    ended = subprocess.run(
        [sys.executable, '-c', program, *argv],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    *messages, modules = ended.stderr.splitlines()
    assert ended.returncode == 0, ended.stderr
    # OpenStackClient 8 ends a help text with an error of its own.
    assert [line for line in messages if not line.startswith('Could not clean up:')] == []
    return ended.stdout, set(json.loads(modules))


def commands(modules):
    """The modules of commands that are loaded."""
    prefix = 'placementclient.commands.'
    names = (module.removeprefix(prefix) for module in modules if module.startswith(prefix))
    return {name.partition('.')[2] for name in names} - {''}


def ours(modules):
    """The parts of the package that are loaded."""
    return {module.split('.')[1] for module in modules if module.startswith('placementclient.')}


@pytest.mark.parametrize('format', ['table', 'json'])
def test_a_command_loads_what_it_needs_and_no_other_command(url, format):
    argv = ('resource', 'provider', 'list', '-f', format)
    # What is given on the line loads no more than what is given by the environment.
    options = ('--os-auth-type', 'none', '--os-endpoint', url) if format == 'json' else ()
    output, modules = loaded(*options, *argv, OS_AUTH_TYPE='none', OS_ENDPOINT=url)
    assert 'compute1' in output
    assert modules & NEVER == set()
    assert ours(modules) & OURS_NEVER == set()
    assert commands(modules) <= LISTING | ({'table_width'} if format == 'table' else set())
    assert modules & FAILING == set()


@pytest.mark.parametrize('argv', ['resource provider list --help', 'help trait list'])
def test_the_help_of_a_command_does_without_the_network(argv):
    output, modules = loaded(*argv.split())
    assert output.startswith('usage: placement')
    assert modules & (NEVER | {'keystoneauth1', 'requests', 'urllib3'}) == set()
    assert ours(modules) & OURS_NEVER == set()
    assert len(commands(modules) - BASES) == 1


def test_the_overview_does_without_the_network_and_the_work():
    output, modules = loaded('--help')
    assert 'resource provider list' in output
    assert modules & (NEVER | {'keystoneauth1', 'requests', 'urllib3'}) == set()
    assert ours(modules) & OURS_NEVER == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('argv', 'more'),
    [
        ('--version', set()),
        ('server list --help', set()),
        ('--help', {'command_help', 'entry_points'}),
    ],
)
def test_openstackclient_loads_no_command_but_the_one_that_runs(argv, more):
    """It loads the entry points of all commands at each start, and its help makes all commands."""
    output, modules = loaded(*argv.split(), program=RUN_OPENSTACK)
    assert ('\n  trait list     List the traits' in output) == (argv == '--help')
    assert commands(modules) == set()
    assert ours(modules) <= {'basis', 'cli', 'client', 'embedded'}
    assert 'msgspec' not in modules
    prefix = 'placementclient.cli.'
    parts = {name.removeprefix(prefix) for name in modules if name.startswith(prefix)}
    assert parts == {'factories', 'plugin'} | more


@pytest.mark.slow
def test_openstackclient_loads_the_command_that_runs_and_no_other(url):
    argv = ('resource', 'provider', 'list')
    output, modules = loaded(
        *argv, program=RUN_OPENSTACK, OS_AUTH_TYPE='none', OS_ENDPOINT=url, COLUMNS='200'
    )
    assert 'compute1' in output
    assert commands(modules) <= LISTING | {'table_width'}
    assert modules & (FAILING | {'placementclient.cli.command_help'}) == set()
    assert ours(modules) & OURS_NEVER == {'embedded'}


def test_ctrl_c_is_no_traceback_however_early():
    interrupted = """
import sys
class Finder:
    def find_spec(self, name, *args):
        if name == 'keystoneauth1' or name == 'cliff.app':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from placementclient.__main__ import main
sys.exit(main())
"""
    ended = subprocess.run(
        [sys.executable, '-c', interrupted, 'trait', 'list'], capture_output=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b'', b'Interrupted\n')


def test_unbuffered_output_is_not_written_piece_by_piece():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with (
        ours,
        subprocess.Popen(
            [sys.executable, '-c', RUN, '--help'],
            env={**os.environ, 'PYTHONUNBUFFERED': '1'},
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        theirs.close()
        pieces = list(iter(lambda: ours.recv(1_000_000), b''))
    assert process.returncode == 0
    assert b''.join(pieces).startswith(b'usage: placement ')
    assert len(pieces) < 5


def test_the_clouds_of_a_file_are_not_looked_for_without_need():
    _, modules = loaded('complete', 'bash', OS_CLOUD='nowhere', OS_AUTH_TYPE='nonsense')
    assert 'openstack' not in modules
    assert 'keystoneauth1' not in modules


def test_completion_loads_nothing_but_python():
    ended = subprocess.run(
        [sys.executable, '-c', RUN, 'complete', '--values', 'nonsense', ''],
        input='',
        capture_output=True,
        text=True,
        timeout=60,
    )
    modules = set(json.loads(ended.stderr))
    assert modules & {'cliff', 'stevedore', 'argparse', 'importlib.metadata', *NETWORK} == set()
    assert {module for module in modules if module.startswith('placementclient.')} == {
        'placementclient.__main__',
        'placementclient.cli',
        'placementclient.cli.completion',
        'placementclient.cli.completion.values',
    }
