"""Room for more."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from placementclient import errors
from placementclient.commands import base, compute, watching
from placementclient.commands.base import Option
from placementclient.commands.compute import KEYSTONE, NOVA
from placementclient.commands.snapshot import SNAPSHOT, TREE, taken

if TYPE_CHECKING:
    from placementclient.http import Client
    from placementclient.insight.unknown_names import Absent
    from placementclient.model.flavors import Flavor
    from placementclient.model.requests import CandidateRequest
    from placementclient.model.snapshots import Snapshot
    from placementclient.render.columns import Output
    from placementclient.render.metrics import Surroundings

_FLAVORS = Option(
    '--flavors',
    metavar='<file>',
    help='Show how many servers of each flavor still fit: a file of what GET /flavors/detail '
    f'answers, or what openstack flavor list --all --long -f json prints; {NOVA}: ask the compute '
    'service',
)


class ShowCapacity(watching.Lister):
    """Show how much there is, what is used, what is free, and the largest amount that still fits.

    Capacity is what can be allocated: (total - reserved) * allocation_ratio. What several trees
    share counts once in the lines for (all).

    With --fits it shows how many servers of a shape can still be had: for each tree, if they all
    go there, and in all; and which class runs out first. With --flavors it does so for each flavor,
    asked for as Nova's scheduler does: with its traits, its groups, its dedicated CPUs, the root
    disk on the host. Servers are granted as the service grants a request for candidates: each
    class, and each group, from one provider of a tree, or from one that shares with the tree.

    Example:

      openstack resource capacity show --fits VCPU=4,MEMORY_MB=8192 --snapshot cloud.json
    """

    auth_required = False
    options = (
        Option(
            '--by',
            choices=('tree', 'aggregate', 'class'),
            default='tree',
            help='What to show a line for: each provider tree, each aggregate (what the service '
            'grants of it to a request with --member-of), or each resource class; tree without it',
        ),
        Option(
            '--fits',
            metavar='<resource_class>=<value>[,...]',
            help='Show how many servers of this shape still fit',
        ),
        _FLAVORS,
        Option(
            '--required',
            metavar='<trait>[,...]',
            action='append',
            default=[],
            help='With --fits or --flavors: a trait that there must be; of several, joined by '
            'commas, one is enough; may be repeated',
        ),
        Option(
            '--forbidden',
            metavar='<trait>',
            action='append',
            default=[],
            help='With --fits or --flavors: a trait that must be absent; may be repeated',
        ),
        Option(
            '--member-of',
            metavar='<aggregate>[,...]',
            action='append',
            default=[],
            help='With --fits or --flavors: UUIDs of aggregates, of which one is needed; may be '
            'repeated, then one of each is needed',
        ),
        Option(
            '--forbidden-member-of',
            metavar='<aggregate>[,...]',
            action='append',
            default=[],
            help='With --fits or --flavors: UUIDs of aggregates, of which none is allowed; may be '
            'repeated',
        ),
        Option(
            '--root-required',
            metavar='<trait>',
            action='append',
            default=[],
            help='With --fits or --flavors: a trait that the root of the tree must have; may be '
            'repeated',
        ),
        Option(
            '--root-forbidden',
            metavar='<trait>',
            action='append',
            default=[],
            help='With --fits or --flavors: a trait that the root of the tree must not have; may '
            'be repeated',
        ),
        TREE,
        SNAPSHOT,
        watching.WATCH,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        # Loaded only here: OpenStackClient loads every command's module before it runs one.
        from placementclient.insight import unknown_names
        from placementclient.insight.capacity import fits, totals
        from placementclient.insight.topology import Topology
        from placementclient.render import capacity as tables

        by = parsed_args.by
        self._check_combination(parsed_args)
        shape = None if parsed_args.fits is None else _shape(parsed_args.fits)
        flavors = _flavors(self, parsed_args.flavors) if parsed_args.flavors else []
        snapshot = taken(self, parsed_args)
        if shape is None and not parsed_args.flavors:
            return tables.lines(totals.GROUPED[by](snapshot), by)
        topology, trees = Topology(snapshot), _roots(snapshot, parsed_args.tree)
        request = _restricted(_plain(shape or {}), parsed_args)
        self._tell_absent(unknown_names.absent(snapshot, request))
        if shape is not None:
            return tables.fits(fits.GROUPED[by](topology, request, trees), by)
        found = []
        for flavor, asked in _requests(self.log.warning, flavors):
            request = _restricted(asked, parsed_args)
            found.append((flavor, fits.GROUPED[by](topology, request, trees)))
        return tables.flavors(found, by)

    def _tell_absent(self, absent: Iterable[Absent]) -> None:
        """Say what nobody has.

        :raises errors.BadArgument: if it is no name that there could be
        """
        found = list(absent)
        if unknown := [each.sentence for each in found if not each.is_sound]:
            raise errors.BadArgument('; '.join(unknown))
        for each in found:
            self.log.warning(each.sentence)

    def _check_combination(self, parsed_args: argparse.Namespace) -> None:
        if parsed_args.fits is not None and parsed_args.flavors:
            raise errors.UsageError('--fits and --flavors contradict each other')
        filters = (
            'required', 'forbidden', 'member_of', 'forbidden_member_of', 'root_required',
            'root_forbidden', 'tree',
        )  # fmt: skip
        given = [name for name in filters if getattr(parsed_args, name)]
        if given and parsed_args.fits is None and not parsed_args.flavors:
            name = given[0].replace('_', '-')
            raise errors.UsageError(f'--{name} is for --fits and --flavors')


class ExportCapacity(base.Command):
    """Export the capacity as metrics for Prometheus: once, to a file, or served to scrapers.

    Names and labels are those of os-capacity and of openstack-exporter, whose dashboards go on
    working; nested providers stand under their host, each with a label provider. Capacity is
    (total - reserved) * allocation_ratio. With --flavors: how many servers of each flavor still fit
    on each host and in all. Zones, the names of projects and quotas are known to other services;
    they are empty where --aggregates, --projects and --quotas do not say whom to ask. A file
    appears at once and whole, as node_exporter's textfile collector needs it.

    With --serve scrapes are answered from what was read last. If the service does not answer, the
    last good figures stay, and openstack_placement_up is 0. A SIGTERM stops it.

    Example:

      openstack resource capacity export --flavors nova --serve 127.0.0.1:9180 --interval 60
    """

    auth_required = False
    options = (
        _FLAVORS,
        Option(
            '--aggregates',
            metavar='<file>|nova',
            help='Say which zone a host is in, and which aggregates are for which projects: a file '
            'of what GET /os-aggregates answers, or nova: the compute service is asked',
        ),
        Option(
            '--projects',
            metavar='<file>|keystone',
            help='Say the names of projects: a file of what openstack project list -f json prints, '
            'or keystone: the identity service is asked',
        ),
        Option(
            '--quotas',
            metavar='<file>|nova',
            help='Say the quotas of projects: a file of what openstack quota list --compute -f '
            'json prints, or nova: the compute service is asked for each project with allocations',
        ),
        SNAPSHOT,
        Option(
            '-o', '--output', metavar='<file>', default='-', help='The file; without it, stdout'
        ),
        Option(
            '--serve',
            metavar='<address>:<port>',
            help='Answer scrapers at this address, until a SIGTERM',
        ),
        Option(
            '--interval',
            metavar='<seconds>',
            type=base.positive,
            default=60,
            help='With --serve: how long to wait before reading again; 60 without it',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from placementclient import files, serving
        from placementclient.render import metrics

        self._told: set[str] = set()
        if not parsed_args.serve:
            families = self._read(parsed_args)
            files.write_text(parsed_args.output, metrics.text(families), files.READABLE)
            return
        if parsed_args.output != files.STANDARD:
            raise errors.UsageError('--serve and --output contradict each other')
        where = serving.address(parsed_args.serve)
        serving.serve(where, _Page(self, parsed_args).make, parsed_args.interval, self._started)

    def _started(self, host: str, port: int) -> None:
        self.log.warning(f'Serving http://{host}:{port}/metrics')

    def _tell(self, line: str) -> None:
        """Say what holds for every reading once."""
        if line not in self._told:
            self._told.add(line)
            self.log.warning(line)

    def _read(self, parsed_args: argparse.Namespace) -> Sequence[Any]:
        """The metrics as they are now."""
        from placementclient.insight.capacity import fits
        from placementclient.insight.topology import Topology
        from placementclient.render import metrics

        flavors = _flavors(self, parsed_args.flavors) if parsed_args.flavors else []
        snapshot = taken(self, parsed_args)
        topology = Topology(snapshot)
        found = []
        for flavor, request in _requests(self._tell, flavors):
            try:
                found.append((flavor, fits.by_tree(topology, request)))
            except errors.PlacementError as reason:
                # The figures of the others are as good as ever.
                self._tell(f'flavor {flavor.name}: {reason}')
        return metrics.capacity(snapshot, found, self._around(parsed_args, snapshot))

    def _around(self, parsed_args: argparse.Namespace, snapshot: Snapshot) -> Surroundings:
        """What was asked of other services, or is in files of their answers."""
        from placementclient.nova import records, service
        from placementclient.render.metrics import Surroundings

        using = sorted({each.project_id or '' for each in snapshot.consumers.values()})

        def listed(
            source: str | None,
            parse: Callable[[Any, str], Any],
            ask: Callable[[Client], list[Any]],
            of: str = NOVA,
        ) -> Any:
            return parse(*compute.document(self, source, ask, of)) if source else parse([], '')

        return Surroundings(
            listed(parsed_args.aggregates, records.aggregates, service.aggregates),
            listed(parsed_args.projects, records.projects, service.projects, KEYSTONE),
            listed(
                parsed_args.quotas, records.quotas, lambda client: service.quotas(client, using)
            ),
        )


class _Page:
    """The page of metrics that is served; with the last good figures while there are no others."""

    def __init__(self, command: ExportCapacity, parsed_args: argparse.Namespace) -> None:
        self._command, self._parsed_args = command, parsed_args
        self._figures: Sequence[Any] = ()
        self._read_at: float | None = None
        self._is_up = True

    def make(self) -> str:
        """Read, and render what there is."""
        from placementclient.render import metrics

        began, is_up = time.monotonic(), True
        try:
            self._figures = self._command._read(self._parsed_args)
            self._read_at = time.time()
        except errors.PlacementError as failure:
            # Once, not in every interval.
            if self._is_up:
                self._command.log.error(f'The figures stay as they are: {failure}')
            is_up = False
        if is_up and not self._is_up:
            self._command.log.warning('The figures are read again')
        self._is_up = is_up
        reading = metrics.Reading(is_up, self._read_at, time.monotonic() - began)
        return metrics.text([*self._figures, *metrics.reading(reading)])


def _flavors(command: base._Placement, source: str) -> list[Flavor]:
    """The flavors of a file, or all that Nova has."""
    from placementclient.nova import records, service

    return records.flavors(*compute.document(command, source, service.flavors))


def _requests(
    tell: Callable[[str], None], flavors: Sequence[Flavor]
) -> Iterator[tuple[Flavor, CandidateRequest]]:
    """What Nova asks for, for each flavor; tells what of it is not counted."""
    from placementclient.nova import resource_request

    for flavor in flavors:
        if names := resource_request.unmodelled(flavor):
            tell(f'flavor {flavor.name}: not counted: {", ".join(names)}')
        request = resource_request.request(flavor)
        if request.common.resources or request.groups:
            yield flavor, request
        else:
            tell(f'flavor {flavor.name}: asks for nothing')


def _plain(shape: dict[str, int]) -> CandidateRequest:
    from placementclient.model.requests import CandidateRequest, Filter

    return CandidateRequest(Filter(shape))


def _restricted(request: CandidateRequest, parsed_args: argparse.Namespace) -> CandidateRequest:
    """A request with the filters that were given, too."""
    from placementclient.commands.filters import any_of

    common = request.common
    return request._replace(
        common=common._replace(
            required=(*common.required, *parsed_args.required),
            forbidden=(*common.forbidden, *parsed_args.forbidden),
            member_of=(*common.member_of, *any_of(parsed_args.member_of)),
            forbidden_member_of=any_of(parsed_args.forbidden_member_of),
        ),
        root_required=(*request.root_required, *parsed_args.root_required),
        root_forbidden=(*request.root_forbidden, *parsed_args.root_forbidden),
    )


def _roots(snapshot: Snapshot, names: Sequence[str]) -> list[str] | None:
    """The roots of the trees that were named; None for all.

    :raises errors.NoSuchProvider: if there is no such provider
    """
    if not names:
        return None
    roots: dict[str, None] = {}
    for name in names:
        state = snapshot.find(name)
        if state is None:
            raise errors.NoSuchProvider(f'No resource provider has the name or UUID {name!r}')
        roots[state.provider.root_provider_uuid or state.uuid] = None
    return list(roots)


def _shape(text: str) -> dict[str, int]:
    """``'VCPU=4,MEMORY_MB=8192'`` as amounts by class.

    :raises errors.UsageError: if it is not of that form
    """
    shape: dict[str, int] = {}
    for part in text.split(','):
        name, _, amount = part.strip().partition('=')
        if not name or not amount.isdecimal() or not int(amount) or name in shape:
            raise errors.UsageError(
                f'--fits must be of form <resource_class>=<value>,..., each class once, each value '
                f'above 0: {text!r}'
            )
        shape[name] = int(amount)
    return shape
