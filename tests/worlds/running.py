# SPDX-License-Identifier: Apache-2.0
"""A command on a random world."""

import contextlib
import io
import json
import random
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock
from uuid import UUID

from placementclient.cli import shell
from tests.worlds import lists
from tests.worlds.judging import Case
from tests.worlds.nova import LIES, LyingNova
from tests.worlds.stage import Stage
from tests.worlds.stories import build

COMMANDS = ('audit', 'purge', 'replace', 'heal')
#: The lists that a command takes; none: all.
_LISTS = {'replace': ('hypervisors',), 'heal': ('servers', 'flavors', 'migrations')}


@dataclass(frozen=True)
class World:
    """A cloud, a command, and what is wrong with the sources of the command.

    :param damages: of the files; or the lies of Nova
    :param only: the numbers of the stories; none: all
    :param race: the number of the request to Nova before which a server changes; ``None``: never
    """

    seed: int
    command: str
    is_live: bool = False
    damages: frozenset[str] = frozenset()
    only: frozenset[int] = frozenset()
    race: int | None = None

    @classmethod
    def draw(
        cls,
        seed: int,
        commands: Sequence[str] = COMMANDS,
        ways: Sequence[bool] = (False, True),
    ) -> 'World':
        """Return the world of a seed, with one of some commands, by files or live."""
        dice = random.Random(f'world {seed}')
        command, is_live = dice.choice(commands), dice.choice(ways)
        known = LIES if is_live else tuple(lists.DAMAGES)
        if command == 'replace' and not is_live:
            known = tuple(name for name in known if 'hypervisors' in name)
        number = dice.choice([0, 0, 1, 1, 1, 2] if is_live else [0, 0, 1, 1, 2, 3])
        race = dice.randint(1, 30) if is_live and dice.random() < 0.2 else None
        return cls(seed, command, is_live, frozenset(dice.sample(known, number)), race=race)

    def __str__(self) -> str:
        words = [f'python -m tests.worlds {self.seed} --command {self.command}']
        words += ['--live'] if self.is_live else ['--files']
        words += [f'--damages {",".join(sorted(self.damages))!r}'] if self.damages else []
        words += [f'--only {",".join(map(str, sorted(self.only)))}'] if self.only else []
        words += [f'--race {self.race}'] if self.race else []
        return ' '.join(words)


@dataclass
class Outcome:
    """What a command has done.

    :ivar harm: a sentence about each thing that it must not have done
    :ivar kept: the same about what it has not done though it had to
    :ivar promises: all that it had to do: the kind, and whether it did
    """

    argv: list[str]
    status: int
    output: str
    requests: list[str]
    harm: list[str]
    kept: list[str] = field(default_factory=list)
    promises: list[tuple[str, bool]] = field(default_factory=list)


