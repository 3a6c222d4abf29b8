# SPDX-License-Identifier: Apache-2.0
"""Command lines of every command that is registered, and what may become of them."""

import io
import itertools
import shlex
import shutil
import sqlite3
import sys
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import distribution

import pytest
from hypothesis import strategies as st
from keystoneauth1.session import Session

from placementclient.api import allocation, inventory, resource_class, resource_provider, trait
from placementclient.basis import errors
from placementclient.basis.printable import escape_text
from placementclient.cli import shell
from placementclient.cli.entry_points import load_command
from placementclient.client import http, microversion
from placementclient.commands.inspection import metrics_server
from placementclient.embedded import Direct
from placementclient.files import disk
from placementclient.model.consumers import Consumer
from placementclient.producers import restore
from tests.functional import databases
from tests.fuzzing import TEXTS
from tests.good_files import GOOD
from tests.unit.changes.records.test_plans import CLOUD
from tests.unit.commands.test_registry import name

POINTS = sorted(
    itertools.chain(
        *(
            distribution(shell.DISTRIBUTION).entry_points.select(group=group)
            for group in (shell.COMMANDS, 'placementclient.program')
        )
    )
)
#: What the examples of the help name, and what a service may hold that is no name at all.
HOSTS = ('compute1', 'compute2', 'storage', '\x1b[2J\u202eevil\n')
CONSUMER = '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8'
#: The files that the examples name, by kind.
FILES = {
    'cloud.json': 'snapshot', 'before.json': 'snapshot', 'plan.json': 'plan',
    'vgpu.yaml': 'specification', 'gpu-map.csv': 'assignments', 'trees.yaml': 'declaration',
    'servers.json': 'servers', 'details.json': 'server details', 'migrations.json': 'migrations',
    'aggregates.json': 'aggregates', 'flavors.json': 'flavors', 'pci.csv': 'devices',
    'nova.conf': 'device spec', 'facts/gpu1.tar': 'host facts', 'body.json': 'document',
    'allocations.json': 'document',
}  # fmt: skip
#: Of the commands that only the program has.
EXAMPLES = {'batch': [['commands', '--keep-going']], 'complete': [['bash']]}
#: Command lines beside the examples of the help: those change nothing, or ask Nova.
MORE = {
    'resource_provider_purge': ['compute1 --force --yes'],
    'resource_provider_replace': [
        'compute1 --uuid 7d8fd7d2-43c6-4a93-9b62-0a4c0b6b1e6f --yes',
        'compute1 --with compute2 --merge --yes',
    ],
    'resource_provider_allocation_heal': [
        '--servers details.json --yes',
        '--servers details.json --amounts --yes',
    ],
    'resource_provider_audit': ['--servers servers.json --migrations migrations.json --fix --yes'],
    'resource_provider_aggregate_sync': ['--aggregates aggregates.json --yes'],
    'resource_provider_drain_plan': ['compute1'],
}
COMMANDS = """
trait list --name startswith:CUSTOM_
placement resource provider show compute1 --os-placement-api-version 1.10
openstack resource provider set compute1 --name "\x1b[2J"
"""


def examples_of(point):
    """Return the arguments of command lines of a command, without its name."""
    lines = (*load_command(point).examples, *MORE.get(point.name, ()))
    return EXAMPLES.get(point.name) or [shlex.split(line) for line in lines]


@st.composite
def command_lines(draw, point):
    """An example of a command's help, in which something is something else."""
    command = load_command(point)
    parser = command(None, None).get_parser(name(point))
    options = [action for action in parser._actions if '--help' not in action.option_strings]
    words = list(draw(st.sampled_from(examples_of(point))))
    for _ in range(draw(st.integers(1, 3))):
        places = [i for i, word in enumerate(words) if not word.startswith('-')]
        what = draw(
            st.sampled_from(['value', 'value', 'value', 'option', 'option', 'gone', 'more'])
        )
        if what == 'option' and options:
            words += draw(option_words(draw(st.sampled_from(options))))
        elif what == 'more' or not places:
            words.append(draw(values()))
        else:
            place = draw(st.sampled_from(places))
            words[place : place + 1] = [draw(values())] if what == 'value' else []
    return words


@st.composite
def option_words(draw, option):
    """An option or an argument with its value, which is mostly none that it can have."""
    flag = option.option_strings[-1:]
    if option.nargs == 0:
        return flag
    if option.choices and draw(st.booleans()):
        return [*flag, str(draw(st.sampled_from(sorted(option.choices))))]
    value = draw(values())
    # As argparse wants it of a value that begins with a hyphen.
    return [f'{flag[0]}={value}' if flag and flag[0].startswith('--') else value]


#: What stands for something that there is.
SOUND = [*FILES, *HOSTS, CONSUMER, 'VCPU', 'VGPU', 'CUSTOM_FPGA', 'VCPU=1', 'HW_CPU_X86_AVX2']


def values():
    """A word; no absolute path but those that do no harm."""
    return st.sampled_from(SOUND) | TEXTS.map(_inside)


