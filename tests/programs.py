# SPDX-License-Identifier: Apache-2.0
"""The program ``placement``, run in this process, and how it ended."""

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from placementclient.cli import shell


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    status: int
    stdout: str
    stderr: str

    def json(self, *statuses):
        """Return what was printed, once the status is one of those expected."""
        assert self.status in (statuses or (0,)), f'status {self.status}: {self.stderr}'
        return json.loads(self.stdout)


Placement = Callable[..., Result]


def words(argv):
    """Return the words of a command line; a single string is split as a shell does."""
    return shlex.split(argv[0]) if len(argv) == 1 else list(argv)


def run(capsys, arguments, session=None):
    """Run ``placement`` in this process; without a session, the environment says where."""
    capsys.readouterr()
    try:
        status = shell.main(arguments, session=session)
    except SystemExit as exit:
        status = int(exit.code or 0)
    return Result(status, *capsys.readouterr())


def isolate(monkeypatch, home):
    """Hide the cloud settings and the home of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith('OS_')]:
        monkeypatch.delenv(name)
    monkeypatch.setenv('HOME', str(home))
