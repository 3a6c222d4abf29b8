# SPDX-License-Identifier: Apache-2.0
"""Allocation ratios that differ from those of like hosts, or from a ``nova.conf``."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.insight.audit.cloud import Cloud, make_finding
from placementclient.model.findings import Finding
from placementclient.model.repairs import make_inventory_advice
from placementclient.model.snapshots import ProviderState
from placementclient.placing.providers import is_sharing

_LASTING = (
    'nova-compute sets the ratio of its file at least once a minute: see in its log why it does '
    'not, or if it reads another file'
)
_TIED = 'no ratio is that of more than half of the hosts: choose one, and set it on the others'
_FULL = '{} of {} is in use, more than that ratio allows: move servers away first. Then'


class _Ratio(NamedTuple):
    """The ratio of a class on a provider of a host."""

    state: ProviderState
    resource_class: str
    value: float


class _AggregateRatios(NamedTuple):
    """The hosts of an aggregate that have a class.

    :param aggregate: its UUID
    :param hosts: the ratios of each host, by the UUID of its root
    """

    aggregate: str
    resource_class: str
    hosts: Mapping[str, list[_Ratio]]

    @property
    def roots_with_class(self) -> list[tuple[str, str]]:
        """Pairs of the UUID of each host's root and the class."""
        return [(uuid, self.resource_class) for uuid in self.hosts]

    @property
    def ratios_by_root(self) -> dict[str, frozenset[float]]:
        return {uuid: frozenset(r.value for r in listed) for uuid, listed in self.hosts.items()}

    @property
    def is_uniform(self) -> bool:
        """True if all hosts of the aggregate have the same ratio."""
        return len(set(self.ratios_by_root.values())) == 1

    @property
    def usual_ratio(self) -> float | None:
        """The ratio of more than half of the hosts, if there is one."""
        ((values, number),) = Counter(self.ratios_by_root.values()).most_common(1)
        return next(iter(values)) if number * 2 > len(self.hosts) and len(values) == 1 else None


def find_ratio_differences(cloud: Cloud) -> Iterator[Finding]:
    """Yield the allocation ratios that differ from ``nova.conf``, or from hosts of an aggregate."""
    ratios = {root.uuid: _group_ratios_by_class(cloud, root) for root in cloud.snapshot.roots()}
    configured = cloud.lists.ratios
    for root in cloud.snapshot.roots():
        for name, wanted in sorted(configured.get(root.uuid, {}).items()):
            for live in ratios[root.uuid].get(name, ()):
                if live.value != wanted.value:
                    facts = {wanted.option: wanted.value}
                    reason = _LASTING if wanted.is_lasting else ''
                    yield _make_ratio_finding(cloud, live, wanted.value, facts, reason)
    yield from _find_differences_in_aggregates(cloud, ratios)


def _group_ratios_by_class(cloud: Cloud, root: ProviderState) -> dict[str, list[_Ratio]]:
    """Return by class the ratios of the providers of a host, without those that share."""
    ratios = defaultdict[str, list[_Ratio]](list)
    for state in cloud.topology.trees[root.uuid]:
        for name, inventory in () if is_sharing(state) else state.inventories.items():
            ratios[name].append(_Ratio(state, name, inventory.allocation_ratio))
    return ratios


def _find_differences_in_aggregates(
    cloud: Cloud, ratios: Mapping[str, Mapping[str, list[_Ratio]]]
) -> Iterator[Finding]:
    """Yield the ratios that differ in an aggregate, each host once for a class.

    A ratio that a ``nova.conf`` sets, or that all hosts of some aggregate share, is right.

    :param ratios: by the UUID of the root of each host, then by class
    """
    groups = list(_group_ratios_by_aggregate(cloud, ratios))
    settled = {(uuid, name) for uuid, named in cloud.lists.ratios.items() for name in named}
    settled.update(part for group in groups if group.is_uniform for part in group.roots_with_class)
    for group in groups:
        pending = [part for part in group.roots_with_class if part not in settled]
        if pending and group.usual_ratio is None:
            settled.update(pending)
            yield _make_aggregate_finding(cloud, group)
            continue
        for uuid, name in pending:
            for ratio in group.hosts[uuid]:
                if group.usual_ratio is not None and ratio.value != group.usual_ratio:
                    settled.add((uuid, name))
                    facts = {'others': group.usual_ratio, 'aggregate': group.aggregate}
                    yield _make_ratio_finding(cloud, ratio, group.usual_ratio, facts)


def _group_ratios_by_aggregate(
    cloud: Cloud, ratios: Mapping[str, Mapping[str, list[_Ratio]]]
) -> Iterator[_AggregateRatios]:
    """Yield the ratios of each class in each aggregate of which several hosts have the class.

    :param ratios: by the UUID of the root of each host, then by class
    """
    for aggregate, members in sorted(cloud.topology.members.items()):
        hosts = defaultdict[str, dict[str, list[_Ratio]]](dict)
        for member in members:
            for name, listed in ratios.get(member.uuid, {}).items():
                hosts[name][member.uuid] = listed
        for name, by_root in sorted(hosts.items()):
            if len(by_root) > 1:
                yield _AggregateRatios(aggregate, name, by_root)


def _make_aggregate_finding(cloud: Cloud, group: _AggregateRatios) -> Finding:
    """Return the finding about an aggregate without a usual ratio, with its hosts by ratio."""
    names = defaultdict[str, list[str]](list)
    for uuid, values in group.ratios_by_root.items():
        names[', '.join(map(str, sorted(values)))].append(cloud.get_name(uuid))
    facts = {'resource_class': group.resource_class, 'ratios': dict(names)}
    return make_finding(group.aggregate, facts, tuple(group.hosts), reason=_TIED)


def _make_ratio_finding(
    cloud: Cloud, ratio: _Ratio, wanted: float, facts: Mapping[str, object], reason: str = ''
) -> Finding:
    """Return the finding about a ratio that should be another one.

    :param wanted: the ratio that it should be
    :param facts: those beside the class and its present ratio
    :param reason: why not to set the wanted ratio at once
    """
    state, name, value = ratio
    used = state.used(name)
    capacity = replace(state.inventories[name], allocation_ratio=wanted).capacity
    if used > capacity and not reason and wanted < value:
        reason = _FULL.format(f'{used} {name}', state.name)
    remedy = make_inventory_advice(state.reference, name, {'allocation_ratio': wanted})
    facts = {'resource_class': name, 'allocation_ratio': value, **facts}
    return cloud.make_finding(state, facts, remedy, reason)
