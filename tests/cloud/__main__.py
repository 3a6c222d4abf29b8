"""``python -m tests.cloud install|up|status|down|run``."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.cloud import control, installation, layout, processes


def main(command: str = 'run', *arguments: str) -> int:
    """Do one of the commands.

    ``run`` starts the cloud, runs the tests, or those that are named, and stops it. It begins no
    test after the seconds of ``PLACEMENT_TEST_CLOUD_SECONDS``, and says which ones did not run.
    Exit status 77: the packages cannot be installed here, and nothing was tested.
    """
    began = time.monotonic()
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
            return _test(*arguments)
        if command == 'status':
            _say(f'{", ".join(processes.running()) or "nothing"} running', began)
    except processes.NotStarted as failure:
        print(failure)
        return 1
    finally:
        if command in ('down', 'run'):
            control.down(keep=command == 'run')
    return 0


def _say(what: str, began: float) -> None:
    seconds = time.monotonic() - began
    print(f'== {what}: {layout.state()}, {seconds:.0f} s, {processes.memory()} MiB', flush=True)


def _test(*arguments: str) -> int:
    began = time.monotonic()
    # What matters most comes first, should there be no time for all.
    order = ('nova_manage', 'reshape', 'scheduler', 'dead_host', 'metrics', 'identity')
    chosen = arguments or [f'tests/cloud/test_{name}.py' for name in order]
    status = subprocess.call([sys.executable, '-m', 'pytest', '-q', '--durations=10', *chosen])
    _say('tests', began)
    return status


if __name__ == '__main__':
    raise SystemExit(main(*sys.argv[1:]))
