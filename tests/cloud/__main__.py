# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.cloud install|up|status|down|run``."""

import os
import re
import signal
import subprocess
import sys
import time

from tests.cloud import control, installation, layout, processes

#: The modules of tests that run side by side; the first ones change hosts. What matters most comes
#: first, should there be no time for all.
GROUPS = {
    'tests-of-hosts': (
        *('nova_manage', 'reshape', 'scheduler', 'requests', 'drain', 'audit', 'dead_host'),
    ),
    'other-tests': ('identity', 'metrics'),
}

_NOT_RUN = re.compile('^did NOT run: (.*)$', re.MULTILINE)


def main(command='run', *arguments):
    """Do one of the commands.

    ``run`` starts the cloud, runs the tests, or those that are named, and stops it. It begins no
    test when the seconds of ``PLACEMENT_TEST_CLOUD_SECONDS`` are over, says which ones did not
    run, and begins with them next time. Exit status 77: the packages cannot be installed here, and
    nothing was tested.
    """
    began = time.monotonic()
    # Whoever ends this command ends the cloud.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if command in ('install', 'up', 'run'):
        try:
            installation.install()
        except installation.NotInstallable as reason:
            print(f'!!! The cloud cannot be installed here: its tests did NOT run !!!\n{reason}')
            return 77
    try:
        if command in ('up', 'run'):
            control.up()
            _say('up', began)
        if command == 'run':
            return _test(began, *arguments)
        if command == 'status':
            _say(f'{", ".join(processes.running()) or "nothing"} running', began)
    except processes.NotStarted as failure:
        print(failure)
        return 1
    finally:
        if command in ('down', 'run'):
            control.down(keep=command == 'run')
    return 0


def _say(what, began):
    seconds = time.monotonic() - began
    print(f'== {what}: {layout.state()}, {seconds:.0f} s, {processes.memory()} MiB', flush=True)


def _test(start, *arguments):
    began = time.monotonic()
    if seconds := os.environ.get(layout.LIMIT):
        os.environ[layout.LIMIT] = str(float(seconds) - (began - start))
    runs = {'tests': list(arguments)}
    if not arguments:
        runs = {key: [f'tests/cloud/test_{n}.py' for n in names] for key, names in GROUPS.items()}
    started = {name: _pytest(name, chosen) for name, chosen in runs.items()}
    try:
        statuses = [process.wait() for process in started.values()]
    finally:
        for name, process in started.items():
            process.terminate()
            print(processes.log(name).read_text())
    left = [name for group in runs for name in _NOT_RUN.findall(processes.log(group).read_text())]
    if not arguments:
        (layout.folder() / 'left-out').write_text('\n'.join(left))
    outcome = 'FAILED' if any(statuses) else 'passed'
    _say(f'tests {outcome}{f", {len(left)} left out" if left else ""}', began)
    return max(statuses)


def _pytest(name, arguments):
    command = [sys.executable, '-m', 'pytest', '-q', '--durations=10', *arguments]
    with open(processes.log(name), 'w') as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


if __name__ == '__main__':
    raise SystemExit(main(*sys.argv[1:]))
