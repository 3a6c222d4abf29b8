# SPDX-License-Identifier: Apache-2.0
"""The options that filter providers and candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placementclient import api
from placementclient.basis import errors
from placementclient.client.microversion import Microversion
from placementclient.commands.framework.option import Option
from placementclient.model.providers import is_uuid, normalized
from placementclient.model.requests import Filter

if TYPE_CHECKING:
    from placementclient.client.http import Client

_ANY_OF = Microversion(1, 39)
#: The largest number that a database takes.
_LARGEST = 2**63 - 1


def filter_options(*, since: Mapping[str, str], **settings: Any) -> tuple[Option, ...]:
    """Return the options of a filter.

    :param since: the first microversion of each, by its name without the hyphens
    :param settings: keyword arguments of ``add_argument`` for options of a group
    """
    repeated = settings or {'action': 'append', 'default': []}
    return (
        Option(
            '--resource <resource_class>=<value>',
            since=since['resource'],
            help='Amount of a resource class, in units of the class; several joined by commas',
            **repeated,
        ),
        Option(
            '--required',
            since=since['required'],
            help='A required trait; from 1.39 on also alternatives, joined by commas',
            **repeated,
        ),
        Option('--forbidden', since='1.22', help='A forbidden trait', **repeated),
        Option(
            '--member-of',
            since=since['member-of'],
            help='Only members of one of these aggregates, joined by commas, by UUID or by their '
            'name in Nova. Repeated, from API version 1.24 on: a member of each',
            **repeated,
        ),
        Option(
            '--forbidden-member-of <member_of>',
            since='1.32',
            help='Aggregates, by UUID or name in Nova, joined by commas: a member of none',
            **repeated,
        ),
        Option(
            '--in-tree <provider>',
            since=since['in-tree'],
            help='Name or UUID of a provider: only the tree that it is in',
            **settings,
        ),
    )


def aggregate_uuid_option(*, since: str, **settings: Any) -> Option:
    """Return the aggregate of ``--member-of`` in the old spelling of scripts."""
    return Option(
        '--aggregate-uuid',
        since=since,
        replacement='--member-of',
        help='UUID of an aggregate; with several, membership in one of them is needed',
        **(settings or {'action': 'append', 'default': []}),
    )


def parse_filter(
    client: Client, options: Mapping[str, Any], find: Callable[[str], str] | None = None
) -> Filter:
    """Return the filter of the options; ``find`` turns the name of a provider into its UUID."""
    required = options.get('required') or ()
    if any(',' in trait for trait in required):
        client.require('--required with alternatives', _ANY_OF)
    in_tree = options.get('in_tree')
    if in_tree is not None:
        in_tree = find(in_tree) if find else api.resource_provider.find(client, in_tree)
    member_of, aggregates = options.get('member_of') or (), options.get('aggregate_uuid')
    if member_of and aggregates:
        raise errors.UsageError('--member-of and --aggregate-uuid contradict each other')

    directory = None if find else client
    return Filter(
        parse_resources(options.get('resource') or ()),
        tuple(required),
        tuple(options.get('forbidden') or ()),
        join_aggregates([','.join(aggregates)] if aggregates else member_of, directory),
        join_aggregates(options.get('forbidden_member_of') or (), directory),
        in_tree,
    )


def join_aggregates(groups: Iterable[str], client: Client | None = None) -> tuple[str, ...]:
    """Return aggregates as one text with commas, in small letters, as the service compares them.

    :param client: finds the UUIDs of names, where the catalog has Nova
    :raises errors.BadArgument: if Nova does not have a name
    """
    # osc-placement also takes the forms of the API: in:UUID,UUID and !UUID.
    return tuple(
        ','.join(map(normalized, group.split(',')))
        if client is None or group.startswith(('in:', '!'))
        else ','.join(find_aggregates(client, group.split(','), is_checked=False))
        for group in groups
    )


def find_aggregates(client: Client, names: Sequence[str], *, is_checked: bool = True) -> list[str]:
    """Return UUIDs of aggregates, by UUID or by their name in Nova."""
    if all(map(is_uuid, names)):
        return list(map(normalized, names))
    from placementclient.producers import names as aggregate_names  # takes long to load

    return aggregate_names.aggregate_uuids(client, names, is_checked=is_checked)


def parse_resources(arguments: Iterable[str]) -> dict[str, int]:
    """Return the amounts of ``['VCPU=2,DISK_GB=9', 'VCPU=4']`` by class; the last value wins."""
    amounts = {}
    for argument in (part for text in arguments for part in text.split(',')):
        name, _, amount = argument.partition('=')
        if not (name and amount) or '=' in amount:
            raise errors.BadArgument(
                'Arguments to --resource must be of form <resource_class>=<value>'
            )
        try:
            amounts[name] = int(amount)
        except ValueError:
            raise errors.BadArgument(
                f'Requested resource {name} expected positive integer amount. Got: {amount}.'
            ) from None
        if amounts[name] > _LARGEST:
            raise errors.BadArgument(f'{argument}: no service takes more than {_LARGEST}')
    return amounts


def parse_whole_number(text: str | int, what: str) -> int:
    """Return an amount as an integer, or refuse it in the name of ``what``."""
    try:
        return int(text)
    except ValueError:
        raise errors.BadArgument(f'{what}: {text!r} is not a whole number') from None
