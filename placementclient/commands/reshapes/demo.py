# SPDX-License-Identifier: Apache-2.0
"""A whole reshape on a small cloud, as a demonstration."""

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from placementclient.basis import errors
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option

#: The snapshots of the cloud that the demo shows, and of the one that ``--keep`` leaves.
_CLOUD, _START = 'cloud.json', 'today.json'
_LISTS = ('servers.json', 'migrations.json', 'hypervisors.json')
#: The time of the last change of all servers in these lists.
_CHANGED = '2026-11-02T08:05:00'
_PREFIX = 'resource provider reshape'


class DemonstrateReshape(base.PlacementCommand):
    """Show a whole reshape, on a small cloud in a scratch embedded Placement.

    The demo prints each command as you would type it, and its output. It takes about half a minute
    and leaves nothing behind.

    With --keep, the cloud stays as it was before the reshape, in an embedded Placement in a folder,
    with files to try commands on, such as lists of Nova. The demo prints how to go on.
    """

    examples = ('--keep demo',)
    auth_required = False
    options = (Option('--keep <folder>', help='Leave the cloud in this folder, which must be new'),)

    def execute(self) -> None:
        folder = self.args.keep and Path(self.args.keep).absolute()
        if folder:
            try:
                folder.mkdir(mode=0o700)
            except OSError as error:
                raise errors.BadFile(str(folder), error.strerror or str(error)) from None
        with (
            tempfile.TemporaryDirectory() as scratch,
            self._run_embedded_placement(Path(scratch), _CLOUD),
        ):
            self._show_reshape()
        if folder:
            with self._run_embedded_placement(folder, _START):
                self._write_cloud_files(self.args.keep)
        else:
            again = f'{self.program} {_PREFIX} demo --keep demo'
            self._print_explanation(
                f'The demo has removed its cloud. To go on in such a cloud: {again}'
            )

    @contextlib.contextmanager
    def _run_embedded_placement(self, folder: Path, snapshot_name: str) -> Iterator[None]:
        """In the block, work in a folder with an embedded Placement that has the named snapshot."""
        from keystoneauth1.session import Session

        from placementclient.client import http, microversion
        from placementclient.embedded import Direct
        from placementclient.files import disk
        from placementclient.producers import restore

        data = resources.files('placementclient.runs') / 'demo'
        with Direct.scratch(folder) as service, contextlib.chdir(folder):
            self._session = Session(auth=service)
            self._scratch = http.Client(self._session, microversion.HIGHEST)
            with resources.as_file(data) as files:
                left_out = shutil.ignore_patterns(_CLOUD, _START)
                shutil.copytree(files, '.', ignore=left_out, dirs_exist_ok=True)
                restore.load_snapshot(self._scratch, disk.read_snapshot(str(files / snapshot_name)))
            yield

    def _show_reshape(self) -> None:
        """Print and run the commands of a whole reshape, with explanations."""
        tree = 'resource provider tree show compute1 --allocations'
        self._print_explanation(
            'A host with two GPU cards, whose eight VGPU are all in one inventory:'
        )
        self._run_command(tree)
        self._print_explanation(
            'The next release of Nova reports each card as a provider below the host:'
        )
        self._print_file('vgpu.yaml')
        self._run_command('resource provider snapshot save cloud.json')
        plan = f'{_PREFIX} plan --spec vgpu.yaml --snapshot cloud.json -o plan.json'
        self._print_explanation(
            'Which card a server uses is a fact that Placement does not know. Nothing is guessed:'
        )
        self._run_command(plan, errors.ExitStatus.UNDECIDED)
        self._print_explanation(
            'The host knows it. What "reshape collector" has found there is in a folder:'
        )
        self._run_command(
            f'{_PREFIX} assignments --host-facts compute1 --snapshot cloud.json -o gpu-map.csv',
            errors.ExitStatus.DIFFERS,
        )
        self._print_explanation(
            'All but the servers of compute2, which stays as it is, and the migration: the '
            'specification names its card:'
        )
        self._print_file('gpu-map.csv')
        self._run_command(f'{plan} --assignments gpu-map.csv')
        self._run_command(f'{_PREFIX} show plan.json')
        self._run_command(f'{_PREFIX} apply plan.json --yes')
        self._run_command(f'{_PREFIX} verify plan.json')
        self._print_explanation('The same cloud now:')
        self._run_command(tree)

    def _write_cloud_files(self, folder: str) -> None:
        """Write files to try commands on; print how to use the cloud in the folder."""
        from placementclient.files import disk
        from placementclient.reading import capture

        disk.write_snapshot(_START, capture.capture(self._scratch))
        # Records that are older than the allocations would prove nothing.
        now = datetime.now(UTC).isoformat(timespec='seconds')
        for path in map(Path, _LISTS):
            path.write_text(path.read_text().replace(_CHANGED, now.removesuffix('+00:00')))
        print(
            f'\n# The cloud as it was at the beginning is in {folder}. Go on with it:\n',
            f'cd {shlex.quote(folder)}',
            'export OS_AUTH_TYPE=placement_direct '
            'OS_PLACEMENT_DATABASE=sqlite:///$PWD/placement.sqlite',
            '\n# Remove it:\n',
            'unset OS_AUTH_TYPE OS_PLACEMENT_DATABASE',
            f'cd .. && rm -r {shlex.quote(folder)}',
            sep='\n',
            file=self.app.stdout,
        )

    def _print_explanation(self, text: str) -> None:
        print(f'\n# {text}\n', file=self.app.stdout, flush=True)

    def _print_file(self, name: str) -> None:
        print(f'$ cat {name}\n{Path(name).read_text()}', file=self.app.stdout)

    def _run_command(self, command: str, status: int = errors.ExitStatus.DONE) -> None:
        """Print a command and run it; raise an error if it ends with another exit status."""
        from placementclient.cli import shell

        print(f'$ {self.program} {command}', file=self.app.stdout, flush=True)
        with contextlib.redirect_stderr(self.app.stdout):
            ended = shell.main(shlex.split(command), session=self._session)
        if ended == shell.BROKEN_PIPE:
            raise BrokenPipeError
        if ended != status:
            raise errors.PlacementError(f'the demo has failed: exit status {ended}')
        print(f'(exit status {int(status)})\n' if status else '', file=self.app.stdout, flush=True)
