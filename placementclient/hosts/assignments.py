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


def misfit(subject: str, reason: str, path: str) -> Finding:
    """Return a contradiction between facts and allocations; there is no row for it."""
    return Finding('misfit', subject, {'file': path}, reason=reason)


def divided(results: Iterable[T | Finding]) -> tuple[list[T], list[Finding]]:
    """Return the results that are certain, and the contradictions."""
    certain: list[T] = []
    misfits: list[Finding] = []
    for result in results:
        if isinstance(result, Finding):
            misfits.append(result)
        else:
            certain.append(result)
    return certain, misfits


def of_mediated_devices(
    hosts: Sequence[HostFacts],
    snapshot: Snapshot | None = None,
    classes: Mapping[str, str] | None = None,
    default: str = VGPU,
) -> Results:
    """Return the physical GPU of each server.

    :param snapshot: to compare with what is allocated; without it nothing is compared
    :param classes: the resource class of each mdev type, as Nova's ``mdev_class`` says
    """
    by_type = classes or {}
    for facts, domains, allocated in _single(hosts, snapshot):
        for domain in domains:
            rows, misfits = divided(_of_domain(facts, domain, by_type, default))
            if snapshot is not None and rows and not misfits:
                misfits += _compared(allocated, facts, domain, rows)
            yield from misfits or rows
        yield from _without_device(allocated, facts, domains, {default, *by_type.values()})
    yield from _on_several(hosts)


def of_cells(hosts: Sequence[HostFacts], snapshot: Snapshot | None = None) -> Results:
    """Return the NUMA cell that each server is bound to.

    :param snapshot: has the classes that a server holds; without it VCPU and MEMORY_MB are meant
    """
    for facts, domains, allocated in _single(hosts, snapshot):
        for domain in domains:
            resources = allocated.get(domain.uuid, {})
            cells = domain.nodeset
            if not cells and facts.cells:
                cells = frozenset(facts.cells[cpu] for cpu in domain.cpus if cpu in facts.cells)
            if snapshot is not None and not resources:
                yield _unknown(facts, domain)
            elif len(cells) != 1:
                spanned = ', '.join(map(str, sorted(cells)))
                reason = (
                    f'spans the NUMA cells {spanned}' if cells else 'is not bound to a NUMA cell'
                )
                yield misfit(domain.uuid, reason, domain.path)
            else:
                [cell] = cells
                evidence = f'NUMA cell {cell} in {domain.path}'
                target = f'{facts.hostname}_NUMA{cell}'
                names = [name for name in CELL_CLASSES if name in resources]
                for name in names or ['VCPU', 'MEMORY_MB']:
                    yield AssignmentRow(domain.uuid, name, None, target, evidence)
    yield from _on_several(hosts)


def written(rows: Iterable[AssignmentRow]) -> str:
    """Return rows as the text of an assignments file in CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    columns = (*COLUMNS, TO_CLASS)
    writer.writerow(columns)
    writer.writerows([getattr(row, column) for column in columns] for row in rows)
    return out.getvalue()


def _paths(hosts: Sequence[HostFacts]) -> dict[str, list[str]]:
    """Return the files about each server, one of each of its hosts."""
    paths = defaultdict[str, list[str]](list)
    for facts in hosts:
        for domain in facts.domains:
            paths[domain.uuid].append(domain.path)
    return paths


def _single(
    hosts: Sequence[HostFacts], snapshot: Snapshot | None
) -> Iterator[tuple[HostFacts, Sequence[Domain], _Allocated]]:
    """Return each host with its servers and consumers, but those that several hosts have."""
    several = {uuid for uuid, paths in _paths(hosts).items() if len(paths) > 1}
    for facts in hosts:
        allocated = _allocated(snapshot, facts.hostname)
        yield (
            facts,
            [domain for domain in facts.domains if domain.uuid not in several],
            {uuid: resources for uuid, resources in allocated.items() if uuid not in several},
        )


def _on_several(hosts: Sequence[HostFacts]) -> Iterator[Finding]:
    for uuid, paths in _paths(hosts).items():
        if len(paths) > 1:
            reason = f'is on several hosts, as in a migration: {", ".join(paths)}'
            yield misfit(uuid, reason, paths[0])


def _allocated(snapshot: Snapshot | None, hostname: str) -> _Allocated:
    root = snapshot.find(hostname) if snapshot is not None else None
    allocated = defaultdict[str, Counter[str]](Counter)
    if snapshot is not None and root is not None:
        for state in snapshot.tree(root.uuid):
            for consumer in snapshot.consumers_on(state.uuid):
                allocated[consumer.uuid].update(consumer.allocations[state.uuid])
    return allocated


def _of_domain(
    facts: HostFacts, domain: Domain, classes: Mapping[str, str], default: str
) -> Results:
    placed: dict[tuple[str, str], list[str]] = {}
    for uuid in domain.mdevs:
        devices = facts.mdevs.get(uuid, ())
        parents = sorted({device.parent for device in devices if device.parent})
        if len(parents) == 1:
            kind = next((device.type for device in devices if device.type), '')
            key = (classes.get(kind, default), f'{facts.hostname}_{parents[0]}')
            placed.setdefault(key, []).append(uuid)
        elif parents:
            reason = (
                f'is on several devices of {facts.hostname}: {", ".join(parents)}; it is attached '
                f'to server {domain.uuid}'
            )
            yield misfit(uuid, reason, devices[0].path)
        else:
            reason = f'is attached to server {domain.uuid}, and nothing says where it is'
            yield misfit(uuid, reason, domain.path)
    for (name, provider), mdevs in placed.items():
        evidence = f'mdev {", ".join(mdevs)} on {facts.hostname}'
        yield AssignmentRow(domain.uuid, name, len(mdevs), provider, evidence)


def _unknown(facts: HostFacts, domain: Domain) -> Finding:
    reason = f'is defined on {facts.hostname}, and holds nothing there in Placement'
    return misfit(domain.uuid, reason, domain.path)


def _compared(
    allocated: _Allocated, facts: HostFacts, domain: Domain, rows: Sequence[AssignmentRow]
) -> Iterator[Finding]:
    resources = allocated.get(domain.uuid)
    if not resources:
        yield _unknown(facts, domain)
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
            yield misfit(domain.uuid, reason, domain.path)


def _without_device(
    allocated: _Allocated, facts: HostFacts, domains: Iterable[Domain], names: set[str]
) -> Iterator[Finding]:
    """Return the consumers that hold such a class on a host, and have no device there."""
    equipped = {domain.uuid for domain in domains if domain.mdevs}
    for uuid in sorted(allocated.keys() - equipped):
        resources = allocated[uuid]
        amounts = ', '.join(
            f'{resources[name]} {name}' for name in sorted(names & resources.keys())
        )
        if amounts:
            reason = (
                f'holds {amounts} on {facts.hostname}, where no mediated device of it is known: it '
                'may be shut off, or be a migration'
            )
            yield misfit(uuid, reason, facts.path)
