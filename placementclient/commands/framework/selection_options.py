# SPDX-License-Identifier: Apache-2.0
"""Options that select many resource providers, or trees, such as ``--match``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.commands.framework import base, option
from placementclient.commands.framework.filter_options import resolve_aggregate_groups
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.selecting import ProviderSelector
    from placementclient.model.plans import Plan
    from placementclient.model.snapshots import Snapshot


_HEADING = 'selection of providers'
#: The conditions. A tree is selected if one of its providers meets all of them.
CONDITIONS = option.group_options(
    _HEADING,
    Option('--match <pattern>', help='Providers whose names match a pattern, such as compute-?'),
    Option('--with-trait <trait>', since='1.18', help='Providers that have this trait'),
    Option('--with-class <resource_class>', help='Providers that have inventory of this class'),
    Option(
        '--member-of <aggregate>...',
        since='1.3',
        help='Providers in one of these aggregates, joined by commas, by UUID or by their name in '
        'Nova. Repeated, from API version 1.24 on: in each',
    ),
)
OPTIONS = (
    *option.group_options(_HEADING, Flag('--all', help='All resource providers')),
    *CONDITIONS,
)
[TREE] = option.group_options(
    _HEADING,
    Option(
        '--tree <provider>...',
        help="Only the tree of this provider, by name, UUID or a pattern such as 'compute2*'; "
        '--match, --with-trait, --with-class and --member-of select trees with such providers',
    ),
)
TREES = (TREE, *CONDITIONS)


def has_selection(args: argparse.Namespace) -> bool:
    """Return whether ``--all`` or a condition is given, which select resource providers."""
    is_all = getattr(args, 'all', False)
    return is_all or any(condition.is_set(args) for condition in CONDITIONS)


def make_selector(client: Client | None, args: argparse.Namespace) -> ProviderSelector:
    """Return the conditions that the options describe.

    :param client: finds aggregates by their names in Nova; None: aggregates need UUIDs
    """
    from placementclient.insight.selecting import ProviderSelector

    return ProviderSelector(
        match=args.match,
        with_trait=args.with_trait,
        with_class=args.with_class,
        member_of=resolve_aggregate_groups(args.member_of, client),
    )


def select_trees(
    command: base.PlacementCommand,
    snapshot: Snapshot | None = None,
    named: Sequence[str] | None = None,
) -> Sequence[str]:
    """Return the UUIDs of the roots of the trees that the options select; empty: all trees.

    Without ``--all`` and conditions, that is ``named`` as it is given, with names or patterns.

    :param snapshot: the providers to select from; ``None``: those of Placement
    :param named: the trees to select from; default: those of ``--tree``
    :raises errors.NoSuchProvider: if no provider meets all conditions
    """
    named = command.args.tree if named is None else named
    if not has_selection(command.args):
        return named
    if snapshot is not None:
        selector = make_selector(None, command.args)
        selected = selector.select(snapshot.select_trees(named).providers.values())
        return list({state.provider.root_uuid: state for state in selected})
    from placementclient.producers import edits

    return edits.select_roots(command.client, make_selector(command.client, command.args), named)


def select_planned_trees(
    plan: Plan, command: base.PlacementCommand, snapshot: Snapshot | None = None
) -> Sequence[str]:
    """Return the UUIDs of the roots of the trees of a plan that the options select.

    Without ``--all`` and conditions, that is ``--tree`` as it is given; empty: all trees.

    :param snapshot: has the trees for patterns and conditions, if one is read
    :raises errors.NoSuchProvider: if the plan has no such tree
    """
    if not has_selection(command.args):
        return command.args.tree  # type: ignore[no-any-return]
    matching = select_trees(command, snapshot, ())
    planned = plan.select_changes(command.args.tree)
    selected = [
        tree.root_provider_uuid for tree in planned if not tree.roots.keys().isdisjoint(matching)
    ]
    if not selected:
        raise errors.NoSuchProvider('The plan has no tree with a selected provider')
    return selected
