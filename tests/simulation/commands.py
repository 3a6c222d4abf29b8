# SPDX-License-Identifier: Apache-2.0
"""The commands that operators type, and what each may change."""

from __future__ import annotations

import json
import random
import shlex
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.simulation.nova import PROJECT, USER, Nova
from tests.simulation.state import Key, State

AGGREGATES = tuple(f'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa{n}' for n in range(4))
CPU_TRAITS = ('HW_CPU_X86_AVX', 'HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE')
#: Commands that give consumers more or less in all.
_UNEVEN = {
    *(f'allocation {verb}' for verb in ('set', 'unset', 'delete', 'claim', 'transfer', 'heal')),
    'allocation replace', 'audit', 'purge', 'snapshot restore',
}  # fmt: skip
#: Commands with which the operator says how much there is, used or not.
_SETTING_CAPACITY = {'inventory set', 'inventory class set', 'audit'}
#: Tells whether a command may change something, by how it was just before.
Scope = Callable[[State, Key], bool]


def nothing(_state, _key):
    """The scope of a command that only reads."""
    return False


def anything(_state, _key):
    return True


@dataclass
class Command:
    """A command line, and what is true of it.

    :param name: without its arguments
    :param plan: the plan that it makes, carries out or takes back, by ``verb``
    """

    name: str
    arguments: list[str] = field(default_factory=list)
    scope: Scope = anything
    plan: Plan | None = None
    verb: str = ''

    @property
    def words(self):
        return [*self.name.split(), *self.arguments]

    def __str__(self):
        return ' '.join(self.words)

    @property
    def conserves(self):
        """Whether each consumer has in all what it had before."""
        return self._kind not in _UNEVEN

    @property
    def sets_capacity(self):
        return self._kind in _SETTING_CAPACITY

    @property
    def _kind(self):
        name = self.plan.made.name if self.plan else self.name
        return name.removeprefix('resource provider ')


@dataclass
class Plan:
    """A plan in a file, and what has become of it.

    :param made: the command that it carries out
    :param hosts: those of which a reshape moves inventory
    :ivar done: what was written for it: before and after, by key
    :ivar disturbed: what others have written since
    """

    path: str
    made: Command
    hosts: frozenset[str] = frozenset()
    done: dict[Key, tuple[Any, Any]] = field(default_factory=dict)
    disturbed: set[Key] = field(default_factory=set)

    @property
    def is_written(self):
        path = Path(self.path)
        return path.exists() and path.stat().st_size > 0


class Missing(Exception):
    """There is nothing of a kind that a command line needs."""


@dataclass
class Scene:
    """What an operator sees before typing something.

    :param folder: of files that all operators share
    """

    dice: random.Random
    state: State
    nova: Nova
    folder: Path
    plans: list[Plan]
    numbers: Iterator[int]

    def uuid(self):
        return str(UUID(int=self.dice.getrandbits(128), version=4))

    def file(self, stem, content=None):
        """The path of a new file, with some content."""
        path = self.folder / f'{stem}-{next(self.numbers)}.json'
        if content is not None:
            path.write_text(json.dumps(content))
        return str(path)

    def one(self, of):
        """One of some things, in an order that does not depend on anything.

        :raises Missing: if there is none
        """
        things = sorted(of)
        if not things:
            raise Missing
        return self.dice.choice(things)

    def host(self):
        """The UUID of a host that there is."""
        return self.one(uuid for uuid in self.nova.hosts if ('provider', uuid) in self.state)

    def hosts(self):
        """The UUIDs of all trees that are called as hosts are."""
        return [uuid for uuid in self.state.roots() if self.state.name(uuid).startswith('host')]

    def provider(self):
        return self.one(key[1] for key in self.state.of('provider'))

    def spare(self):
        """A provider that is no part of a host."""
        keys = self.state.of('provider')
        return self.one(key[1] for key in keys if self.state[key][0].startswith('spare'))

    def own_consumers(self):
        """The consumers that are no servers of Nova's."""
        servers = {*self.nova.servers, *self.nova.migrating, *self.nova.migrating.values()}
        return [uuid for uuid in self.state.consumers() if uuid not in servers]

    def called(self, uuid):
        """A provider as operators say it: its name, or its UUID."""
        return self.state.name(uuid) if self.dice.random() < 0.7 else uuid

    def custom(self, kind):
        """The name of a class or a trait, which may exist."""
        return f'CUSTOM_{kind}_{self.dice.randrange(3)}'

    def generation(self, uuid):
        _, live = self.nova.call('GET', f'/resource_providers/{uuid}')
        return live.get('generation', 0)

    def filled(self, line):
        """The words of a line, with one of everything that it names.

        :raises Missing: if there is none
        """
        names = [name for _, name, _, _ in string.Formatter().parse(line) if name]
        return shlex.split(line.format(**{name: _VALUES[name](self) for name in names}))


_VALUES: dict[str, Callable[[Scene], Any]] = {
    'number': lambda scene: scene.dice.randint(1, 9),
    'total': lambda scene: scene.dice.randint(8, 64),
    'ratio': lambda scene: scene.dice.choice([4.0, 8.0, 16.0]),
    'class': lambda scene: scene.custom('CLASS'),
    'trait': lambda scene: scene.custom('TRAIT'),
    'cpu_trait': lambda scene: scene.dice.choice(CPU_TRAITS),
    'aggregate': lambda scene: scene.dice.choice(AGGREGATES),
    'project': lambda scene: PROJECT,
    'user': lambda scene: USER,
    'uuid': Scene.uuid,
    'provider': lambda scene: scene.called(scene.provider()),
    'spare': Scene.spare,
    'spare_name': lambda scene: f'spare{scene.dice.randrange(6)}',
    'host': lambda scene: scene.called(scene.host()),
    'host_uuid': Scene.host,
    'target': Scene.host,
    'generation': lambda scene: scene.generation(scene.host()),
    'consumer': lambda scene: scene.one(scene.state.consumers()),
    'own_consumer': lambda scene: scene.one(scene.own_consumers()),
    'file': lambda scene: scene.file('out'),
    'new_snapshot': lambda scene: scene.file('snapshot'),
    'snapshot': lambda scene: scene.one(map(str, scene.folder.glob('snapshot-*'))),
    'plan': lambda scene: scene.one(plan.path for plan in scene.plans),
}
