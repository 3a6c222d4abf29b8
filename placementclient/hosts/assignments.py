# SPDX-License-Identifier: Apache-2.0
"""Assignment rows from the facts of hosts, and the contradictions."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from placementclient.hosts.libvirt import Domain, HostFacts
from placementclient.model.assignments import COLUMNS, TO_CLASS, AssignmentRow
from placementclient.model.findings import Finding
from placementclient.model.snapshots import Snapshot

VGPU = 'VGPU'
#: The classes that are bound to a NUMA cell.
CELL_CLASSES = ('VCPU', 'PCPU', 'MEMORY_MB')
T = TypeVar('T')

#: Certain rows, and contradictions.
Results = Iterator[AssignmentRow | Finding]
#: The allocations of each consumer in the tree of a host.
_Allocated = Mapping[str, Mapping[str, int]]


def make_contradiction(subject: str, reason: str, path: str, consumer_uuid: str = '') -> Finding:
    """Return a finding about a contradiction between facts of a host and allocations.

    :param subject: the server, the device, the provider or the host that it is about
    :param path: the file with the facts
    :param consumer_uuid: the server whose device the subject is
    """
    facts = {'file': path, 'consumer': consumer_uuid or subject}
    return Finding('contradiction', subject, facts, reason=reason)


def split_findings(results: Iterable[T | Finding]) -> tuple[list[T], list[Finding]]:
    """Return the results that are no findings, such as rows, and the findings.

    :param results: rows or the like, mixed with findings
    """
    certain: list[T] = []
    contradictions: list[Finding] = []
    for result in results:
        if isinstance(result, Finding):
            contradictions.append(result)
        else:
            certain.append(result)
    return certain, contradictions


def assign_mediated_devices(
    hosts: Sequence[HostFacts],
    snapshot: Snapshot | None = None,
    classes: Mapping[str, str] | None = None,
    default: str = VGPU,
) -> Results:
    """Yield an assignment of each server with a mediated device to its GPU, or a contradiction.

    :param snapshot: has the allocations to compare with; without it nothing is compared
    :param classes: the resource class of each mdev type, as Nova's ``mdev_class`` says
    :param default: the class of other types
    """
    by_type = classes or {}
    names = {default, *by_type.values()}
    for facts, domains, allocated in _list_servers_by_host(hosts, snapshot):
        for domain in domains:
            rows, contradictions = split_findings(_assign_domain(facts, domain, by_type, default))
            if snapshot is not None and rows and not contradictions:
                contradictions += _compare_with_allocations(allocated, facts, domain, rows)
            if not domain.mdevs and names & allocated.get(domain.uuid, {}).keys():
                contradictions.append(
                    _make_missing_device_finding(allocated[domain.uuid], facts, domain, names)
                )
            yield from contradictions or rows
    yield from _find_duplicate_servers(hosts)


def assign_numa_cells(hosts: Sequence[HostFacts], snapshot: Snapshot | None = None) -> Results:
    """Yield an assignment of each server to its memory's NUMA cell, or a contradiction.

    :param snapshot: has the classes that each server holds; ``None``: each has VCPU and MEMORY_MB
    """
    for facts, domains, allocated in _list_servers_by_host(hosts, snapshot):
        for domain in domains:
            resources = allocated.get(domain.uuid, {})
            cells = domain.nodeset
            if not cells and facts.cells:
                cells = frozenset(facts.cells[cpu] for cpu in domain.cpus if cpu in facts.cells)
            if snapshot is not None and not resources:
                yield _make_unknown_server_finding(facts, domain)
            elif len(cells) != 1:
                spanned = ', '.join(map(str, sorted(cells)))
                reason = (
                    f'spans the NUMA cells {spanned}' if cells else 'is not bound to a NUMA cell'
                )
                yield make_contradiction(domain.uuid, reason, domain.path)
            else:
                [cell] = cells
                evidence = f'NUMA cell {cell} in {domain.path}'
                target = f'{facts.hostname}_NUMA{cell}'
                names = [name for name in CELL_CLASSES if name in resources]
                for name in names or ['VCPU', 'MEMORY_MB']:
                    yield AssignmentRow(domain.uuid, name, None, target, evidence)
    yield from _find_duplicate_servers(hosts)


def format_assignments(rows: Iterable[AssignmentRow]) -> str:
    """Return rows as the text of a CSV file of assignments."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    columns = (*COLUMNS, TO_CLASS)
    writer.writerow(columns)
    writer.writerows([getattr(row, column) for column in columns] for row in rows)
    return out.getvalue()


def _list_paths_by_server(hosts: Sequence[HostFacts]) -> dict[str, list[str]]:
    """Return the paths of the files about each server, one for each host that has the server."""
    paths = defaultdict[str, list[str]](list)
    for facts in hosts:
        for domain in facts.domains:
            paths[domain.uuid].append(domain.path)
    return paths


def _list_servers_by_host(
    hosts: Sequence[HostFacts], snapshot: Snapshot | None
) -> Iterator[tuple[HostFacts, Sequence[Domain], _Allocated]]:
    """Yield each host with its servers and their allocations, without servers of several hosts.

    :param snapshot: ``None``: no allocations are known
    """
    several = {uuid for uuid, paths in _list_paths_by_server(hosts).items() if len(paths) > 1}
    for facts in hosts:
        allocated = _sum_allocations(snapshot, facts.hostname)
        yield (
            facts,
            [domain for domain in facts.domains if domain.uuid not in several],
            allocated,
        )