class Play:
    """Plays a world on a stage."""

    def __init__(self, stage: Stage, world: World) -> None:
        self._stage, self._world = stage, world
        self._dice = random.Random(f'play {world.seed}')
        self.cloud = build(world.seed, world.only)
        chosen = self._dice.choice(self.cloud.hosts)
        moved = {}
        if world.command == 'replace' and self._maybe(0.4):
            # The host was reinstalled.
            old, chosen.uuid = chosen.uuid, str(UUID(int=self._dice.getrandbits(128)))
            moved = {old: chosen.uuid}
        self._asked = 0
        # The command makes a plan, and it is carried out when something has changed.
        self._is_planned = world.command == 'audit' and self._maybe(0.25)
        self._case = Case(
            self.cloud, world.command, chosen, moved, world.is_live, world.damages
        )  # fmt: skip

    def _maybe(self, chance: float = 0.5) -> bool:
        return self._dice.random() < chance

    def run(self) -> Outcome:
        stage, world, case, nova = self._stage, self._world, self._case, None
        stage.set(self.cloud, is_typed=self._maybe())
        case.before = stage.held()
        if world.is_live:
            nova = LyingNova(self.cloud, world.damages)
            nova.asked = self._race
        files = [] if world.is_live else self._files()
        case.argv = [*self._words(), *files, '-f', 'json']
        if self._is_planned:
            plan = Path(tempfile.mkdtemp(dir=stage.folder)) / 'plan.json'
            case.status, output = self._run([*case.argv, '--plan', str(plan)], nova)
            self._change()
            if plan.exists():
                case.status, more = self._run(['reshape', 'apply', str(plan), '--yes'], None)
                output += more
        else:
            case.status, output = self._run([*case.argv, '--yes'], nova)
        case.after, case.names = stage.held(), stage.providers()
        requests = nova.requests if nova else []
        outcome = Outcome(case.argv, case.status, output, requests, [*case.harm()])
        for promise, subject, is_kept in case.promises():
            outcome.promises.append((promise, is_kept))
            outcome.kept += [] if is_kept else [f'{promise}: {subject}']
        return outcome

    def _run(self, words: list[str], nova: LyingNova | None) -> tuple[int, str]:
        """Run a command; return its status, and all that it has printed."""
        printed, argv = io.StringIO(), ['--os-placement-api-version', '1', 'resource', 'provider']
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            mock.patch.object(time, 'sleep'),
        ):
            try:
                status = int(shell.main([*argv, *words], session=self._stage.session(nova)))
            except SystemExit as end:
                status = int(end.code or 0)
        return status, printed.getvalue()

    def _words(self) -> list[str]:
        case = self._case
        match self._world.command:
            case 'purge':
                return ['purge', case.chosen.name, *self._maybe_one('--force'), *self._gone()]
            case 'replace' if case.moved:
                return ['replace', case.chosen.name, '--uuid', case.chosen.uuid]
            case 'replace':
                old = self._dice.choice([case.chosen.name, case.chosen.uuid])
                others = [host.uuid for host in self.cloud.hosts if host is not case.chosen]
                option = self._dice.choice(['--with', '--uuid'])
                new = self._dice.choice(others)
                return ['replace', old, option, new, *self._maybe_one('--merge')]
            case 'heal':
                return ['allocation', 'heal', *self._maybe_one('--amounts')]
        return ['audit', '--fix', *self._gone()]

    def _maybe_one(self, option: str) -> list[str]:
        return [option] if self._maybe() else []

    def _gone(self) -> list[str]:
        """Return the operator's word, which may name a server that lives by mistake."""
        alive = [server.uuid for server in lists.live_servers(self.cloud)]
        if self._case.is_whole and alive and self._maybe(0.2):
            self._case.misnamed.add(self._dice.choice(alive))
        gone = [*self.cloud.gone, *self._case.misnamed] if self._maybe() else []
        return ['--gone', self._written('gone.txt', '\n'.join(gone))] if gone else []

    def _written(self, name: str, content: str) -> str:
        path = self._stage.folder / name
        path.write_text(content)
        return str(path)

    def _files(self) -> list[str]:
        world = self._world
        documents = lists.Damaged(self.cloud, world.damages, world.seed).documents
        names: Collection[str] = _LISTS.get(world.command, documents)
        argv = []
        for name, document in documents.items():
            if name in names:
                option = '--servers' if name == 'deleted' else f'--{name}'
                argv += [option, self._written(f'{name}.json', json.dumps(document))]
        return argv

    def _race(self) -> None:
        """Change something just before a request to Nova."""
        self._asked += 1
        if self._asked == self._world.race:
            self._change()

    def _change(self) -> None:
        """Begin to move a server that could lose something."""
        servers = {server.uuid: server for server in self.cloud.servers}
        leaving = [h for h in self.cloud.holdings if h.promise in ('offloaded', 'doubled')]
        if leaving:
            server = servers[self._dice.choice(leaving).consumer]
            server.task, server.updated = 'migrating', 0
            self._case.raced.add(server.uuid)
            self._stage.rewrite(server.uuid)
