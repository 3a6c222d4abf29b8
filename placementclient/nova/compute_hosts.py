# SPDX-License-Identifier: Apache-2.0
"""The nova-computes and the compute nodes that Nova has, also in a maintenance window."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from placementclient.basis.errors import BadFile
from placementclient.client.http import Client
from placementclient.model.services import ComputeService, Hypervisor
from placementclient.nova import host_records, service

T = TypeVar('T')


def read_compute_services(client: Client) -> list[ComputeService]:
    """Return all nova-compute services, up or down.

    :raises ServiceError: if Nova does not list them within a few seconds
    """
    return _read_records(client, service.compute_services, host_records.decode_compute_services)


def read_compute_nodes(client: Client) -> list[Hypervisor]:
    """Return all compute nodes of Nova's database.

    :raises ServiceError: if Nova does not list them within a few seconds
    """
    return _read_records(client, service.hypervisors, host_records.decode_hypervisors)


def _read_records(
    client: Client, request: service.ListRequest, parse: Callable[[object, str], list[T]]
) -> list[T]:
    """Return the records of a list; Nova is asked once, and has a few seconds to answer."""
    try:
        return parse(request(service.copy_for_one_try(client)), 'Nova')
    except BadFile as reason:
        raise service.ServiceRefusal(str(reason)) from None


def find_running_hosts(
    roots: Collection[str], services: Iterable[ComputeService]
) -> dict[str, str]:
    """Return the hosts whose nova-compute is up, by the names of their roots.

    The names of a host and of its root are equal, or only one of them has a domain.
    """
    by_host = {service.host: service.is_up for service in services}
    by_label = defaultdict[str, list[str]](list)
    for host in by_host.keys() - set(roots):
        by_label[_drop_domain(host)].append(host)
    running: dict[str, str] = {}
    for root in roots:
        hosts = [root] if root in by_host else by_label.get(_drop_domain(root), [])
        for host in sorted(hosts):
            is_same = host == root or ('.' in host) != ('.' in root)
            if is_same and by_host[host]:
                running.setdefault(root, host)
    return running


def _drop_domain(name: str) -> str:
    """Return the name of a host without its domain, in small letters."""
    return name.partition('.')[0].lower()
