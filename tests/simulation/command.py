"""A command as an operator types it: what it may touch, and what is so when it has succeeded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.simulation.nova import Nova
from tests.simulation.state import Key, State

#: Tells whether a command may change something, by how it was just before.
Scope = Callable[[State, Key], bool]


def nothing(_state, _key):
    """The scope of a command that only reads."""
    return False


@dataclass
class Command:
    """A command line, and what is true of it.

    :param wants: what is there when it has succeeded, by key; a function tells of a value
    :param conserves: whether each consumer has in all what it had before
    :param sets_capacity: whether the operator said how much there is, used or not
    :param fields: what it may change of inventories that are there before and after, by number
    :param is_steady: whether it changes nothing when it has succeeded before
    :param plan: the plan that it makes, carries out or takes back, by ``verb``
    """

    words: list[str]
    scope: Scope = nothing
    wants: Mapping[Key, Any] = field(default_factory=dict)
    conserves: bool = True
    sets_capacity: bool = False
    fields: frozenset[int] = frozenset(range(6))
    is_steady: bool = True
    plan: Plan | None = None
    verb: str = ''

    def __str__(self):
        return ' '.join(self.words)

    @property
    def name(self):
        """The command without its arguments."""
        typed = f'{self} '
        return next(name for name in sorted(MAKERS, reverse=True) if typed.startswith(f'{name} '))

    @property
    def is_read(self):
        return self.scope is nothing


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
        return self.dice.choice(sorted(of))

    def host(self):
        """The UUID of a host that there is."""
        return str(self.one(uuid for uuid in self.nova.hosts if ('provider', uuid) in self.state))

    def hosts(self):
        """The UUIDs of all trees that are called as hosts are."""
        return [uuid for uuid in self.state.roots() if self.state.name(uuid).startswith('host')]

    def provider(self):
        return str(self.one(key[1] for key in self.state.of('provider')))

    def spare(self):
        """A provider that is no part of a host."""
        found = [
            key[1] for key in self.state.of('provider') if self.state[key][0].startswith('spare')
        ]
        return self.dice.choice(found) if found else None

    def consumer(self):
        found = self.state.consumers()
        return self.dice.choice(found) if found else None

    def called(self, uuid):
        """A provider as operators say it: its name, or its UUID."""
        return self.state.name(uuid) if self.dice.random() < 0.7 else uuid

    def custom(self, kind):
        """The name of a class or a trait, which may exist."""
        return f'CUSTOM_{kind}_{self.dice.randrange(3)}'


Maker = Callable[[Scene], Command | None]
#: The makers, by the names of the commands.
MAKERS: dict[str, list[Maker]] = {}


def makes(name):
    """Note what makes the command lines of a command."""

    def note(maker):
        MAKERS.setdefault(name, []).append(maker)
        return maker

    return note


def typed(name, *arguments):
    return [*name.split(), *arguments]


def of_provider(uuid, *kinds):
    """Some kinds of facts of one provider."""
    return lambda _state, key: key[0] in kinds and key[1] == uuid


def of_consumers(*uuids):
    """All that some consumers hold."""
    return lambda _state, key: key[0] in ('allocation', 'consumer') and key[1] in uuids


def any_of(*scopes):
    return lambda state, key: any(scope(state, key) for scope in scopes)


def new_names(_state, key):
    """Custom classes and traits."""
    return key[0] in ('class name', 'trait name')
