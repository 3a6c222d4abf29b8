# SPDX-License-Identifier: Apache-2.0
"""A file of assumptions: changes to a snapshot, each with its line and column."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from placementclient.basis.wording import suggest_similar
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
from placementclient.nova.server_request import NovaRequest, RequestBuilder
from placementclient.producers.assuming import AssumedCloud, overlay

#: How many hosts or servers one entry may add.
MOST = 100_000
#: The word for all hosts.
ANY = 'any'
_NUMBER = re.compile(r'\{n(?::(0?\d{1,2})d)?\}')

#: Applies an entry of a file to a cloud; raises :class:`errors.BadFile` if it does not suit.
Assumption = Callable[[AssumedCloud], None]


class FileReaders(NamedTuple):
    """Functions that read the files which assumptions name, and the settings of the scheduler.

    :param plan: reads a plan, given its path
    :param flavors: lists flavors, given the path of a file; given ``None``, it asks Nova for them
    :param scheduling: the settings by which Nova asks for servers of a flavor
    """

    plan: Callable[[str], Plan]
    flavors: Callable[[str | None], Sequence[Flavor]]
    scheduling: RequestBuilder = RequestBuilder()


def apply_assumptions(snapshot: Snapshot, assumptions: Iterable[Assumption]) -> AssumedCloud:
    """Return a snapshot with assumptions applied in order.

    :raises errors.BadFile: if one does not suit the snapshot, with its line and column
    """
    cloud = AssumedCloud(snapshot)
    for assume in assumptions:
        assume(cloud)
    return cloud


def parse_assumptions(text: str, path: str, readers: FileReaders) -> tuple[Assumption, ...]:
    """Parse assumptions, YAML or JSON.

    :param readers: read the files that the assumptions name
    :raises errors.BadFile: if the text has faults, with line and column
    """
    document = parse_document(text, path, columns=True)
    return document.read_list(lambda entry: _read_assumption(entry, readers))


def _read_assumption(entry: Cursor, readers: FileReaders) -> Assumption:
    """Return the assumption of one entry of a file, by the key that names its kind."""
    kinds = ('add', 'without', 'servers', 'plan')
    keys = entry.read_members((*_EDIT_READERS, *kinds, 'like', 'name'))
    if 'add' in keys:
        return _read_new_hosts(entry)
    if 'without' in keys:
        return _read_removed_hosts(entry)
    if 'servers' in keys:
        return _read_new_servers(entry, readers)
    if 'plan' in keys:
        return _read_applied_plan(entry, readers)
    return _read_edit(entry)


def _read_new_hosts(entry: Cursor) -> Assumption:
    readers = {'add': _read_added_count, 'like': Cursor.read_text, 'name': _read_host_template}
    fields = entry.read_fields(readers, list(readers))
    count, name, like = fields['add'], fields['name'], fields['like']
    if count > 1 and not _NUMBER.search(name):
        raise entry.descend('name').make_error(f'is the same {count} times: put {{n}} in it')

    def add_hosts(cloud: AssumedCloud) -> None:
        # There may be too many names for a list.
        names = (_format_host_name(name, number) for number in range(1, count + 1))
        overlay.add_hosts(cloud, entry, names, like)

    return add_hosts


def _read_added_count(cursor: Cursor) -> int:
    return cursor.read_integer(1, MOST)


def _read_host_template(cursor: Cursor) -> str:
    """Return the template of the names of hosts: in braces only a placeholder for a number."""
    text = cursor.read_text()
    if set(_NUMBER.sub('', text)) & {'{', '}'}:
        raise cursor.make_error('unknown placeholder, known are {n} and with leading zeros {n:03d}')
    return text


def _format_host_name(template: str, number: int) -> str:
    return _NUMBER.sub(lambda match: format(number, match[1] or ''), template)


def _read_removed_hosts(entry: Cursor) -> Assumption:
    names = entry.read_fields({'without': _read_text_or_texts})['without']
    return partial(overlay.remove_hosts, entry=entry, names=names)


def _read_text_or_texts(cursor: Cursor) -> tuple[str, ...]:
    """Return one text, or the texts of a list that is not empty."""
    if not isinstance(cursor.value, list):
        return (cursor.read_text(),)
    if not cursor.value:
        raise cursor.make_error('is empty')
    return cursor.read_texts()


def _read_applied_plan(entry: Cursor, readers: FileReaders) -> Assumption:
    path = entry.read_fields({'plan': Cursor.read_text})['plan']
    return partial(overlay.apply_plan, entry=entry, plan=readers.plan(path))


def _read_edit(entry: Cursor) -> Assumption:
    """Return the assumption of other inventories, traits or aggregates of selected providers."""
    fields = entry.read_fields(_EDIT_READERS)
    conditions = {name: fields.pop(name) for name in CONDITIONS if name in fields}
    if not conditions:
        raise entry.make_error(f'selects nothing: give {", ".join(CONDITIONS)}')
    if not fields:
        raise entry.make_error('changes nothing: give inventories, traits or aggregates')
    return partial(
        overlay.edit_providers,
        entry=entry,
        selector=ProviderSelector(**conditions, at=entry),
        inventories=fields.pop('inventories', {}),
        names=fields,
    )


def _read_changes(
    cursor: Cursor, read_names: Callable[[Cursor], Collection[str]]
) -> dict[str, frozenset[str]]:
    """Return the traits or aggregates by ``add`` and ``remove``.

    :param read_names: reads the names in the list of either key
    """
    changes = cursor.read_fields({'add': read_names, 'remove': read_names})
    if not changes:
        raise cursor.make_error('has neither add nor remove')
    return {key: frozenset(names) for key, names in changes.items()}


def _read_member_of(cursor: Cursor) -> tuple[str, ...]:
    """Return each text of a list, or the only text: UUIDs of aggregates, with commas between them.

    :raises errors.BadFile: if one is no UUID
    """
    items = cursor.iterate_items() if isinstance(cursor.value, list) else [cursor]
    return tuple(','.join(_read_aggregates(item)) for item in items)


def _read_aggregates(cursor: Cursor) -> list[str]:
    """Return UUIDs of aggregates from a text that joins them by commas."""
    uuids = cursor.read_text().split(',')
    for uuid in uuids:
        if not is_uuid(uuid):
            raise cursor.make_error(
                f'{uuid!r} is not the UUID of an aggregate: placement resource provider aggregate '
                'list HOST prints them'
            )
    return list(map(normalize_uuid, uuids))


#: Reads the value of each key of an edit.
_EDIT_READERS: Mapping[str, Callable[[Cursor], object]] = {
    'match': Cursor.read_text,
    'with_trait': Cursor.read_class_or_trait,
    'without_trait': Cursor.read_class_or_trait,
    'with_class': Cursor.read_class_or_trait,
    'member_of': _read_member_of,
    'inventories': lambda cursor: cursor.read_by_class(read_inventory_fields),
    'traits': lambda cursor: _read_changes(cursor, Cursor.read_classes_or_traits),
    'aggregates': lambda at: _read_changes(at, lambda names: names.read_list(Cursor.read_uuid)),
}


def _read_new_servers(entry: Cursor, readers: FileReaders) -> Assumption:
    servers = entry.read_members(['servers'])['servers']
    fields = servers.read_fields(
        {
            'flavor': Cursor.read_text,
            'flavors': Cursor.read_text,
            'resources': lambda amounts: amounts.read_by_class(
                lambda amount: amount.read_integer(1, UNLIMITED)
            ),
            'required': Cursor.read_classes_or_traits,
            'forbidden': Cursor.read_classes_or_traits,
            'count': _read_added_count,
            'on': _read_text_or_texts,
        },
        ['count'],
    )
    count, hosts = fields.pop('count'), fields.pop('on', ())
    if ('flavor' in fields) == ('resources' in fields):
        raise servers.make_error('has to have either a flavor or resources')
    path = fields.pop('flavors', None)
    if 'flavor' in fields:
        kind = fields['flavor']
        build_request = _make_flavor_request_builder(servers, fields, readers, path)
    else:
        kind = ','.join(f'{name}={amount}' for name, amount in fields['resources'].items())
        build_request = partial(_make_resource_request, fields)
    return partial(
        overlay.add_servers,
        entry=servers,
        kind=kind,
        build_request=build_request,
        count=count,
        on=() if hosts == (ANY,) else hosts,
    )


def _make_resource_request(fields: Mapping[str, Any], _: Snapshot) -> NovaRequest:
    """Return Nova's request for a new server, given its resources and its traits."""
    return NovaRequest(CandidateRequest(Filter(**fields)))


def _make_flavor_request_builder(
    servers: Cursor, fields: Mapping[str, Any], readers: FileReaders, path: str | None
) -> overlay.BuildRequest:
    """Return a function that builds Nova's request for a new server of a flavor.

    :param servers: the place of the new servers in the file of assumptions, for errors
    :param fields: the values there, by key
    :param path: of a file of flavors; ``None``: Nova is asked
    """
    if 'required' in fields or 'forbidden' in fields:
        raise servers.make_error('required and forbidden are for resources: a flavor has its own')
    flavors = {flavor.name: flavor for flavor in readers.flavors(path)}
    name = fields['flavor']
    if name not in flavors:
        raise servers.descend('flavor').make_error(
            f'there is no flavor {name}{suggest_similar(name, flavors)}'
        )

    def build_request(snapshot: Snapshot) -> NovaRequest:
        is_owned = owners.is_owner_trait_needed(snapshot)
        return readers.scheduling.build_request(flavors[name], has_owner_trait=is_owned)

    return build_request
