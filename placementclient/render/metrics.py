"""Capacity in the text format of Prometheus.

Names and labels are those of os-capacity (``openstack_hypervisor_placement_…``,
``openstack_free_capacity_…``, ``openstack_project_usage``) and of openstack-exporter
(``openstack_placement_…``), so that their dashboards go on working. A nested provider stands under
its host, with its own name in the label ``provider``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple

from placementclient.client import errors
from placementclient.client.wording import installing
from placementclient.insight.capacity.supply import Fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.servers import Flavor, HostAggregate
from placementclient.model.snapshots import Snapshot
from placementclient.placing.topology import Topology

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

#: Items are (labels, value).
Samples = Iterable[tuple[Sequence[str], float]]

#: The metrics with a figure for each inventory, by the beginnings of their names and their labels:
#: the end of the name, help and figure of each.
_OF_INVENTORIES = {
    ('openstack_placement_resource', ('hostname', 'resourcetype', 'provider')): (
        ('total', 'Total amount of a provider.', 'total'),
        ('reserved', 'Reserved amount of a provider.', 'reserved'),
        (
            'allocation_ratio',
            'Factor by which the amount that is not reserved can be allocated.',
            'allocation_ratio',
        ),
        ('usage', 'Allocated amount of a provider.', 'used'),
        ('generation', 'The generation of the provider.', 'generation'),
    ),
    ('openstack_hypervisor_placement', ('hypervisor', 'resource', 'provider')): (
        ('allocated', 'Allocated amount of a provider.', 'used'),
        (
            'allocatable_capacity',
            'Amount of a provider that can be allocated: (total - reserved) * allocation_ratio.',
            'capacity',
        ),
    ),
}


class OtherServices(NamedTuple):
    """The answers of other services about the users of capacity.

    :param aggregates: the host aggregates
    :param projects: the names of the projects, by ID
    :param quotas: the quotas of projects, by ID
    """

    aggregates: Sequence[HostAggregate] = ()
    projects: Mapping[str, str] = {}
    quotas: Mapping[str, Mapping[str, int]] = {}


def capacity(
    snapshot: Snapshot,
    fits: Sequence[tuple[Flavor, Sequence[Fits]]],
    around: OtherServices,
    assuming: Sequence[str] = (),
    traits: Sequence[str] = (),
) -> list[Metric]:
    """Return the metrics of the capacity.

    :param fits: of each flavor how many fit, by tree and in all
    :param around: what other services were asked
    :param assuming: the files of the assumptions under which the figures hold
    :param traits: patterns of the names of traits to export
    :raises errors.PlacementError: if prometheus_client is not installed
    """
    assumed = _family(
        'openstack_placement_assuming',
        'The figures are not those of now, but under the assumptions of a file.',
        ('file',),
        (((path,), 1) for path in assuming),
    )
    return [
        *([assumed] if assuming else ()),
        *_by_provider(snapshot),
        *([_by_trait(snapshot, traits)] if traits else ()),
        _family(
            'openstack_project_usage',
            'What the consumers of a project hold.',
            ('project_id', 'project_name', 'placement_resource'),
            _by_project(snapshot, around.projects),
        ),
        _family(
            'openstack_project_quota',
            'What a project may have; -1 is no limit.',
            ('project_id', 'project_name', 'quota_resource'),
            (
                ((project, around.projects.get(project, ''), name), limit)
                for project, limits in sorted(around.quotas.items())
                for name, limit in limits.items()
            ),
        ),
        *_by_flavor(snapshot, fits, around.aggregates),
        _family(
            'openstack_project_filter_aggregate',
            'The host aggregates that are for a project.',
            ('project_id', 'aggregate'),
            (
                ((project, aggregate.name), 1)
                for aggregate in around.aggregates
                for project in aggregate.project_ids
            ),
        ),
    ]


def reading(is_up: bool, read_at: float | None, seconds: float) -> list[Metric]:
    """Return the metrics about the age and the duration of the reading.

    :param is_up: whether the last successful reading is younger than three intervals
    :param read_at: the time of the last successful reading, in seconds since 1970
    :param seconds: the duration of the last reading, successful or not
    """
    return [
        _family(
            'openstack_placement_up',
            '1 while the last successful reading is younger than three intervals, else 0.',
            (),
            [((), is_up)],
        ),
        _family(
            'openstack_placement_capacity_last_read_timestamp_seconds',
            'When the figures were read.',
            (),
            [] if read_at is None else [((), read_at)],
        ),
        _family(
            'openstack_placement_capacity_read_duration_seconds',
            'How long reading the figures took.',
            (),
            [((), seconds)],
        ),
    ]


def text(families: Iterable[Metric]) -> str:
    from prometheus_client.exposition import generate_latest

    return generate_latest(SimpleNamespace(collect=lambda: families)).decode()


def _family(name: str, help: str, labels: Sequence[str], samples: Samples) -> Metric:
    try:
        from prometheus_client import core
    except ImportError:
        raise errors.PlacementError(
            f'Metrics need prometheus_client: {installing("metrics")}'
        ) from None
    # The names of others end like a counter's, which a gauge's must not: promtool says so.
    kind = core.UntypedMetricFamily if name.endswith('_total') else core.GaugeMetricFamily
    family = kind(name, help, labels=labels)
    for values, value in samples:
        family.add_metric(values, float(value))
    return family


def _by_provider(snapshot: Snapshot) -> Iterator[Metric]:
    found = [
        (
            (snapshot.providers[root].name, resource_class, state.name),
            {
                **inventory.as_fields(),
                'capacity': inventory.capacity,
                'used': state.used(resource_class),
                'generation': state.provider.generation,
            },
        )
        for root, states in Topology(snapshot).trees.items()
        for state in states
        for resource_class, inventory in sorted(state.inventories.items())
    ]
    for (prefix, labels), metrics in _OF_INVENTORIES.items():
        for end, help, figure in metrics:
            samples = ((values, figures[figure]) for values, figures in found)
            yield _family(f'{prefix}_{end}', help, labels, samples)


def _by_trait(snapshot: Snapshot, patterns: Sequence[str]) -> Metric:
    return _family(
        'openstack_placement_resource_provider_trait',
        'The provider has the trait.',
        ('hostname', 'trait', 'provider'),
        (
            ((snapshot.providers[root].name, trait, state.name), 1)
            for root, states in Topology(snapshot).trees.items()
            for state in states
            for trait in sorted(state.traits)
            if any(fnmatchcase(trait, pattern) for pattern in patterns)
        ),
    )


def _by_project(snapshot: Snapshot, names: Mapping[str, str]) -> Samples:
    used: dict[tuple[str, str], int] = {}
    for consumer in snapshot.consumers.values():
        for resources in consumer.allocations.values():
            for name, amount in resources.items():
                key = consumer.project_id or '', name
                used[key] = used.get(key, 0) + amount
    return [
        ((project, names.get(project, ''), name), amount)
        for (project, name), amount in sorted(used.items())
    ]


def _by_flavor(
    snapshot: Snapshot,
    samples: Sequence[tuple[Flavor, Sequence[Fits]]],
    aggregates: Sequence[HostAggregate],
) -> Iterator[Metric]:
    yield _family(
        'openstack_free_capacity_by_flavor_total',
        'How many servers of a flavor fit in all.',
        ('flavor_name', 'public'),
        [
            ((flavor.name, str(flavor.is_public)), item.count)
            for flavor, fits in samples
            for item in fits
            if item.name == ALL
        ],
    )
    yield _family(
        'openstack_free_capacity_hypervisor_by_flavor',
        'How many servers of a flavor fit on a host, if all of them go there.',
        ('hypervisor', 'flavor_name', 'az_aggregate', 'project_aggregate'),
        [
            ((item.name, flavor.name, *_labels(snapshot, item.name, aggregates)), item.count)
            for flavor, fits in samples
            for item in fits
            if item.name != ALL
        ],
    )


def _labels(snapshot: Snapshot, host: str, aggregates: Sequence[HostAggregate]) -> tuple[str, str]:
    """The zone of a host, and the aggregate for some projects that it is in, as in os-capacity."""
    state = snapshot.named(host)
    within = [name for name in aggregates if state is not None and name.uuid in state.aggregates]
    zones = [name.zone for name in within if name.zone]
    filters = [name.name for name in within if name.project_ids]
    return ''.join(zones[:1]), 'multiple' if len(filters) > 1 else ''.join(filters)
