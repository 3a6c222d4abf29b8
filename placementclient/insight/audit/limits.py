"""Resource classes without the limits that Nova needs to boot servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding
from placementclient.model.flavors import Flavor
from placementclient.model.nova import INSTANCE
from placementclient.nova import server_request
from placementclient.nova.server_request import Scheduling

#: What Nova takes by flavors alone. Ports, images and PCI devices take others, without a limit.
_OF_FLAVORS = ('VCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU')
_SERVERS, _PREFIX = 'servers', 'class:'
_REGISTER = (
    'only you know the limit: openstack registered limit create --service nova '
    '--default-limit LIMIT {}'
)


def limit_missing(cloud: Cloud) -> Iterator[Finding]:
    """A resource class is in use and has no registered limit in Keystone.

    The check is for clouds with unified limits, in which a limit of ``servers`` or of any class is
    registered. A class is in use if a flavor asks for it. Without the list of flavors, these are
    VCPU, MEMORY_MB, DISK_GB and VGPU, if a server has any. A limit of any region counts.

    Why it matters: up to Nova 2024.2, a missing limit is a limit of 0: no server of such a flavor
    can be booted. From 2025.1 on, ``[quota]unified_limits_resource_strategy`` in ``nova.conf``
    decides if a missing limit means unlimited.

    Safe to fix: registering a limit takes nothing from any server. Choose it at least as high as
    the largest use of a project: ``openstack resource usage show PROJECT``.

    Look yourself: ``openstack registered limit list --service nova``; ``nova-manage limits
    migrate_to_unified_limits`` registers those of the old quotas

    Example: ``flavors (m1.pinned), registered (class:MEMORY_MB, class:VCPU, servers)``
    """
    limits = cloud.answers.limits
    if limits is None or not any(n == _SERVERS or n.startswith(_PREFIX) for n in limits):
        return
    flavors = cloud.answers.flavors
    in_use = _held(cloud) if flavors is None else _asked(cloud.answers.scheduling, flavors)
    needed = {_SERVERS: {}, **{f'{_PREFIX}{name}': why for name, why in in_use.items()}}
    for name, why in needed.items():
        if name not in limits:
            facts = {**why, 'registered': sorted(limits)}
            yield Finding(name, (), facts, None, _REGISTER.format(name))


def _asked(scheduling: Scheduling, flavors: Iterable[Flavor]) -> dict[str, dict[str, object]]:
    """The classes that flavors ask for, with the names of these."""
    asking: dict[str, list[str]] = {}
    for flavor, request in scheduling.first_of_each(flavors):
        for name in server_request.amounts(request):
            asking.setdefault(name, []).append(flavor.name)
    return {name: {'flavors': sorted(names)} for name, names in sorted(asking.items())}


def _held(cloud: Cloud) -> dict[str, dict[str, object]]:
    """The classes that servers hold, with the number of servers, as far as flavors decide that."""
    allocated = Counter(
        name
        for consumer in cloud.snapshot.consumers.values()
        if consumer.type in (None, INSTANCE)
        for name in {name for resources in consumer.allocations.values() for name in resources}
    )
    return {name: {'consumers': allocated[name]} for name in _OF_FLAVORS if name in allocated}
