# SPDX-License-Identifier: Apache-2.0
"""Free capacity."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.commands.framework import base, cloud_options, server_options, service_lists
from placementclient.commands.framework.aggregate_names import AggregateNames
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.requests import CandidateRequest, Filter

if TYPE_CHECKING:
    from placementclient.insight.capacity.fits import Fits
    from placementclient.model.servers import Flavor
    from placementclient.model.snapshots import Snapshot

_RESTRICTIONS = tuple(
    Option(flag, help=f'With --fits or --flavors: {help}')
    for flag, help in {
        '--required <trait>[,...]...': 'a required trait; of several, joined by commas, one is '
        'enough',
        '--forbidden <trait>...': 'a forbidden trait',
        '--member-of <aggregate>[,...]...': 'aggregates, joined by commas: a member of any of '
        'them; repeated: a member of each',
        '--forbidden-member-of <aggregate>[,...]...': 'aggregates, joined by commas: a member of '
        'none of them',
        '--root-required <trait>...': 'a trait that the root of the tree must have',
        '--root-forbidden <trait>...': 'a trait that the root of the tree must not have',
        '--tree <provider>...': 'count servers that fit into the tree of this provider: a name, a '
        "UUID, or a pattern such as 'compute2*'. Repeated: all these trees",
    }.items()
)


def _parse_percentage(text: str) -> float:
    """Return 90 for ``'90'`` or ``'90%'``."""
    with contextlib.suppress(ValueError):
        value = float(text.removesuffix('%'))
        if 0 < value < 1 and not text.endswith('%'):
            percent = f'{value * 100:g}'
            raise argparse.ArgumentTypeError(
                f'{text} is a fraction: --fail-above {percent}, or {text}% if you mean that'
            )
        if 0 <= value < math.inf:
            return value
    raise argparse.ArgumentTypeError(f'{text!r} is not a percentage')


class ShowCapacity(base.Lister):
    """Show capacity, used and free amounts, and the largest amount that still fits.

    Capacity is (total - reserved) * allocation_ratio. A shared pool counts once in the lines for
    (all). Amounts are in units of the class: MiB for MEMORY_MB, GiB for DISK_GB.

    With --fits the table has the number of servers of a shape that still fit, in each tree and in
    all, and the class that runs out first. With --flavors it has a row for each flavor. The request
    is that of Nova's scheduler: traits, groups, dedicated CPUs, the root disk on the host, and the
    trait OWNER_NOVA if a host has it. Standard error names a class or trait of a flavor that no
    provider has. Servers with dedicated CPUs count on hosts with PCPU: standard error has the
    number that Placement grants elsewhere, with VCPU in place of PCPU.

    Placement grants each class, and each group, from one provider of a tree, or from a provider
    that shares with the tree. The count follows the same rule.

    A job of cron with --fail-above 80 > /dev/null is silent, unless more is used anywhere: then
    standard error has the lines, and the status is 3.
    """

    examples = ('--fits VCPU=4,MEMORY_MB=8192 --snapshot cloud.json', '--fail-above 80')
    auth_required = False
    options = (
        Option(
            '--by',
            choices=('tree', 'aggregate', 'class'),
            type=lambda text: 'tree' if text == 'host' else text,
            default='tree',
            help='Print a line for each provider tree (host is the same), for each aggregate, or '
            'for each resource class. The line of an aggregate counts the grants of a request with '
            '--member-of, and has its name with --aggregates',
        ),
        Option(
            '--fits <resource_class>=<value>[,...]',
            help='Show how many servers of this shape still fit',
        ),
        server_options.FLAVORS,
        *server_options.CLOUD_OPTIONS,
        *server_options.SERVER_OPTIONS,
        service_lists.PROJECTS,
        *_RESTRICTIONS,
        *cloud_options.OPTIONS,
        Flag(
            '--diff',
            help='With --assume: print only the rows that change, with the columns before, after '
            'and difference; --by class prints the sums alone',
        ),
        Option(
            '--fail-above <percent>',
            type=_parse_percentage,
            help='Exit with status 3 if more than this part of a capacity is used; default: never',
        ),
    )
    statuses = ((errors.ExitStatus.DIFFERS, 'more is used than --fail-above allows'),)

    def execute(self) -> base.Output:
        self._refuse_wrong_option_combinations()
        before = cloud_options.read_snapshot(self, self.args.snapshot)
        after = cloud_options.apply_assumptions(self, before).snapshot
        is_of_servers = self.args.fits is not None or self.args.flavors
        output = (self._make_fits_table if is_of_servers else self._make_totals_table)(
            before, after
        )
        if self.args.by != 'aggregate' or not self.args.aggregates:
            return output
        from placementclient.render import capacity as tables

        aggregates = service_lists.get_sources().aggregates.read(self, self.args.aggregates)
        return tables.add_aggregate_names(output, {item.uuid: item.name for item in aggregates})

    def _make_totals_table(self, before: Snapshot, after: Snapshot) -> base.Output:
        """Return the table of capacity and usage, or of their ``--diff``; set the exit status.

        :param before: the cloud that ``--diff`` compares with
        :param after: the cloud to show
        """
        from placementclient.insight.capacity import totals
        from placementclient.render import capacity as tables

        by = self.args.by
        lines = totals.GROUPED[by](after)
        if (limit := self.args.fail_above) is not None:
            exceeding = [line for line in lines if line.is_used_above(limit)]
            # cron mails all that it reads.
            if exceeding or self.app.stderr.isatty():
                self.ending = tables.describe_lines_above(exceeding, limit)
            if exceeding:
                self.exit_status = errors.ExitStatus.DIFFERS
        if self.args.diff:
            self.empty_message = 'No amount changes'
            self.spare_columns = ('shared_by', 'difference')
            self.needed_columns = ('resource_class', 'amount', 'before', 'after')
            output = tables.compare_totals(totals.GROUPED[by](before), lines, by)
        else:
            output = tables.list_totals(lines, by)
        if self.args.assume and self.app.stderr.isatty():
            self.explanation = tables.suggest_shorter_table(output, by, compares=self.args.diff)
        return output

    def _make_fits_table(self, before: Snapshot, after: Snapshot) -> base.Output:
        """Return the table of how many servers fit, with ``--diff`` only of what changes."""
        from placementclient.render import capacity as tables

        by = self.args.by
        chosen = server_options.read_flavors(self, self.args.flavors)
        fits = self._count_fits(after, chosen, self.log.warning)
        if not self.args.diff:
            return tables.list_fits(fits, by)
        # The same sentences were logged for the cloud with the assumptions.
        return tables.compare_fits(self._count_fits(before, chosen, lambda _: None), fits, by)

    def _count_fits(
        self, snapshot: Snapshot, flavors: Sequence[Flavor], warn: Callable[[str], None]
    ) -> list[tuple[str | None, Sequence[Fits]]]:
        """Return the numbers of servers that fit, by flavor.

        :param warn: called with each sentence on what is not counted
        :return: the name of each flavor, None for the amounts of ``--fits``, with its numbers: one
            for each tree, aggregate or class
        """
        from placementclient.insight.capacity import fits
        from placementclient.placing.topology import Topology
        from placementclient.render import capacity as tables

        by = self.args.by
        amounts = None if self.args.fits is None else _parse_server_amounts(self.args.fits)
        topology = Topology(snapshot)
        trees = snapshot.root_uuids(self.args.tree) or None
        request = self._restrict_request(CandidateRequest(Filter(amounts or {})))
        self._refuse_impossible_names(snapshot, request, warn)
        if amounts is not None:
            return [(None, fits.GROUPED[by](topology, request, trees))]
        lines: list[tuple[str | None, Sequence[Fits]]] = []
        for flavor, nova in server_options.make_flavor_requests(self, snapshot, flavors, warn):
            items = fits.GROUPED[by](topology, self._restrict_request(nova.first), trees)
            lines.append((flavor.name, items))
            if nova.second is not None:
                more = fits.count_fallback_fits(
                    topology, self._restrict_request(nova.second), trees
                )
                for sentence in tables.describe_vcpu_fallback(flavor, more):
                    warn(sentence)
        return lines

    def _refuse_impossible_names(
        self, snapshot: Snapshot, request: CandidateRequest, warn: Callable[[str], None]
    ) -> None:
        """Refuse classes and traits that cannot exist; warn of those that no provider has."""
        from placementclient.insight import unknown_names

        names = unknown_names.ReportedNames.from_snapshot(snapshot)
        absent = list(unknown_names.find_absent_names(names, request))
        wrong = [
            unknown_names.describe_absent_name(name) for name in absent if name.is_error_or_warning
        ]
        if wrong:
            raise errors.BadArgument('; '.join(wrong))
        for sentence in map(unknown_names.describe_absent_name, absent):
            warn(AggregateNames(self).insert_names(sentence))

    def _restrict_request(self, request: CandidateRequest) -> CandidateRequest:
        """Return a request with the traits and aggregates of the options added to it."""
        from placementclient.commands.framework.filter_options import resolve_aggregate_groups

        client = None if self.args.snapshot else self.client
        return request.restrict(
            CandidateRequest(
                Filter(
                    {},
                    tuple(self.args.required),
                    tuple(self.args.forbidden),
                    resolve_aggregate_groups(self.args.member_of, client),
                    resolve_aggregate_groups(self.args.forbidden_member_of, client),
                ),
                root_required=tuple(self.args.root_required),
                root_forbidden=tuple(self.args.root_forbidden),
            )
        )

    def _refuse_wrong_option_combinations(self) -> None:
        if self.args.fits is not None and self.args.flavors:
            raise errors.UsageError('--fits and --flavors contradict each other')
        if self.args.fits is None and not self.args.flavors:
            for option in _RESTRICTIONS:
                if option.is_set(self.args):
                    raise errors.UsageError(f'{option.flags[0]} is for --fits and --flavors')
        elif self.args.fail_above is not None:
            raise errors.UsageError('--fail-above cannot be combined with --fits or --flavors')
        if self.args.diff and not self.args.assume:
            raise errors.UsageError('--diff needs --assume: it prints what the assumptions change')


def _parse_server_amounts(text: str) -> dict[str, int]:
    """Return the amounts of ``'VCPU=4,MEMORY_MB=8192'`` by resource class."""
    from placementclient.commands.framework.filter_options import advise_on_unit

    amounts: dict[str, int] = {}
    for part in text.split(','):
        name, _, amount = part.strip().partition('=')
        if not name or not amount.isdecimal() or not int(amount) or name in amounts:
            advice = advise_on_unit(name, amount)
            if '=' not in text:
                advice = ' For a flavor: --flavors nova or --flavors FILE'
            raise errors.UsageError(
                f'--fits must be of form <resource_class>=<value>,..., such as VCPU=4,VGPU=1, each '
                f'class once, each value above 0. {part!r} is not{advice and f".{advice}"}'
            )
        amounts[name] = int(amount)
    return amounts
