# SPDX-License-Identifier: Apache-2.0
"""Capacity in the text format of Prometheus.

Names and labels are those of os-capacity (``openstack_hypervisor_placement_…``,
``openstack_free_capacity_…``, ``openstack_project_usage``) and of openstack-exporter
(``openstack_placement_…``), so that their dashboards go on working. A nested provider stands under
its host, with its own name in the label ``provider``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import format_install_command
from placementclient.insight import usage
from placementclient.insight.capacity.fits import FallbackFits, Fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.servers import Flavor, HostAggregate
from placementclient.model.snapshots import Snapshot
from placementclient.nova.server_request import FALLBACK
from placementclient.placing.topology import Topology

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

#: Values of labels, and the value.
Samples = Iterable[tuple[Sequence[str], float]]

#: The labels of the metrics of each inventory: those of openstack-exporter, and of os-capacity.
_OF_INVENTORY = 'hostname resourcetype provider'
_OF_HYPERVISOR = 'hypervisor resource provider'
#: The labels and the help of each metric, in the order of the output.
_METRICS = {
    'openstack_placement_assuming': (
        'file',
        'The figures are not those of now, but under the assumptions of a file.',
    ),
    'openstack_placement_resource_total': (_OF_INVENTORY, 'Total amount of a provider.'),
    'openstack_placement_resource_reserved': (_OF_INVENTORY, 'Reserved amount of a provider.'),
    'openstack_placement_resource_allocation_ratio': (
        _OF_INVENTORY,
        'Factor by which the amount that is not reserved can be allocated.',
    ),
    'openstack_placement_resource_usage': (_OF_INVENTORY, 'Allocated amount of a provider.'),
    'openstack_placement_resource_generation': (_OF_INVENTORY, 'The generation of the provider.'),
    'openstack_hypervisor_placement_allocated': (
        _OF_HYPERVISOR,
        'Allocated amount of a provider.',
    ),
    'openstack_hypervisor_placement_allocatable_capacity': (
        _OF_HYPERVISOR,
        'Amount of a provider that can be allocated: (total - reserved) * allocation_ratio.',
    ),
    'openstack_placement_resource_provider_trait': (
        'hostname trait provider',
        'The provider has the trait.',
    ),
    'openstack_project_usage': (
        'project_id project_name placement_resource',
        'What the consumers of a project hold.',
    ),
    'openstack_project_quota': (
        'project_id project_name quota_resource',
        'What a project may have; -1 is no limit.',
    ),
    'openstack_free_capacity_by_flavor_total': (
        'flavor_name public',
        'How many servers of a flavor fit in all.',
    ),
    'openstack_free_capacity_by_flavor_vcpu_fallback': (
        'flavor_name public',
        'How many more servers of a flavor with dedicated CPUs Placement grants on hosts without '
        f'PCPU, with VCPU in its place. {FALLBACK}.',
    ),
    'openstack_free_capacity_hypervisor_by_flavor': (
        'hypervisor flavor_name az_aggregate project_aggregate',
        'How many servers of a flavor fit on a host, if all of them go there.',
    ),
    'openstack_project_filter_aggregate': (
        'project_id aggregate',
        'The host aggregates that are for a project.',
    ),
    'openstack_placement_up': (
        '',
        '1 while the last successful reading is younger than three intervals, else 0.',
    ),
    'openstack_placement_capacity_last_read_timestamp_seconds': ('', 'When the figures were read.'),
    'openstack_placement_capacity_read_duration_seconds': (
        '',
        'How long reading the figures took.',
    ),
}


def make_capacity_metrics(
    snapshot: Snapshot,
    fits: Sequence[tuple[Flavor, Sequence[Fits]]],
    *,
    fallback: Sequence[tuple[Flavor, FallbackFits]] = (),
    aggregates: Sequence[HostAggregate],
    projects: Mapping[str, str],
    quotas: Mapping[str, Mapping[str, int]],
    assuming: Sequence[str] = (),
    traits: Sequence[str] = (),
) -> list[Metric]:
    """Return the metrics of the capacity.

    :param fits: by flavor, how many servers fit, by tree and in all
    :param fallback: by flavor with dedicated CPUs, how many more servers fit on hosts without PCPU
    :param projects: names by UUID
    :param quotas: limits by project UUID and resource
    :param assuming: the paths of the files of assumptions
    :param traits: patterns of the names of traits to export
    :param aggregates: those of Nova, for the zones of hosts
    :raises errors.PlacementError: if prometheus_client is not installed
    """
    # The order of the metrics is that of _METRICS.
    samples: dict[str, Samples] = {
        'openstack_project_usage': _sample_project_usage(snapshot, projects),
        'openstack_project_quota': _sample_quotas(quotas, projects),
        **_sample_flavors(snapshot, fits, aggregates),
        'openstack_project_filter_aggregate': [
            ((project, aggregate.name), 1)
            for aggregate in aggregates
            for project in aggregate.project_ids
        ],
    }
    if fallback:
        samples['openstack_free_capacity_by_flavor_vcpu_fallback'] = [
            ((flavor.name, str(flavor.is_public)), more.servers) for flavor, more in fallback
        ]
    if assuming:
        samples['openstack_placement_assuming'] = [((path,), 1) for path in assuming]
    if traits:
        samples['openstack_placement_resource_provider_trait'] = _sample_traits(snapshot, traits)
    return _make_metrics(_sample_inventories(snapshot) | samples)


def _sample_quotas(quotas: Mapping[str, Mapping[str, int]], projects: Mapping[str, str]) -> Samples:
    """Return the limits of projects by UUID, name and resource."""
    return [
        ((project, projects.get(project, ''), name), limit)
        for project, limits in sorted(quotas.items())
        for name, limit in limits.items()
    ]


def _sample_flavors(
    snapshot: Snapshot,
    fits: Sequence[tuple[Flavor, Sequence[Fits]]],
    aggregates: Sequence[HostAggregate],
) -> dict[str, Samples]:
    """Return how many servers of each flavor fit, in all and on each host."""
    names = {item.name for _, items in fits for item in items}
    places = {
        name: _find_zone_and_project_aggregate(snapshot, name, aggregates) for name in names - {ALL}
    }
    return {
        'openstack_free_capacity_by_flavor_total': [
            ((flavor.name, str(flavor.is_public)), item.count)
            for flavor, items in fits
            for item in items
            if item.name == ALL
        ],
        'openstack_free_capacity_hypervisor_by_flavor': [
            ((item.name, flavor.name, *places[item.name]), item.count)
            for flavor, items in fits
            for item in items
            if item.name != ALL
        ],
    }


def _sample_traits(snapshot: Snapshot, patterns: Sequence[str]) -> Samples:
    """Return a sample of the metric, 1, for each trait of a provider that matches a pattern.

    Its labels are the names of the host, the trait and the provider.
    """
    return [
        ((snapshot.providers[root].name, trait, state.name), 1)
        for root, states in Topology(snapshot).trees.items()
        for state in states
        for trait in sorted(state.traits)
        if any(fnmatchcase(trait, pattern) for pattern in patterns)
    ]


def make_reading_metrics(is_up: bool, read_at: float | None, seconds: float) -> list[Metric]:
    """Return the metrics about the age and the duration of the reading.

    :param is_up: whether the last successful reading is younger than three intervals
    :param read_at: the time of the last successful reading, in seconds since 1970
    :param seconds: the duration of the reading
    """
    prefix = 'openstack_placement_capacity'
    return _make_metrics(
        {
            'openstack_placement_up': [((), is_up)],
            f'{prefix}_last_read_timestamp_seconds': [((), read_at)] if read_at is not None else [],
            f'{prefix}_read_duration_seconds': [((), seconds)],
        }
    )


def format_metrics(families: Iterable[Metric]) -> str:
    """Return metrics in the text format of Prometheus."""
    from prometheus_client.exposition import generate_latest

    return generate_latest(SimpleNamespace(collect=lambda: families)).decode()


def _make_metrics(samples: Mapping[str, Samples]) -> list[Metric]:
    """Return metrics, given their samples by name.

    :raises errors.PlacementError: if prometheus_client is not installed
    """
    try:
        from prometheus_client import core
    except ImportError:
        raise errors.PlacementError(
            f'Metrics need prometheus_client: {format_install_command("metrics")}'
        ) from None
    families: list[Metric] = []
    for name in [name for name in _METRICS if name in samples]:
        labels, help = _METRICS[name]
        # The names of others end like a counter's, which a gauge's must not: promtool says so.
        kind = core.UntypedMetricFamily if name.endswith('_total') else core.GaugeMetricFamily
        family = kind(name, help, labels=labels.split())
        for values, value in samples[name]:
            family.add_metric(values, float(value))
        families.append(family)
    return families


def _sample_inventories(snapshot: Snapshot) -> dict[str, Samples]:
    """Return the samples of all inventories, by the name of the metric."""
    samples: dict[str, list[tuple[Sequence[str], float]]] = {
        name: []
        for name, (labels, _) in _METRICS.items()
        if labels in (_OF_INVENTORY, _OF_HYPERVISOR)
    }
    for root, states in Topology(snapshot).trees.items():
        for state in states:
            for resource_class, inventory in sorted(state.inventories.items()):
                labels = snapshot.providers[root].name, resource_class, state.name
                used = state.used(resource_class)
                for name, value in (
                    ('openstack_placement_resource_total', inventory.total),
                    ('openstack_placement_resource_reserved', inventory.reserved),
                    ('openstack_placement_resource_allocation_ratio', inventory.allocation_ratio),
                    ('openstack_placement_resource_usage', used),
                    ('openstack_placement_resource_generation', state.provider.generation),
                    ('openstack_hypervisor_placement_allocated', used),
                    ('openstack_hypervisor_placement_allocatable_capacity', inventory.capacity),
                ):
                    samples[name].append((labels, value))
    return {**samples}


def _sample_project_usage(snapshot: Snapshot, names: Mapping[str, str]) -> Samples:
    """Return the usage of projects by UUID, name and class."""
    lines = usage.sum_by_subject(snapshot, 'project')
    return sorted(
        ((line.subject, names.get(line.subject, ''), line.resource_class), line.used)
        for line in lines
    )


def _find_zone_and_project_aggregate(
    snapshot: Snapshot, host: str, aggregates: Sequence[HostAggregate]
) -> tuple[str, str]:
    """Return the names of the availability zone of a host, and of its aggregate for some projects.

    A name is empty if the host has no zone or no such aggregate, and ``multiple`` in place of the
    names of several such aggregates, as in os-capacity.
    """
    state = snapshot.find_by_name(host)
    uuids = state.aggregates if state is not None else ()
    within = [aggregate for aggregate in aggregates if aggregate.uuid in uuids]
    zones = [aggregate.zone for aggregate in within if aggregate.zone]
    filters = [aggregate.name for aggregate in within if aggregate.project_ids]
    return ''.join(zones[:1]), 'multiple' if len(filters) > 1 else ''.join(filters)
