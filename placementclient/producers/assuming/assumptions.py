"""A file of assumptions: changes to a snapshot, each with its line and column."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from placementclient.files.cursors import Cursor, read
from placementclient.insight import selecting, shapes
from placementclient.insight.shapes import Flavors
from placementclient.model.plans import Plan
from placementclient.model.snapshots import Snapshot
from placementclient.nova.server_request import Scheduling
from placementclient.planner.specification.specification import inventory_fields
from placementclient.producers.assuming import Assumed, overlay

#: How many hosts or servers one entry may add.
MOST = 100_000
#: Stands for all hosts.
ANY = 'any'
_NUMBER = re.compile(r'\{n(?::(0?\d{1,2})d)?\}')

#: Changes a cloud as an entry of a file says; raises :class:`errors.BadFile` if it cannot be.
Assumption = Callable[[Assumed], None]


class NamedFiles(NamedTuple):
    """The functions that read files which an assumption names.

    :param plan: reads a plan, given its path
    :param scheduling: of servers of a flavor
    """

    plan: Callable[[str], Plan]
    flavors: Flavors
    scheduling: Scheduling = Scheduling()


def assumed(snapshot: Snapshot, assumptions: Iterable[Assumption]) -> Assumed:
    """Return a snapshot with assumptions applied in order.

    :raises errors.BadFile: for one that does not suit the snapshot, with line and column
    """
    cloud = Assumed(snapshot)
    for assume in assumptions:
        assume(cloud)
    return cloud


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
        'without': lambda at, _: partial(
            overlay.remove_hosts, at=at, **at.fields({'without': _texts})
        ),
        'servers': _new_servers,
        'plan': lambda at, sources: partial(
            overlay.carry_out, at=at, **at.fields({'plan': lambda name: sources.plan(name.text())})
        ),
    }
    inside = at.keys((*_EDIT, *readers, 'like', 'name'))
    return next((read for key, read in readers.items() if key in inside), _edit)(at, sources)


def _changes(
    cursor: Cursor, read: Callable[[Cursor], tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    def names(at: Cursor) -> frozenset[str]:
        return frozenset(read(at))

    changes: dict[str, frozenset[str]] = cursor.fields({'add': names, 'remove': names})
    if not changes:
        raise cursor.error('has neither add nor remove')
    return changes


_EDIT: Mapping[str, Callable[[Cursor], Any]] = {
    **selecting.READERS,
    'inventories': lambda at: at.entries(inventory_fields),
    'traits': lambda at: _changes(at, Cursor.symbols),
    'aggregates': lambda at: _changes(at, lambda names: names.each(Cursor.uuid)),
}


def _edit(at: Cursor, _: NamedFiles) -> Assumption:
    fields = at.fields(_EDIT)
    selector = selecting.taken(at, fields)
    if not fields:
        raise at.error('changes nothing: give inventories, traits or aggregates')
    inventories = fields.pop('inventories', {})
    return partial(
        overlay.edit_providers, at=at, selector=selector, inventories=inventories, names=fields
    )


def _new_hosts(at: Cursor, _: NamedFiles) -> Assumption:
    readers = {'add': lambda n: n.integer(1, MOST), 'like': Cursor.text, 'name': _template}
    fields = at.fields(readers, list(readers))
    number, name = fields['add'], fields['name']
    if number > 1 and not _NUMBER.search(name):
        raise at.inside('name').error(f'is the same {number} times: put {{n}} in it')

    def named(n: int) -> str:
        return _NUMBER.sub(lambda match: format(n, match[1] or ''), name)

    # There may be too many for a list.
    return lambda cloud: overlay.add_hosts(
        cloud, at, map(named, range(1, number + 1)), fields['like']
    )


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


def _new_servers(at: Cursor, sources: NamedFiles) -> Assumption:
    inside = at.keys(['servers'])['servers']
    readers = {
        **shapes.READERS,
        'count': lambda cursor: cursor.integer(1, MOST),
        'on': _texts,
    }
    fields = inside.fields(readers, ['count'])
    shape = shapes.taken(inside, fields, sources.flavors, sources.scheduling)
    if fields.get('on') == (ANY,):
        del fields['on']
    return partial(overlay.add_servers, at=inside, shape=shape, **fields)