def _find_duplicate_servers(hosts: Sequence[HostFacts]) -> Iterator[Finding]:
    """Yield a contradiction for each server that several hosts have."""
    for uuid, paths in _list_paths_by_server(hosts).items():
        if len(paths) > 1:
            reason = f'is on several hosts, as in a migration: {", ".join(paths)}'
            yield make_contradiction(uuid, reason, paths[0])


def _sum_allocations(snapshot: Snapshot | None, hostname: str) -> _Allocated:
    """Return the amounts of each consumer in the tree of a host, by consumer UUID and class.

    :param snapshot: ``None``: the result is empty
    """
    root = snapshot.find(hostname) if snapshot is not None else None
    allocated = defaultdict[str, Counter[str]](Counter)
    if snapshot is not None and root is not None:
        for state in snapshot.tree(root.uuid):
            for consumer in snapshot.consumers_on(state.uuid):
                allocated[consumer.uuid].update(consumer.allocations[state.uuid])
    return allocated


def _assign_domain(
    facts: HostFacts, domain: Domain, classes: Mapping[str, str], default: str
) -> Results:
    """Yield an assignment of a server's mediated devices to each GPU, or contradictions.

    :param classes: the resource class of each mdev type
    :param default: the class of other types
    """
    placed: dict[tuple[str, str], list[str]] = {}
    for uuid in domain.mdevs:
        devices = facts.mdevs.get(uuid, ())
        if reason := _explain_unknown_device(facts, domain, uuid):
            path = (
                devices[0].path if len({device.parent for device in devices}) > 1 else domain.path
            )
            yield make_contradiction(uuid, reason, path, domain.uuid)
        else:
            [parent] = {device.parent for device in devices if device.parent}
            kind = next((device.type for device in devices if device.type), '')
            key = (classes.get(kind, default), f'{facts.hostname}_{parent}')
            placed.setdefault(key, []).append(uuid)
    for (name, provider), mdevs in placed.items():
        evidence = f'mdev {", ".join(mdevs)} on {facts.hostname}'
        yield AssignmentRow(domain.uuid, name, len(mdevs), provider, evidence)


def _explain_unknown_device(facts: HostFacts, domain: Domain, mdev: str) -> str:
    """Return why the physical GPU of a mediated device is unknown; empty if it is known.

    :param domain: the server with the device
    :param mdev: the UUID of the device
    """
    devices = facts.mdevs.get(mdev, ())
    parents = sorted({device.parent for device in devices} - {''})
    types = sorted({device.type for device in devices} - {''})
    owners = [other.uuid for other in facts.domains for uuid in other.mdevs if uuid == mdev]
    attached = f'is attached to server {domain.uuid}'
    owners.remove(domain.uuid)
    if owners:
        others = 'twice' if domain.uuid in owners else f'and to server {", ".join(owners)}'
        return f'{attached} {others}: one of them has another device'
    if not parents:
        return f'{attached}, and nothing says where it is'
    if len(parents) > 1:
        several = f'is on several devices of {facts.hostname}: {", ".join(parents)}'
        return f'{several}; it {attached}'
    if len(types) > 1:
        return f'has several types: {", ".join(types)}; it {attached}'
    if any(device.is_active for device in devices) or facts.may_have_device(parents[0]):
        return ''
    has = f'a device that {facts.hostname} does not have now'
    return f'{attached}, and is only defined, on {parents[0]}, {has}'


def _make_unknown_server_finding(facts: HostFacts, domain: Domain) -> Finding:
    """Return a finding about a server without allocations on its host."""
    reason = f'is defined on {facts.hostname}, and holds nothing there in Placement'
    return make_contradiction(domain.uuid, reason, domain.path)


def _compare_with_allocations(
    allocated: _Allocated, facts: HostFacts, domain: Domain, rows: Sequence[AssignmentRow]
) -> Iterator[Finding]:
    """Yield the differences between the assignments of a server and its allocations.

    :param allocated: the amounts in the tree of the host, by consumer UUID and class
    :param rows: the assignments of the server
    """
    resources = allocated.get(domain.uuid)
    if not resources:
        yield _make_unknown_server_finding(facts, domain)
        return
    attached = Counter[str]()
    for row in rows:
        attached[row.resource_class] += row.amount or 0
    for name, amount in attached.items():
        if resources.get(name, 0) != amount:
            reason = (
                f'has {amount} mediated devices of {name}, and {resources.get(name, 0)} {name} is '
                'allocated to it'
            )
            yield make_contradiction(domain.uuid, reason, domain.path)


def _make_missing_device_finding(
    resources: Mapping[str, int], facts: HostFacts, domain: Domain, classes: set[str]
) -> Finding:
    """Return a finding about a server that has VGPU allocations and no mediated device.

    :param resources: the amounts that the server holds
    :param classes: those of mediated devices
    """
    state = 'is running' if domain.is_running else 'is shut off'
    if domain.functions:
        state = f'has the PCI devices {", ".join(domain.functions)}'
        state += ', as with a VFIO variant driver'
    amounts = (f'{resources[name]} {name}' for name in sorted(classes & resources.keys()))
    holds = f'holds {", ".join(amounts)} on {facts.hostname}'
    return make_contradiction(
        domain.uuid, f'{holds}, {state}, and has no mediated device', domain.path
    )
