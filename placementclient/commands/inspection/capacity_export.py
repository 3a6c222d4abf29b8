"""Room for more, as metrics."""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from placementclient.client import errors
from placementclient.commands.framework import base, compute, flavors, option, reading
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from placementclient.client.http import Client
    from placementclient.commands.inspection import serving
    from placementclient.model.snapshots import Snapshot
    from placementclient.render.metrics import OtherServices


class ExportCapacity(base.Command):
    """Export the capacity as metrics for Prometheus: once, to a file, or served to scrapers.

    The names and labels are those of os-capacity and openstack-exporter: their dashboards go on
    working. Nested providers stand under their host, each with a label provider. Capacity is
    (total - reserved) * allocation_ratio.

    With --flavors the metrics have the number of servers of each flavor that still fit, on each
    host and in all. The command logs a class or trait of a flavor that no provider has. With
    --aggregates, --projects and --quotas they have zones, names of projects and quotas, which other
    services know; without these options the labels are empty. The file appears at once and whole,
    as the textfile collector of node_exporter needs it.

    With --serve the command answers scrapes from the last reading. If a reading fails, the last
    good figures stay. openstack_placement_up is 1 while the last successful reading is younger than
    three intervals, else 0. A SIGTERM stops the command.

    Example:

      openstack resource capacity export --flavors nova --serve 127.0.0.1:9180 --interval 60
    """

    auth_required = False
    _deadline: serving.Deadline | None = None
    options = (
        flavors.FLAVORS,
        Option(
            '--aggregates <file>|nova',
            help='Add the zone of each host and the projects of each aggregate: a file with the '
            'answer of GET /os-aggregates, or nova: ask Nova',
        ),
        Option(
            '--projects <file>|keystone',
            help='Add the names of projects: a file with the output of openstack project list -f '
            'json, or keystone: ask Keystone',
        ),
        Option(
            '--quotas <file>|nova',
            help='Add the quotas of projects: a file with the output of openstack quota list '
            '--compute -f json, or nova: ask Nova for each project with allocations',
        ),
        *reading.OPTIONS,
        option.OUTPUT,
        Option(
            '--serve <address>:<port>',
            help='Serve the metrics at this address until a SIGTERM',
        ),
        Option(
            '--interval <seconds>',
            default=60,
            help='With --serve: read the cloud again after so many seconds. A reading may take '
            'three intervals, or a minute if these are shorter',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from placementclient import files
        from placementclient.commands.inspection import serving
        from placementclient.render import metrics

        if not parsed_args.serve:
            families = self._read(parsed_args)
            files.write_text(parsed_args.output, metrics.text(families), files.READABLE)
            return
        if parsed_args.output != files.STANDARD:
            raise errors.UsageError('--serve and --output contradict each other')
        where = serving.address(parsed_args.serve)
        collector = _Collector(self, parsed_args)
        # Without prometheus_client there is nothing to serve.
        collector.collect()
        self._deadline = collector.deadline
        serving.serve(
            where,
            collector,
            parsed_args.interval,
            lambda host, port: self.log.warning(f'Serving http://{host}:{port}/metrics'),
        )

    @functools.cached_property
    def client(self) -> Client:
        """The client of this run; with --serve one whose requests end with the reading."""
        client = super().client
        if self._deadline is not None:
            from placementclient.commands.inspection import serving

            client = client.renewed()
            client.session = serving.BoundedSession(client.session, self._deadline)
        return client

    def _read(self, parsed_args: argparse.Namespace) -> Sequence[Metric]:
        """The metrics as they are now."""
        from placementclient.insight.capacity import fits
        from placementclient.insight.topology import Topology
        from placementclient.render import metrics

        chosen = flavors.given(self, parsed_args.flavors)
        snapshot = reading.cloud(self, parsed_args, self.warn_once).snapshot
        topology = Topology(snapshot)
        found = []
        for flavor, request in flavors.requests(self.warn_once, snapshot, chosen):
            try:
                found.append((flavor, fits.by_tree(topology, request)))
            except errors.PlacementError as reason:
                # The figures of the others are as good as ever.
                self.warn_once(f'flavor {flavor.name}: {reason}')
        around = self._around(parsed_args, snapshot)
        return metrics.capacity(snapshot, found, around, parsed_args.assume)

    def _around(self, parsed_args: argparse.Namespace, snapshot: Snapshot) -> OtherServices:
        """Return the answers of other services, asked or read from files."""
        from placementclient.nova import records, service
        from placementclient.render.metrics import OtherServices

        using = sorted({each.project_id or '' for each in snapshot.consumers.values()})
        quotas = compute.Source(NOVA, lambda client: service.quotas(client, using), records.quotas)
        return OtherServices(
            compute.records(self, 'aggregates', parsed_args.aggregates) or [],
            compute.records(self, 'projects', parsed_args.projects) or {},
            quotas.read(self, parsed_args.quotas) if parsed_args.quotas else {},
        )


class _Collector:
    """The metrics that are served: the last good figures, and how good they are."""

    #: The figures are up to date for so many intervals; a reading that takes longer is given up.
    _INTERVALS = 3
    #: But not before so many seconds, however short the interval is.
    _LEAST = 60

    def __init__(self, command: ExportCapacity, parsed_args: argparse.Namespace) -> None:
        from placementclient.commands.inspection import serving

        self._command, self._parsed_args = command, parsed_args
        self._fresh: float = self._INTERVALS * parsed_args.interval
        self.deadline = serving.Deadline(max(self._fresh, self._LEAST))
        self._figures = _Figures()
        self._seconds = 0.0
        self._is_good = True

    def collect(self) -> Sequence[Metric]:
        """Return the last good figures, and as of now whether that was long ago."""
        from placementclient.render import metrics

        figures = self._figures
        is_up = time.monotonic() - figures.at < self._fresh
        return [*figures.families, *metrics.reading(is_up, figures.read_at, self._seconds)]

    def read(self) -> None:
        """Read the figures; whatever is wrong with them, those of before stay.

        :raises errors.PlacementError: if the first reading shows that the options are impossible
        """
        from placementclient.nova.service import NoCatalog

        began = time.monotonic()
        self.deadline.begin()
        try:
            families = self._command._read(self._parsed_args)
            self._figures = _Figures(families, time.time(), time.monotonic())
        except Exception as failure:
            wrong_options = (errors.BadArgument, errors.BadFile, errors.UsageError, NoCatalog)
            if self._figures.read_at is None and isinstance(failure, wrong_options):
                raise
            self._log_failure(failure)
        else:
            if not self._is_good:
                self._command.log.warning('The figures are read again')
            self._is_good = True
        self._seconds = time.monotonic() - began

    def stop(self) -> None:
        """Let no further request of a reading be sent."""
        self.deadline.end()

    def _log_failure(self, failure: Exception) -> None:
        # Once, not in every interval.
        if self._is_good:
            said = failure if isinstance(failure, errors.PlacementError) else None
            is_first = self._figures.read_at is None
            began = 'There are no figures yet' if is_first else 'The figures stay as they are'
            self._command.log.error(f'{began}: {said or errors.Unexpected(failure)}')
        self._command.log.debug('The reading failed', exc_info=failure)
        self._is_good = False


class _Figures(NamedTuple):
    """The figures of one reading.

    :param read_at: when they were read, in seconds since 1970
    :param at: the same on the monotonic clock
    """

    families: Sequence[Metric] = ()
    read_at: float | None = None
    at: float = float('-inf')
