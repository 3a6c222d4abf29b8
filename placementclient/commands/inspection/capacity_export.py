# SPDX-License-Identifier: Apache-2.0
"""Capacity as metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.commands.framework import (
    base,
    cloud_options,
    option,
    server_options,
    service_lists,
)
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from placementclient.client.http import Client
    from placementclient.commands.inspection import metrics_server


class ExportCapacity(base.PlacementCommand):
    """Export the capacity as metrics for Prometheus: once, to a file, or served to scrapers.

    The names and labels are those of os-capacity and openstack-exporter, so their dashboards keep
    working. A nested provider is listed under its host, with its own name in the label provider.
    Capacity is (total - reserved) * allocation_ratio.

    With --flavors the metrics have the number of servers of each flavor that still fit, on each
    host and in all. The command logs a class or trait of a flavor that no provider has. With
    --aggregates, --projects and --quotas they have zones, names of projects and quotas of other
    services; without these options the labels are empty. The file is replaced as a whole, as the
    textfile collector of node_exporter requires.

    With --serve the command answers scrapes from the last reading. If a reading fails, the last
    good figures stay. openstack_placement_up is 1 while the last successful reading is younger than
    three intervals, else 0. A SIGTERM stops the command.
    """

    examples = ('--flavors nova --serve 127.0.0.1:9180 --interval 60',)
    auth_required = False
    options = (
        server_options.FLAVORS,
        server_options.NOVA_CONF,
        server_options.PROFILES,
        *server_options.SERVER_OPTIONS,
        Option(
            '--aggregates <file>|nova',
            help='Add the zone of each host and the projects of each aggregate: a file with the '
            'answer of GET /os-aggregates, or nova: ask Nova',
        ),
        service_lists.PROJECTS,
        Option(
            '--quotas <file>|nova',
            help='Add the quotas of projects: a file with the output of openstack quota list '
            '--compute -f json, or nova: ask Nova for each project with allocations',
        ),
        Option(
            '--trait <pattern>...',
            help='Add which providers have the traits of this name or pattern, such as CUSTOM_*',
        ),
        *cloud_options.OPTIONS,
        option.make_output_option('a file of metrics'),
        Option(
            '--serve <address>:<port>', help='Serve the metrics at this address until a SIGTERM'
        ),
        Option(
            '--interval <seconds>',
            default=60,
            help='With --serve: read the cloud at this interval. A reading may take three '
            'intervals, or a minute if these are shorter',
        ),
    )

    def execute(self) -> None:
        from placementclient.commands.inspection import metrics_server
        from placementclient.files import disk
        from placementclient.render import metrics

        if not self.args.serve:
            families = self._read_metrics()
            disk.write_text(self.args.output, metrics.format_metrics(families), disk.READABLE)
            return
        if self.args.output != disk.STANDARD:
            raise errors.UsageError('--serve and --output contradict each other')
        address = metrics_server.parse_address(self.args.serve)
        # If prometheus_client is not installed, this fails now, and not at the first scrape.
        self._collector.collect()
        metrics_server.serve_metrics(address, self._collector)

    @functools.cached_property
    def _collector(self) -> metrics_server.Collector:
        from placementclient.commands.inspection import metrics_server

        return metrics_server.Collector(self._read_metrics, self.args.interval, self.log)

    @functools.cached_property
    def client(self) -> Client:
        """The client of this run; with ``--serve``, requests have only the time left to read."""
        client = super().client
        if self.args.serve:
            from placementclient.commands.inspection import metrics_server

            client = client.copy_without_history()
            client.session = metrics_server.TimeLimitedSession(client.session, self._collector)
        return client

    @functools.cached_property
    def _warn_once(self) -> Callable[[str], None]:
        """A function that logs each sentence only once, although each reading finds it again."""
        return functools.cache(self.log.warning)

    def _read_metrics(self) -> Sequence[Metric]:
        from placementclient.insight.capacity import fits
        from placementclient.placing.topology import Topology
        from placementclient.render import metrics

        chosen = server_options.read_flavors(self, self.args.flavors)
        snapshot = cloud_options.read_cloud(self, self._warn_once).snapshot
        topology = Topology(snapshot)
        fitting, fallback = [], []
        for flavor, request in server_options.make_flavor_requests(
            self, snapshot, chosen, self._warn_once
        ):
            try:
                fitting.append((flavor, fits.count_fits_by_tree(topology, request.first)))
                if request.second is not None:
                    fallback.append((flavor, fits.count_fallback_fits(topology, request.second)))
            except errors.PlacementError as reason:
                # The other flavors can be counted all the same.
                self._warn_once(f'flavor {flavor.name}: {reason}')
        projects = sorted({consumer.project_id or '' for consumer in snapshot.consumers.values()})
        quotas = service_lists.make_quota_source(projects)
        sources, args = service_lists.get_sources(), self.args
        return metrics.make_capacity_metrics(
            snapshot,
            fitting,
            fallback=fallback,
            aggregates=sources.aggregates.read_option(self, args.aggregates) or (),
            projects=sources.projects.read_option(self, args.projects) or {},
            quotas=quotas.read_option(self, args.quotas) or {},
            assuming=args.assume,
            traits=args.trait,
        )
