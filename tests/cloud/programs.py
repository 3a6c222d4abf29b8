# SPDX-License-Identifier: Apache-2.0
"""The programs ``placement`` and ``openstack``, as processes of their own."""

import importlib
import io
import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from openstackclient import shell as openstack

from placementclient.cli import shell as placement
from tests.programs import Result

#: Waits for the end of a program.
Waiting = Callable[[], Result]
MAINS = {'placement': placement.main, 'openstack': openstack.main}
#: What OpenStackClient loads for each of its commands, which takes a second.
_PLUGINS = (
    'openstack.connection',
    'openstackclient.compute.client',
    'openstackclient.image.client',
)


def start(name: str, *argv: str, environment: Mapping[str, str], answers: str = '') -> Waiting:
    """Start a program with no other variables of a cloud; return what waits for its end.

    :param answers: what is typed
    """
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name(name)), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_variables(environment),
    )

    def wait() -> Result:
        try:
            texts = process.communicate(answers, timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Result(process.returncode, *texts)

    return wait


def fork(name: str, *argv: str, environment: Mapping[str, str], answers: str = '') -> Waiting:
    """Start a program as :func:`start` does, in a copy of this process.

    The copy has loaded both programs, which takes longer than most commands.
    """
    for plugin in _PLUGINS:
        importlib.import_module(plugin)
    clouds = Path('clouds.yaml')
    if clouds.exists():
        # openstacksdk looks for it in the folder where it was loaded.
        environment = {'OS_CLIENT_CONFIG_FILE': str(clouds.absolute()), **environment}
    streams = [os.memfd_create(stream) for stream in ('stdin', 'stdout', 'stderr')]
    os.pwrite(streams[0], answers.encode(), 0)
    child = os.fork()
    if not child:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _become(name, argv, _variables(environment))

    def wait() -> Result:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _, stdout, stderr = [Path(f'/proc/self/fd/{stream}').read_text() for stream in streams]
        for stream in streams:
            os.close(stream)
        return Result(status, stdout, stderr)

    return wait


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    return {**inherited, **environment}


def _become(name: str, argv: tuple[str, ...], variables: Mapping[str, str]) -> None:
    """Run a program in place of the tests, and end."""
    status: object = 70
    try:
        sys.argv = [name, *argv]
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, mode), write_through=True)
            for number, mode in enumerate('rww')
        )
        os.environ.clear()
        os.environ.update(variables)
        logging.getLogger().handlers.clear()
        warnings.simplefilter('ignore')
        status = MAINS[name](list(argv))
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status if isinstance(status, int) else int(status is not None))


def run(name: str, *argv: str, environment: Mapping[str, str], answers: str = '') -> Result:
    """Run a program to its end, as :func:`fork` starts it."""
    return fork(name, *argv, environment=environment, answers=answers)()
