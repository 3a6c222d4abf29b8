"""The whole reshape on a small cloud, to see it happen."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from placementclient.client import errors
from placementclient.commands.framework import base

#: The cloud, which is loaded; the rest of the files is for the commands.
_CLOUD = 'cloud.json'
_HOST = 'compute1'
_PREFIX = 'resource provider reshape'


class DemoReshape(base.Command):
    """Show a whole reshape, on a small cloud in a scratch embedded Placement.

    The cloud has two hosts, one with two GPU cards. The demo prints each command as you would type
    it, and its output. Nothing is left behind. It takes about half a minute.

    Example:

      openstack resource provider reshape demo
    """

    auth_required = False

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from keystoneauth1.session import Session

        from placementclient.embedded import Direct

        with (
            Direct.scratch() as service,
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
        ):
            _Demo(self.app, Session(auth=service)).run()


class _Demo:
    """One run of the demo.

    It works in the current folder.

    :param session: of the scratch Placement
    """

    def __init__(self, app: Any, session: Any) -> None:
        self._stdout, self._program = app.stdout, app.NAME
        self._session = session

    def run(self) -> None:
        """The cloud as it is; plan, show, apply, verify; the cloud as it has become."""
        self._prepare()
        self._say('A host with two GPU cards, whose eight VGPU are all in one inventory:')
        self._trees()
        self._say('The next release of Nova reports each card as a provider below the host:')
        self._cat('vgpu.yaml')
        self._type('resource provider snapshot save cloud.json')
        plan = f'{_PREFIX} plan --spec vgpu.yaml --snapshot cloud.json -o plan.json'
        self._say(
            'Which card a server uses is a fact that Placement does not know. Nothing is guessed:'
        )
        self._type(plan, errors.ExitStatus.UNDECIDED)
        self._say('The host knows it. What "reshape collector" has found there is in a folder:')
        self._type(
            f'{_PREFIX} assignments --host-facts compute1 --snapshot cloud.json -o gpu-map.csv',
            errors.ExitStatus.DIFFERS,
        )
        self._say('All but the migration, of which the specification says where it belongs:')
        self._cat('gpu-map.csv')
        self._type(f'{plan} --assignments gpu-map.csv')
        self._type(f'{_PREFIX} show plan.json')
        self._type(f'{_PREFIX} apply plan.json --yes')
        self._type(f'{_PREFIX} verify plan.json')
        self._say('The same cloud now:')
        self._trees()

    def _prepare(self) -> None:
        from placementclient.client import http, microversion
        from placementclient.files import disk
        from placementclient.producers import restore

        data = resources.files('placementclient.reshape') / 'demo'
        with resources.as_file(data) as folder:
            shutil.copytree(folder, '.', ignore=shutil.ignore_patterns(_CLOUD), dirs_exist_ok=True)
            cloud = disk.read_snapshot(str(folder / _CLOUD))
        self._client = http.Client(self._session, microversion.HIGHEST)
        restore.load(self._client, cloud)

    def _say(self, text: str) -> None:
        print(f'\n# {text}\n', file=self._stdout, flush=True)

    def _cat(self, name: str) -> None:
        print(f'$ cat {name}\n{Path(name).read_text()}', file=self._stdout)

    def _trees(self) -> None:
        from placementclient.model.trees import Tree
        from placementclient.reading import capture
        from placementclient.render import trees

        snapshot = capture.capture(self._client)
        for root in snapshot.roots():
            for line in trees.detailed(Tree(snapshot, root), allocations=root.name == _HOST):
                print(line, file=self._stdout)

    def _type(self, command: str, status: int = errors.ExitStatus.DONE) -> None:
        """Run a command as if it were typed.

        :param status: the exit status that it should end with
        """
        from placementclient.cli import shell

        print(f'$ {self._program} {command}', file=self._stdout, flush=True)
        with contextlib.redirect_stderr(self._stdout):
            ended = shell.main(shlex.split(command), session=self._session)
        if ended == shell.BROKEN_PIPE:
            raise BrokenPipeError
        if ended != status:
            raise errors.PlacementError(f'the demo has failed: exit status {ended}')
        print(f'(exit status {int(status)})\n' if status else '', file=self._stdout, flush=True)
