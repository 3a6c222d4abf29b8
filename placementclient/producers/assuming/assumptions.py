# SPDX-License-Identifier: Apache-2.0
"""A file of assumptions: changes to a snapshot, each with its line and column."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from placementclient.basis.wording import suggestion
from placementclient.files.cursors import Cursor, parse_document
from placementclient.files.declared import read_inventory_fields
from placementclient.insight import owners
from placementclient.insight.selecting import CONDITIONS, ProviderSelector
from placementclient.model.inventories import UNLIMITED
from placementclient.model.plans import Plan
from placementclient.model.providers import is_uuid, normalize_uuid
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor
from placementclient.model.snapshots import Snapshot
from placementclient.nova.server_request import NovaRequest, Scheduling
from placementclient.producers.assuming import AssumedCloud, overlay

#: How many hosts or servers one entry may add.
MOST = 100_000
#: The word for all hosts.
ANY = 'any'
_NUMBER = re.compile(r'\{n(?::(0?\d{1,2})d)?\}')

#: Applies an entry of a file to a cloud; raises :class:`errors.BadFile` if it does not suit.
Assumption = Callable[[AssumedCloud], None]


class NamedFiles(NamedTuple):
    """The functions that read the files which an assumption names.

    :param plan: reads a plan, given its path
    :param flavors: lists flavors, given the path of a file; given ``None``, it asks Nova for them
    :param scheduling: the settings by which Nova asks for servers of a flavor
    """

    plan: Callable[[str], Plan]
    flavors: Callable[[str | None], Sequence[Flavor]]
    scheduling: Scheduling = Scheduling()


def apply_assumptions(snapshot: Snapshot, assumptions: Iterable[Assumption]) -> AssumedCloud:
    """Return a snapshot with assumptions applied in order.

    :raises errors.BadFile: if one does not suit the snapshot, with its line and column
    """
    cloud = AssumedCloud(snapshot)
    for assume in assumptions:
        assume(cloud)
    return cloud


def parse_assumptions(text: str, path: str, sources: NamedFiles) -> tuple[Assumption, ...]:
    """Parse assumptions, YAML or JSON.

    :param sources: read the files that the assumptions name
    :raises errors.BadFile: if the text has faults, with line and column
    """
    document = parse_document(text, path, columns=True)
    return document.sequence(lambda item: _read_assumption(item, sources))


def _read_assumption(at: Cursor, sources: NamedFiles) -> Assumption:
    """Return the assumption of one entry, by the key that names its kind."""
    readers: Mapping[str, Callable[[Cursor, NamedFiles], Assumption]] = {
        'add': _read_new_hosts,
        'without': lambda at, _: partial(
            overlay.remove_hosts, at=at, **at.fields({'without': _read_texts})
        ),
        'servers': _read_new_servers,
        'plan': lambda at, sources: partial(
            overlay.apply_plan, at=at, **at.fields({'plan': lambda name: sources.plan(name.text())})
        ),
    }
    inside = at.read_members((*_EDIT, *readers, 'like', 'name'))
    return next((read for key, read in readers.items() if key in inside), _read_edit)(at, sources)


def _read_changes(
    cursor: Cursor, read: Callable[[Cursor], tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    """Return the names to add and to remove."""

    def names(at: Cursor) -> frozenset[str]:
        return frozenset(read(at))

    changes: dict[str, frozenset[str]] = cursor.fields({'add': names, 'remove': names})
    if not changes:
        raise cursor.error('has neither add nor remove')
    return changes


def _read_member_of(cursor: Cursor) -> tuple[str, ...]:
    """Return one condition for each entry: the UUIDs of aggregates, joined by commas."""
    items = cursor.items() if isinstance(cursor.value, list) else [cursor]
    return tuple(','.join(_read_aggregates(item)) for item in items)


def _read_aggregates(at: Cursor) -> list[str]:
    """Return UUIDs of aggregates from a text that joins them by commas."""
    uuids = at.text().split(',')
    for uuid in uuids:
        if not is_uuid(uuid):
            raise at.error(
                f'{uuid!r} is not the UUID of an aggregate: placement resource provider aggregate '
                'list HOST prints them'
            )
    return list(map(normalize_uuid, uuids))


_EDIT: Mapping[str, Callable[[Cursor], object]] = {
    'match': Cursor.text,
    'with_trait': Cursor.symbol,
    'without_trait': Cursor.symbol,
    'with_class': Cursor.symbol,
    'member_of': _read_member_of,
    'inventories': lambda at: at.entries(read_inventory_fields),
    'traits': lambda at: _read_changes(at, Cursor.symbols),
    'aggregates': lambda at: _read_changes(at, lambda names: names.sequence(Cursor.uuid)),
}


def _read_edit(at: Cursor, _: NamedFiles) -> Assumption:
    """Return the assumption that the selected providers have other inventories, traits or
    aggregates.
    """
    fields = at.fields(_EDIT)
    conditions = {name: fields.pop(name) for name in CONDITIONS if name in fields}
    if not conditions:
        raise at.error(f'selects nothing: give {", ".join(CONDITIONS)}')
    if not fields:
        raise at.error('changes nothing: give inventories, traits or aggregates')
    selector, inventories = ProviderSelector(**conditions, at=at), fields.pop('inventories', {})
    return partial(
        overlay.edit_providers, at=at, selector=selector, inventories=inventories, names=fields
    )


def _read_new_hosts(at: Cursor, _: NamedFiles) -> Assumption:
    """Return the assumption of further hosts."""
    readers = {'add': lambda n: n.integer(1, MOST), 'like': Cursor.text, 'name': _read_template}
    fields = at.fields(readers, list(readers))
    number, name = fields['add'], fields['name']
    if number > 1 and not _NUMBER.search(name):
        raise at.descend('name').error(f'is the same {number} times: put {{n}} in it')

    def fill_number(n: int) -> str:
        return _NUMBER.sub(lambda match: format(n, match[1] or ''), name)

    # There may be too many for a list.
    return lambda cloud: overlay.add_hosts(
        cloud, at, map(fill_number, range(1, number + 1)), fields['like']
    )


def _read_template(cursor: Cursor) -> str:
    """Return a name of hosts, in which only a placeholder for a number may stand in braces."""
    text = cursor.text()
    if set(_NUMBER.sub('', text)) & {'{', '}'}:
        raise cursor.error('unknown placeholder, known are {n} and with leading zeros {n:03d}')
    return text


def _read_texts(cursor: Cursor) -> tuple[str, ...]:
    """Return one text, or the texts of a list that is not empty."""
    if not isinstance(cursor.value, list):
        return (cursor.text(),)
    if not cursor.value:
        raise cursor.error('is empty')
    return cursor.texts()


_SERVERS: Mapping[str, Callable[[Cursor], object]] = {
    'flavor': Cursor.text,
    'flavors': Cursor.text,
    'resources': lambda at: at.entries(lambda amount: amount.integer(1, UNLIMITED)),
    'required': Cursor.symbols,
    'forbidden': Cursor.symbols,
    'count': lambda at: at.integer(1, MOST),
    'on': _read_texts,
}


def _read_new_servers(at: Cursor, sources: NamedFiles) -> Assumption:
    """Return the assumption of further servers."""
    inside = at.read_members(['servers'])['servers']
    fields = inside.fields(_SERVERS, ['count'])
    count, hosts = fields.pop('count'), fields.pop('on', ())
    if ('flavor' in fields) == ('resources' in fields):
        raise inside.error('has to have either a flavor or resources')
    path = fields.pop('flavors', None)
    amounts = fields.get('resources', {}).items()
    kind = fields.get('flavor') or ','.join(f'{name}={amount}' for name, amount in amounts)
    asks = _make_request_builder(inside, fields, sources, path)
    on = () if hosts == (ANY,) else hosts
    return partial(overlay.add_servers, at=inside, kind=kind, asks=asks, count=count, on=on)


def _make_request_builder(
    at: Cursor, fields: Mapping[str, Any], sources: NamedFiles, path: str | None
) -> overlay.RequestBuilder:
    """Return the function that builds Nova's request for a new server.

    :param path: of a file of flavors; ``None``: Nova is asked
    """
    if 'resources' in fields:
        request = CandidateRequest(Filter(**fields))
        return lambda _: NovaRequest(request)
    if 'required' in fields or 'forbidden' in fields:
        raise at.error('required and forbidden are for resources: a flavor has its own')
    flavors = {flavor.name: flavor for flavor in sources.flavors(path)}
    name = fields['flavor']
    if name not in flavors:
        raise at.descend('flavor').error(f'there is no flavor {name}{suggestion(name, flavors)}')

    def asks(snapshot: Snapshot) -> NovaRequest:
        is_owned = owners.is_owner_required(snapshot)
        return sources.scheduling.build_request(flavors[name], is_owned=is_owned)

    return asks
