"""The options that select many resource providers, the same for every command that takes them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.selecting import ProviderSelector

OPTIONS = (
    Flag('--all', help='All resource providers'),
    Option(
        '--match',
        metavar='<pattern>',
        help='Those whose names fit a pattern as of files, such as compute-?',
    ),
    Option('--with-trait', metavar='<trait>', since='1.18', help='Those that have this trait'),
    Option('--with-class', metavar='<resource_class>', help='Those with inventory of this class'),
    Option(
        '--member-of',
        since='1.3',
        action='append',
        help='Those in one of these aggregates, joined by commas, by UUID or by their name in '
        'Nova. May be repeated from API version 1.24 on: those in each',
    ),
)


def are_given(parsed_args: argparse.Namespace) -> bool:
    """Return whether some options select resource providers."""
    return any(each.is_given(parsed_args) for each in OPTIONS)


def selection(client: Client, parsed_args: argparse.Namespace) -> ProviderSelector:
    """Return the conditions that the options state."""
    from placementclient.commands.framework.filters import any_of
    from placementclient.insight.selecting import ProviderSelector

    return ProviderSelector(
        match=parsed_args.match,
        with_trait=parsed_args.with_trait,
        with_class=parsed_args.with_class,
        member_of=any_of(parsed_args.member_of, client),
    )
