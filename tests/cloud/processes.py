# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the program that starts them, each with a file of its process ID."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tests.cloud import layout

#: How long a process may take to start or to end, in seconds.
TIMEOUT = 120


class NotStarted(Exception):
    """A service ended, or does not answer."""


def log(name: str) -> Path:
    return _made('logs') / f'{name}.log'


def _made(folder: str) -> Path:
    path = layout.state() / folder
    path.mkdir(parents=True, exist_ok=True)
    return path


def _file(name: str) -> Path:
    return _made('run') / name


def _started(pid: int) -> str | None:
    """When a process was started, in ticks; ``None`` where there is none."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return None
    return None if fields[0] == 'Z' else fields[19]


def pid(name: str) -> int | None:
    """The ID of a running process of the cloud; ``None`` where it does not run.

    The time of its start tells it from a stranger that has got the same ID.
    """
    try:
        number, started = _file(name).read_text().split()
    except (OSError, ValueError):
        return None
    return int(number) if _started(int(number)) == started else None


def running() -> list[str]:
    return [path.name for path in sorted(_made('run').iterdir()) if pid(path.name)]


def start(name: str, command: Sequence[str], environment: Mapping[str, str] = {}) -> None:
    """Start a process in the background, if it does not run."""
    if pid(name):
        return
    with open(log(name), 'ab') as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=layout.state(),
            env=_variables(environment),
            start_new_session=True,
        )
    _note(name, process.pid)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        'PATH': f'{layout.environment()}/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME': str(_made('home')),
        'LANG': 'C.UTF-8',
        **environment,
    }


def _note(name: str, number: int) -> None:
    _file(name).write_text(f'{number} {_started(number)}')


def fork(name: str, arguments: Sequence[str], environment: Mapping[str, str] = {}) -> None:
    """Start a program of Nova in the background, if it does not run; see ``inside/forker.py``."""
    if not pid(name):
        with _forked(arguments, environment, log(name)) as answer:
            _note(name, int(answer.readline()))


def run_forked(arguments: Sequence[str], output: Path) -> int:
    """Run a program of Nova to its end, and return its exit status.

    :param output: the file to which its output is added
    """
    with _forked(arguments, {}, output) as answer:
        answer.readline()
        return int(answer.readline())


@contextlib.contextmanager
def _forked(
    arguments: Sequence[str], environment: Mapping[str, str], output: Path
) -> Iterator[TextIO]:
    """Ask the forker for a process, and return its answer."""
    request = {
        'arguments': arguments,
        'environment': _variables(environment),
        'folder': str(layout.state()),
        'log': str(output),
    }
    wait('the forker', forker().exists, 'forker')
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile('rw') as stream:
        connection.connect(str(forker()))
        print(json.dumps(request), file=stream, flush=True)
        yield stream


def forker() -> Path:
    """Return the path of the socket of the process that forks programs of Nova."""
    return layout.state() / 'forker'


def stop(*names: str, how: signal.Signals = signal.SIGTERM) -> None:
    """End processes, those that they started too; those that do not end within 20 s are killed."""
    pids = {name: number for name in names if (number := pid(name))}
    for number in pids.values():
        os.killpg(number, how)
    for name, number in pids.items():
        if not _ends(number, 20):
            os.killpg(number, signal.SIGKILL)
            _ends(number, 5)
        _file(name).unlink(missing_ok=True)


def _ends(number: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(number, os.WNOHANG)
        if _started(number) is None:
            return True
        time.sleep(0.05)
    return False


def wait(what: str, is_ready: Callable[[], object], *names: str, seconds: float = TIMEOUT) -> None:
    """Wait until something is true.

    :param names: the processes that have to run meanwhile
    :raises NotStarted: if one of them ends, or the time is over
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name in names:
            if not pid(name):
                raise NotStarted(f'{name} has ended:\n{tail(name)}')
        if is_ready():
            return
        time.sleep(0.2)
    raise NotStarted(f'{what} is not there after {seconds} s\n' + '\n'.join(map(tail, names)))


def tail(name: str, lines: int = 30) -> str:
    text = log(name).read_text(errors='replace') if log(name).exists() else ''
    return '\n'.join([f'--- {log(name)}', *text.splitlines()[-lines:]])


def listens(service: str) -> bool:
    try:
        socket.create_connection(('127.0.0.1', layout.ports()[service]), timeout=1).close()
    except OSError:
        return False
    return True


def memory() -> int:
    """The memory of all processes of the cloud, in MiB: what each has for itself, and its share."""
    groups = {number for name in running() if (number := pid(name))}
    total = 0
    for path in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError, IndexError, ProcessLookupError):
            if os.getpgid(int(path.name)) in groups:
                rollup = (path / 'smaps_rollup').read_text()
                total += sum(
                    int(line.split()[1]) for line in rollup.splitlines() if line[:4] == 'Pss:'
                )
    return total // 1024
