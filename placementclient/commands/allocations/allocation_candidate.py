# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from placementclient import api
from placementclient.basis import errors
from placementclient.client import endpoints
from placementclient.client.microversion import Microversion
from placementclient.commands.framework import base, filter_options
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.render import columns

if TYPE_CHECKING:
    from placementclient.client.http import Client

_NAMED_GROUPS = Microversion(1, 33)
_EMPTY_GROUPS = Microversion(1, 36)
#: The attribute of the parsed options that has the options of each group, by its suffix.
_GROUPS = 'groups'
#: The suffix of the options before the first group.
_COMMON = ''


class _StoreInGroup(argparse.Action):
    """Stores the value of an option for the last ``--group``, or else for the whole request."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Begin a group, or add a value to the last group, or without one to the request."""
        # The check of the microversion reads it.
        setattr(namespace, self.dest, values)
        groups = _get_groups(namespace)
        if self.dest == 'group':
            # If two groups have the same name, the last one counts.
            groups[str(values)] = argparse.Namespace()
            return
        group = groups.setdefault(namespace.group or _COMMON, argparse.Namespace())
        if self.dest == 'in_tree':
            group.in_tree = values
        else:
            vars(group).setdefault(self.dest, []).append(values)


def _get_groups(namespace: argparse.Namespace) -> dict[str, argparse.Namespace]:
    """Return the options of each request group by suffix: no copy, so that groups can be added."""
    groups: dict[str, argparse.Namespace] = vars(namespace).setdefault(_GROUPS, {})
    return groups


FILTERS: tuple[Option, ...] = (
    *filter_options.make_filter_options(
        since={'resource': '1.10', 'required': '1.17', 'member-of': '1.21', 'in-tree': '1.31'},
        action=_StoreInGroup,
        default=None,
    ),
    Option(
        '--group',
        action=_StoreInGroup,
        since='1.25',
        help='Begin a group: a number, or from 1.33 on a name of letters, digits, _ and -',
    ),
    Option(
        '--group-policy',
        choices=['none', 'isolate'],
        default='none',
        help='isolate: no two groups from the same provider',
    ),
    Option(
        '--same-subtree <group,group>...',
        since='1.36',
        help='Groups, joined by commas, whose providers have one of them as a common ancestor. '
        'A group in it needs no resources',
    ),
    Option('--root-required <trait>...', since='1.35', help='Trait that a root must have'),
    Option('--root-forbidden <trait>...', since='1.35', help='Trait that a root must not have'),
)
# For a value that is no number, scripts expect an error, not a usage error.
LIMIT = Option(
    '--limit <number>',
    type=str,
    since='1.16',
    help='Return at most this number of candidates; default: all',
)


class ListCandidate(base.Lister):
    """List the ways to satisfy a request for resources.

    Options after a --group belong to that group: one resource provider alone satisfies it. Options
    before the first --group are satisfied by a provider tree as a whole.
    """

    examples = (
        '--resource VCPU=2 --resource MEMORY_MB=2048 --group 1 --resource VGPU=1 '
        '--required CUSTOM_NVIDIA_A40 --group-policy isolate',
    )
    endpoint = endpoints.LIST_CANDIDATES
    options = (
        *FILTERS,
        filter_options.make_aggregate_uuid_option(since='1.21', action=_StoreInGroup, default=None),
        LIMIT,
        Flag('--long', since='1.34', help='Also print groups, parent, root and name of a provider'),
    )

    def execute(self) -> columns.Output:
        candidates, summaries = api.allocation_candidate.list(
            self.client, parse_request(self.client, self.args)
        )
        output = columns.list_candidates(
            candidates, summaries, self.client.microversion, long=self.args.long
        )
        uuids = {uuid for candidate in candidates for uuid in candidate.allocations}
        names = functools.partial(api.resource_provider.read_names, self.client, uuids)
        return self.add_names(output, names, position=2, for_people=True)


def parse_request(
    client: Client,
    args: argparse.Namespace,
    find: Callable[[str], str] | None = None,
    *,
    needs_resources: bool = True,
) -> CandidateRequest:
    """Return the request for candidates that the options describe.

    :param find: returns the UUID of a provider by its name or UUID; default: Placement is asked
    :param needs_resources: whether a request without resources is an error
    :raises errors.BadArgument: if a group lacks resources, or a value is no number
    """
    by_group = _get_groups(args)
    groups = {
        suffix: filter_options.parse_filter(client, options, find)
        for suffix, options in by_group.items()
    }
    if needs_resources:
        _refuse_wrong_groups(client, groups, args)

    common = groups.pop(_COMMON, Filter())
    return CandidateRequest(
        common,
        groups,
        args.group_policy if groups else None,
        tuple(tuple(suffixes.split(',')) for suffixes in args.same_subtree),
        tuple(args.root_required),
        tuple(args.root_forbidden),
        None if args.limit is None else filter_options.parse_whole_number(args.limit, '--limit'),
    )


def _refuse_wrong_groups(
    client: Client, groups: Mapping[str, Filter], args: argparse.Namespace
) -> None:
    """Refuse groups without resources, and groups that the microversion does not have."""
    if any(not suffix.isdecimal() for suffix in groups if suffix != _COMMON):
        client.require_feature('--group with a name', _NAMED_GROUPS)
    if not any(group.resources for group in groups.values()):
        raise errors.BadArgument(
            'At least one --resource must be specified. Example: --resource VCPU=4'
        )
    empty = [
        suffix for suffix, group in groups.items() if suffix != _COMMON and not group.resources
    ]
    if empty and not args.same_subtree:
        raise errors.BadArgument(f'--resource must be given in group {empty[0]}')
    if empty:
        client.require_feature('--group without --resource', _EMPTY_GROUPS)
