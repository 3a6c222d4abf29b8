# SPDX-License-Identifier: Apache-2.0
"""Servers that hold what nothing of them asks for, or are where flavor or image forbid it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from placementclient.insight.audit.cloud import Cloud, MissingFields, make_finding
from placementclient.model.consumers import Consumer, sum_resources
from placementclient.model.findings import Finding
from placementclient.model.servers import Flavor, Image, Server
from placementclient.nova.drafts import EXTRA_SPEC
from placementclient.nova.server_parts import Refusal, ServerRequest
from placementclient.nova.server_request import (
    build_request,
    find_device_requests,
    sum_request_amounts,
)

#: The classes that every server may ask for.
_USUAL = frozenset({'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB'})
#: Classes that only a flavor or an image asks for.
_OF_IMAGES = frozenset({'MEM_ENCRYPTION_CONTEXT'})
#: The classes that ports may have from Nova or Cyborg, without a request in Neutron.
_DEVICES = ('CUSTOM_PCI_', 'PCI_DEVICE', 'SRIOV_NET_VF', 'FPGA', 'PGPU')
_NO_FLAVORS = 'the list of servers has no flavors with extra specs: GET /servers/detail has them'
_LOST = (
    'Nova gave it this for the flavor or the port that it had: a resize, or openstack server '
    'remove port, takes it away. Nothing else does'
)
_TRAITS = (
    'the host or the flavor has changed since the server started there: it runs on, and the next '
    'migration takes it to a host that fits'
)


def find_classes_without_flavor(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers with a class that no flavor, port, device or image of theirs requests."""
    of_ports: dict[str, set[str]] = {}
    for port in cloud.lists.ports or ():
        classes = {name for group in port.groups for name in group.resources}
        of_ports.setdefault(port.server_uuid, set()).update(classes)
    for server, flavor, consumer, _ in _find_placed_servers(cloud):
        image, _ = cloud.lists.images.find_image(server)
        explained = _USUAL | of_ports.get(server.uuid, set()) | (set() if image else _OF_IMAGES)
        surplus = {
            name: amount
            for name, amount in sum_resources(consumer.allocations.values()).items()
            if name not in explained and not name.startswith(_DEVICES)
        }
        if surplus and (
            unasked := surplus.keys() - _find_requested_classes(flavor, image, surplus)
        ):
            holds = {name: surplus[name] for name in sorted(unasked)}
            yield _make_server_finding(
                cloud, server, consumer, {'flavor': flavor.name, 'holds': holds}, _LOST
            )


def _find_requested_classes(
    flavor: Flavor, image: Image | None, classes: Iterable[str]
) -> set[str]:
    """Return the classes that a flavor and an image may ask for.

    These are all ``classes`` if the flavor asks for devices, or Nova refuses it.

    :param image: ``None``: it is not known
    """
    try:
        return set(
            classes
            if find_device_requests(flavor)
            else sum_request_amounts(build_request(ServerRequest(flavor, image)).first)
        )
    except Refusal:
        return set(classes)


def find_trait_mismatches(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers on a host without a trait that they require, or with a forbidden one."""
    for server, flavor, consumer, root in _find_placed_servers(cloud):
        rules = list(_read_trait_rules(flavor, cloud.lists.images.find_image(server)[0]))
        if wrong := _find_wrong_traits(cloud, consumer, root, rules) if rules else {}:
            host = {'flavor': flavor.name, 'host': cloud.get_name(root)}
            yield _make_server_finding(cloud, server, consumer, {**host, **wrong}, _TRAITS)


class _TraitRule(NamedTuple):
    """A trait in a flavor or an image.

    :param suffix: the suffix of its group of resources; empty for the server as a whole
    :param rule: ``required`` or ``forbidden``
    """

    suffix: str
    trait: str
    rule: str


def _find_wrong_traits(
    cloud: Cloud, consumer: Consumer, root: str, rules: Sequence[_TraitRule]
) -> dict[str, list[str]]:
    """Return the traits that a server's host ``lacks``, and the ``forbidden`` ones that it has.

    :param consumer: the consumer of the server
    :param root: the UUID of the root of the host
    :return: names of traits by ``lacks`` and ``forbidden``; empty if all rules are kept
    """
    # A group may be on any provider of the host; what the server as a whole forbids counts on those
    # that it uses.
    used = {t for uuid in consumer.allocations for t in cloud.snapshot.providers[uuid].traits}
    present = used.union(*(state.traits for state in cloud.topology.trees[root]))
    broken = {
        'lacks': [
            rule.trait for rule in rules if rule.rule == 'required' and rule.trait not in present
        ],
        'forbidden': [
            rule.trait
            for rule in rules
            if rule.rule == 'forbidden' and not rule.suffix and rule.trait in used
        ],
    }
    return {kind: sorted(names) for kind, names in broken.items() if names}


def _read_trait_rules(flavor: Flavor, image: Image | None) -> Iterator[_TraitRule]:
    for key, rule in chain(flavor.extra_specs.items(), image.properties.items() if image else ()):
        match = EXTRA_SPEC.fullmatch(key)
        if match and match[1] == 'trait':
            yield _TraitRule(match[2] or '', match[3], rule)


def _find_placed_servers(cloud: Cloud) -> Iterator[tuple[Server, Flavor, Consumer, str]]:
    """Yield each server on exactly one host, its flavor, its consumer and the UUID of the root."""
    servers = cloud.servers.values()
    if servers and not any(server.flavor for server in servers):
        raise MissingFields(_NO_FLAVORS)
    for server, consumer, root in cloud.list_servers_on_one_host():
        if server.flavor:
            yield server, server.flavor, consumer, root


def _make_server_finding(
    cloud: Cloud, server: Server, consumer: Consumer, facts: Mapping[str, object], reason: str
) -> Finding:
    """Return the finding about a server; the reason says why there is no remedy."""
    roots, passed_over = cloud.find_roots(consumer), cloud.find_skip_reason(server.uuid)
    return make_finding(server.uuid, facts, roots, reason=reason, passed_over=passed_over)
