# SPDX-License-Identifier: Apache-2.0
"""The options that filter providers and candidates, such as ``--required``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from placementclient import api
from placementclient.basis import errors
from placementclient.client.microversion import Microversion
from placementclient.commands.framework.option import ArgumentSettings, Option
from placementclient.model.providers import is_uuid, normalize_uuid
from placementclient.model.requests import Filter

if TYPE_CHECKING:
    from placementclient.client.http import Client

_ANY_OF = Microversion(1, 39)
#: The largest number that a database takes.
_LARGEST = 2**63 - 1
#: An amount with a unit, as people write it: ``8GB``, ``1.5 TiB``.
_WITH_UNIT = re.compile(r'(\d{1,15}(?:\.\d{1,6})?) ?([KMGTP])(?:i?B)?', re.ASCII | re.IGNORECASE)


def make_filter_options(
    *, since: Mapping[str, str], **settings: Unpack[ArgumentSettings]
) -> tuple[Option, ...]:
    """Return the options of a filter.

    :param since: the lowest microversion of each option, by its name without the first hyphens
    :param settings: arguments of ``add_argument`` instead of those that let options be repeated
    """
    repeated: ArgumentSettings = settings or {'action': 'append', 'default': []}
    return (
        Option(
            '--resource <resource_class>=<value>',
            since=since['resource'],
            help='Amount of a resource class, in units of the class; several joined by commas',
            **repeated,
        ),
        Option(
            '--required <trait>',
            since=since['required'],
            help='A required trait; from 1.39 on also alternatives, joined by commas',
            **repeated,
        ),
        Option('--forbidden <trait>', since='1.22', help='A forbidden trait', **repeated),
        Option(
            '--member-of <aggregate>',
            since=since['member-of'],
            help='Only members of one of these aggregates, joined by commas, by UUID or by their '
            'name in Nova. Repeated, from API version 1.24 on: a member of each',
            **repeated,
        ),
        Option(
            '--forbidden-member-of <aggregate>',
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


def make_aggregate_uuid_option(*, since: str, **settings: Unpack[ArgumentSettings]) -> Option:
    """Return ``--aggregate-uuid``, the deprecated spelling of ``--member-of``."""
    repeated: ArgumentSettings = settings or {'action': 'append', 'default': []}
    return Option(
        '--aggregate-uuid',
        since=since,
        replacement='--member-of',
        help='UUID of an aggregate; with several, membership in one of them is needed',
        **repeated,
    )


def parse_filter(
    client: Client, args: argparse.Namespace, find: Callable[[str], str] | None = None
) -> Filter:
    """Return the filter that the options of :func:`make_filter_options` describe.

    :param args: the options; a request group may lack some
    :param find: returns the UUID of a provider by its name or UUID; default: Placement is asked
    :raises errors.UsageError: if both spellings of ``--member-of`` are given
    """

    def read_option(dest: str) -> Sequence[str]:
        return getattr(args, dest, None) or ()

    required = read_option('required')
    if any(',' in trait for trait in required):
        client.require_feature('--required with alternatives', _ANY_OF)
    in_tree: str | None = getattr(args, 'in_tree', None)
    if in_tree is not None:
        in_tree = find(in_tree) if find else api.resource_provider.find(client, in_tree)
    member_of, aggregates = read_option('member_of'), read_option('aggregate_uuid')
    if member_of and aggregates:
        raise errors.UsageError('--member-of and --aggregate-uuid contradict each other')

    directory = None if find else client
    return Filter(
        parse_resources(read_option('resource')),
        tuple(required),
        tuple(read_option('forbidden')),
        resolve_aggregate_groups([','.join(aggregates)] if aggregates else member_of, directory),
        resolve_aggregate_groups(read_option('forbidden_member_of'), directory),
        in_tree,
    )


def resolve_aggregate_groups(
    groups: Iterable[str], client: Client | None = None
) -> tuple[str, ...]:
    """Return groups of aggregates with UUIDs in place of names.

    :param groups: UUIDs or names in Nova, joined by commas
    :param client: asks Nova for the UUIDs of names, if there is a catalog; ``None``: names stay
    """
    # osc-placement also takes the forms of the API: in:UUID,UUID and !UUID.
    return tuple(
        ','.join(map(normalize_uuid, group.split(',')))
        if client is None or group.startswith(('in:', '!'))
        else ','.join(find_aggregate_uuids(client, group.split(','), is_checked=False))
        for group in groups
    )


def find_aggregate_uuids(
    client: Client, names: Sequence[str], *, is_checked: bool = True
) -> list[str]:
    """Return the UUIDs of aggregates that are given by UUID or by name in Nova.

    :param is_checked: whether a name is an error if there is no catalog of services; else it stays
    :raises errors.BadArgument: if Nova does not have a name, or does not answer
    """
    if all(map(is_uuid, names)):
        return list(map(normalize_uuid, names))
    from placementclient.producers import names as aggregate_names  # takes long to load

    return aggregate_names.find_aggregate_uuids(client, names, is_checked=is_checked)


def parse_resources(arguments: Iterable[str]) -> dict[str, int]:
    """Return the amounts of ``['VCPU=2,DISK_GB=9', 'VCPU=4']`` by class, the last of each.

    :raises errors.BadArgument: if an argument has another form
    """
    amounts = {}
    for argument in (part for text in arguments for part in text.split(',')):
        name, _, amount = argument.partition('=')
        if not (name and amount) or '=' in amount:
            raise errors.BadArgument(
                'Arguments to --resource must be of form <resource_class>=<value>'
                f'{f", such as {name}=4" if name.isidentifier() else ""}'
            )
        refuse_plus_sign(name, amount)
        try:
            amounts[name] = int(amount)
        except ValueError:
            raise errors.BadArgument(
                f'Requested resource {name} expected positive integer amount. Got: {amount}.'
                f'{advise_on_unit(name, amount)}'
            ) from None
        if amounts[name] > _LARGEST:
            raise errors.BadArgument(f'{argument}: no service takes more than {_LARGEST}')
    return amounts


def refuse_plus_sign(what: str, text: str) -> None:
    """Raise BadArgument for an amount that looks like a difference: ``+2``.

    :param what: the resource class, or its field
    """
    if fault := explain_plus_sign(text):
        raise errors.BadArgument(f'{what}={fault}')


def explain_plus_sign(text: str) -> str:
    """Return the fault of an amount that looks like a difference, ``+2``; else an empty text."""
    is_difference = text.lstrip().startswith('+')
    return f'{text}: give the new amount, not a difference' if is_difference else ''


def parse_whole_number(text: str | int, what: str) -> int:
    """Return an amount as an integer; raise BadArgument if it is none.

    :param what: the option or the field, for the error
    """
    try:
        return int(text)
    except ValueError:
        advice = advise_on_unit(what, str(text))
        raise errors.BadArgument(
            f'{what}: {text!r} is not a whole number{advice and f".{advice}"}'
        ) from None


def advise_on_unit(what: str, text: str) -> str:
    """Return advice on an amount with a unit, such as ``8GB``; else an empty text.

    :param what: the resource class, also with a field after a colon, or the option
    """
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return ''
    from placementclient.render.units import LADDER, UNITS

    unit = UNITS.get(what.partition(':')[0])
    if unit is None:
        return f' {what}={text}: give a whole number, without a unit'
    # KiB comes before the units that classes have.
    power = ('K', *(larger[0] for larger in LADDER)).index(match[2].upper())
    amount = float(match[1]) * 1024.0 ** (power - LADDER.index(unit) - 1)
    example = f': {what}={amount:.0f}' if amount.is_integer() else ''
    return f' {what}={text}: give a whole number of {unit}, without a unit{example}'
