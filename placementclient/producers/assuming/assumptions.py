"""A file of assumptions: changes to a snapshot, each with its line and column."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from placementclient.files.cursors import Cursor, read
from placementclient.insight import selecting, shapes
from placementclient.insight.selecting import ProviderSelector
from placementclient.insight.shapes import Flavors, ServerShape
from placementclient.model.plans import Plan
from placementclient.nova.server_request import Scheduling
from placementclient.planner.specification.specification import inventory_fields

#: How many hosts or servers one entry may add.
MOST = 100_000
#: Stands for all hosts.
ANY = 'any'
_NUMBER = re.compile(r'\{n(?::(0?\d{1,2})d)?\}')


@dataclass(frozen=True, slots=True)
class ProviderEdit:
    """Changed inventories, traits or aggregates of providers.

    :param inventories: the fields that are given, by class; the others stay
    :param traits: those that come, and those that go
    :param aggregates: the same of aggregates, by UUID
    """

    at: Cursor
    selector: ProviderSelector
    inventories: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    traits: Mapping[str, frozenset[str]] = field(default_factory=dict)
    aggregates: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewHosts:
    """Empty copies of an existing host.

    :param like: its name or UUID
    :param name: of the new ones; ``{n}`` is their number, from 1
    """

    at: Cursor
    add: int
    like: str
    name: str

    def names(self) -> Iterator[str]:
        """Yield the names of the new hosts; there may be too many for a list."""
        for n in range(1, self.add + 1):
            yield _NUMBER.sub(lambda match, n=n: format(n, match[1] or ''), self.name)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class HostsGone:
    """Removed hosts.

    :param without: their names, UUIDs, or patterns of names
    """

    at: Cursor
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewServers:
    """Future servers.

    :param count: how many
    :param on: names, UUIDs, or patterns of names of hosts; empty: on any
    """

    at: Cursor
    count: int
    shape: ServerShape
    on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AfterPlan:
    """The cloud after a plan."""

    at: Cursor
    plan: Plan


Assumption = ProviderEdit | NewHosts | HostsGone | NewServers | AfterPlan


class NamedFiles(NamedTuple):
    """The functions that read files which an assumption names.

    :param plan: reads a plan, given its path
    :param scheduling: of servers of a flavor
    """

    plan: Callable[[str], Plan]
    flavors: Flavors
    scheduling: Scheduling = Scheduling()


def parse(text: str, path: str, sources: NamedFiles) -> tuple[Assumption, ...]:
    """Parse assumptions, YAML or JSON.

    :param path: the file that the text came from
    :raises errors.BadFile: for what is wrong, with line and column
    """
    document = read(text, path, columns=True)
    return document.each(lambda item: _assumption(item, sources))


def _assumption(at: Cursor, sources: NamedFiles) -> Assumption:
    readers: Mapping[str, Callable[[Cursor, NamedFiles], Assumption]] = {
        'add': _new_hosts,
        'without': lambda at, _: HostsGone(at, **at.fields({'without': _texts})),
        'servers': _new_servers,
        'plan': lambda at, sources: AfterPlan(
            at, sources.plan(at.fields({'plan': Cursor.text})['plan'])
        ),
    }
    known = (*_EDIT, *readers, 'like', 'name')
    inside = at.keys(known)
    return next((read for key, read in readers.items() if key in inside), _edit)(at, sources)


def _changes(
    cursor: Cursor, read: Callable[[Cursor], tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    def names(at: Cursor) -> frozenset[str]:
        return frozenset(read(at))

    given: dict[str, frozenset[str]] = cursor.fields({'add': names, 'remove': names})
    if not given:
        raise cursor.error('has neither add nor remove')
    return given


_EDIT: Mapping[str, Callable[[Cursor], Any]] = {
    **selecting.READERS,
    'inventories': lambda at: at.entries(inventory_fields),
    'traits': lambda at: _changes(at, Cursor.symbols),
    'aggregates': lambda at: _changes(at, lambda names: names.each(Cursor.uuid)),
}


def _edit(at: Cursor, _: NamedFiles) -> ProviderEdit:
    given = at.fields(_EDIT)
    selector = selecting.taken(at, given)
    if not given:
        raise at.error('changes nothing: give inventories, traits or aggregates')
    return ProviderEdit(at, selector, **given)


def _new_hosts(at: Cursor, _: NamedFiles) -> NewHosts:
    readers = {'add': lambda n: n.integer(1, MOST), 'like': Cursor.text, 'name': _template}
    hosts = NewHosts(at, **at.fields(readers, list(readers)))
    if hosts.add > 1 and not _NUMBER.search(hosts.name):
        raise at.inside('name').error(f'is the same {hosts.add} times: put {{n}} in it')
    return hosts


def _template(cursor: Cursor) -> str:
    text = cursor.text()
    if set(_NUMBER.sub('', text)) & {'{', '}'}:
        raise cursor.error('unknown placeholder, known are {n} and with leading zeros {n:03d}')
    return text


def _texts(cursor: Cursor) -> tuple[str, ...]:
    """One text, or a list of them that is not empty."""
    if not isinstance(cursor.value, list):
        return (cursor.text(),)
    if not cursor.value:
        raise cursor.error('is empty')
    return cursor.texts()


def _new_servers(at: Cursor, sources: NamedFiles) -> NewServers:
    inside = at.keys(['servers'])['servers']
    readers = {
        **shapes.READERS,
        'count': lambda cursor: cursor.integer(1, MOST),
        'on': _texts,
    }
    given = inside.fields(readers, ['count'])
    shape = shapes.taken(inside, given, sources.flavors, sources.scheduling)
    if given.get('on') == (ANY,):
        del given['on']
    return NewServers(inside, shape=shape, **given)