def _inside(text):
    harmless = ('/', '/dev/full', '/nonexistent/x')
    return f'.{text}' if text.startswith('/') and text not in harmless else text


class Output(io.TextIOWrapper):
    """Standard output, which is a terminal, or standard error, which is none: without progress."""

    def __init__(self, errors):
        super().__init__(io.BytesIO(), encoding='utf-8', errors=errors, newline='')

    def isatty(self):
        return self.errors == 'strict'

    def shown(self):
        """What was written to it."""
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    :param cause: what it did not expect, and what became a line at the last moment
    """

    status: int
    stdout: str
    stderr: str
    cause: BaseException | None


class Program:
    """The program on a service of its own, in a folder of its own; both are always as they were.

    :param session: of the embedded service, which must be empty
    :param is_true: whether all its answers are, so that what fails has done nothing
    """

    def __init__(self, session, folder, *, is_true=True):
        self._session, self._folder, self._is_true = session, folder, is_true
        self._fill(session)
        self._files = folder / 'files'
        for file, kind in FILES.items():
            (self._files / file).parent.mkdir(parents=True, exist_ok=True)
            (self._files / file).write_bytes(GOOD[kind][1][0])
        (self._files / 'commands').write_text(COMMANDS)
        path = session.auth.database.removeprefix('sqlite:///')
        self._database = sqlite3.connect(path)
        self._copy = sqlite3.connect(folder / 'copy')
        self._database.backup(self._copy)
        self._content = databases.content(self._database)
        self._round = 0

    def close(self):
        self._database.close()
        self._copy.close()

    def _fill(self, session):
        url = session.get_endpoint(service_type='placement')
        client = http.Client(session, microversion.HIGHEST, endpoint_override=url)
        for host in HOSTS:
            made = resource_provider.create(client, host)
            fields = {kind: {'total': 8} for kind in ('VCPU', 'MEMORY_MB', 'VGPU', 'DISK_GB')}
            inventory.set_all(client, made.uuid, fields, made.generation)
            consumer = CONSUMER if host == HOSTS[0] else made.uuid
            allocations = {made.uuid: {'VCPU': 1, 'VGPU': 1}}
            allocation.set(client, Consumer(consumer, allocations, host, host, None, 'INSTANCE'))
        resource_class.create(client, 'CUSTOM_FPGA')
        for custom in ('CUSTOM_NVIDIA_A40', 'CUSTOM_FAST_DISK'):
            trait.create(client, custom)
        restore.load_snapshot(client, disk.read_snapshot(str(CLOUD)))

    def run(self, words):
        """Run a command; where it fails it has changed nothing."""
        folder = self._folder / str(self._round) / 'a' / 'b'
        if not folder.exists():
            shutil.copytree(self._files, folder)
        before = _contents(folder)
        with chdir(folder):
            ended = self._run(words)
        content, after = databases.content(self._database), _contents(folder)
        is_changed = content != self._content or after != before
        if after != before:
            self._round += 1
        if content != self._content:
            self._copy.backup(self._database)
        if ended.status in (1, 2) and self._is_true:
            assert not is_changed, (words, ended)
        return ended

    def _run(self, words):
        causes: list[BaseException | None] = []
        out, err = Output('strict'), Output('backslashreplace')
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setenv('NO_COLOR', '1')
            patch.setenv('TERM', 'dumb')
            stdin = io.BufferedReader(io.BytesIO(b'{}'))
            patch.setattr(sys, 'stdin', io.TextIOWrapper(stdin))
            patch.setattr(shell.Shell, 'clean_up', lambda *args: causes.append(args[-1]))
            patch.setattr(metrics_server, 'serve_metrics', _read_once)
            try:
                status = shell.main(words, session=self._session)
            except SystemExit as exit:
                status = int(exit.code or 0)
        cause = next((cause for cause in causes if cause), None)
        is_meant = isinstance(cause, errors.PlacementError | SystemExit)
        return Ended(int(status), out.shown(), err.shown(), None if is_meant else cause)


def _read_once(where, collector):
    """Read, and raise what the service itself would only log."""
    collector._read_metrics()


def _contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob('*'))
        if path.is_file()
    }


def check(words, ended):
    """What holds of every command, whatever it was given and answered."""
    assert ended.cause is None, (words, ended)
    assert ended.status in tuple(errors.ExitStatus), (words, ended)
    assert 'Traceback' not in ended.stderr
    if ended.status in (1, 2):
        # Of a batch every line says what it says, on standard output as JSON.
        assert (ended.stderr or ended.stdout).strip(), words
    assert escape_text(ended.stderr) == ended.stderr, (words, ended)
    if not any(word.startswith(('-f', '--format')) for word in words):
        assert escape_text(ended.stdout) == ended.stdout, (words, ended)


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    with Direct.scratch() as service:
        program = Program(Session(auth=service), tmp_path_factory.mktemp('fuzz'))
        with closing(program):
            yield program
