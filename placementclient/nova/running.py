"""The hosts of Nova, which may be down in a maintenance window."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.services import ComputeService, Hypervisor
from placementclient.nova import host_records, service

T = TypeVar('T')

#: How long an answer is waited for, in seconds.
TIMEOUT = 10.0


def computes(client: Client) -> list[ComputeService]:
    """Return all nova-compute services, up or down."""
    return _asked(client, service.compute_services, host_records.compute_services)


def compute_nodes(client: Client) -> list[Hypervisor]:
    """Return all compute nodes of Nova's database."""
    return _asked(client, service.hypervisors, host_records.hypervisors)


def _asked(
    client: Client, ask: Callable[[Client], list[Any]], parse: Callable[[Any, str], list[T]]
) -> list[T]:
    asking = client.renewed()
    asking.max_retries, asking.timeout = 0, client.timeout or TIMEOUT
    try:
        return parse(ask(asking), 'Nova')
    except errors.BadFile as reason:
        raise service.NoCompute(str(reason)) from None


def up_on(roots: Collection[str], known: Iterable[ComputeService]) -> dict[str, str]:
    """Return the roots whose nova-compute is up, each with the name of its host.

    A host belongs to the root of the same name. If there is none, it belongs to the root whose name
    is the same without the domain, unless both names have a domain.
    """
    by_host = {service.host: service.is_up for service in known}
    by_label = defaultdict[str, list[str]](list)
    for host in by_host.keys() - set(roots):
        by_label[_label(host)].append(host)
    result: dict[str, str] = {}
    for root in roots:
        hosts = [root] if root in by_host else by_label.get(_label(root), [])
        for host in sorted(hosts):
            is_same = host == root or ('.' in host) != ('.' in root)
            if is_same and by_host[host]:
                result.setdefault(root, host)
    return result


def _label(name: str) -> str:
    return name.partition('.')[0].lower()
