"""Assignment rows from the facts of hosts, and the contradictions."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from placementclient.hosts.facts import Domain, HostFacts
from placementclient.model.assignments import COLUMNS, TO_CLASS, AssignmentRow
from placementclient.model.snapshots import Snapshot

VGPU = 'VGPU'
#: What is bound to a NUMA cell.
CELL_CLASSES = ('VCPU', 'PCPU', 'MEMORY_MB')


@dataclass(frozen=True, slots=True)
class Misfit:
    """A contradiction between facts and allocations; there is no row for it.

    :param subject: the UUID of a server or of a mediated device; the name of a host
    """

    subject: str
    reason: str
    path: str


@dataclass(slots=True)
class Assignments:
    """The result for the facts of hosts."""

    rows: list[AssignmentRow] = field(default_factory=list)
    misfits: list[Misfit] = field(default_factory=list)


def of_mediated_devices(
    hosts: Sequence[HostFacts],
    snapshot: Snapshot | None = None,
    classes: Mapping[str, str] | None = None,
    default: str = VGPU,
) -> Assignments:
    """Return the physical GPU of each server.

    :param snapshot: to compare with what is allocated; without it nothing is compared
    :param classes: the resource class of each mdev type, as Nova's ``mdev_class`` says
    :param default: the class of all others
    """
    outcome = Assignments()
    twice = _on_several(hosts)
    for facts in hosts:
        tree = _HostTree(snapshot, facts)
        for domain in facts.domains:
            if domain.uuid in twice:
                continue
            rows, misfits = _of_domain(facts, domain, classes or {}, default)
            if snapshot is not None and not misfits:
                misfits = list(_compared(tree, facts, domain, rows))
            outcome.misfits += misfits
            outcome.rows += [] if misfits else rows
        if snapshot is not None:
            named = {default, *(classes or {}).values()}
            outcome.misfits += _without_device(tree, facts, named, twice)
    outcome.misfits += _named(twice)
    return outcome


def of_cells(hosts: Sequence[HostFacts], snapshot: Snapshot | None = None) -> Assignments:
    """Return the NUMA cell that each server is bound to.

    :param snapshot: has the classes that a server holds; without it VCPU and MEMORY_MB are meant
    """
    outcome = Assignments()
    twice = _on_several(hosts)
    for facts in hosts:
        tree = _HostTree(snapshot, facts)
        for domain in facts.domains:
            if domain.uuid in twice:
                continue
            held = tree.held(domain.uuid)
            if snapshot is not None and not held:
                outcome.misfits.append(_unknown(facts, domain))
                continue
            names = [name for name in CELL_CLASSES if name in held] or ['VCPU', 'MEMORY_MB']
            found = _cell(facts, domain)
            if isinstance(found, Misfit):
                outcome.misfits.append(found)
                continue
            evidence = f'NUMA cell {found} in {domain.path}'
            target = f'{facts.hostname}_NUMA{found}'
            outcome.rows += [
                AssignmentRow(domain.uuid, name, None, target, evidence) for name in names
            ]
    outcome.misfits += _named(twice)
    return outcome


def written(rows: Iterable[AssignmentRow]) -> str:
    """Return rows as the text of an assignments file in CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    columns = (*COLUMNS, TO_CLASS)
    writer.writerow(columns)
    writer.writerows([getattr(row, column) for column in columns] for row in rows)
    return out.getvalue()


def _on_several(hosts: Iterable[HostFacts]) -> dict[str, list[str]]:
    """Return the servers that are found more than once, and the files."""
    paths = defaultdict[str, list[str]](list)
    for facts in hosts:
        for domain in facts.domains:
            paths[domain.uuid].append(domain.path)
    return {uuid: found for uuid, found in paths.items() if len(found) > 1}


def _named(twice: Mapping[str, Sequence[str]]) -> Iterator[Misfit]:
    for uuid, paths in twice.items():
        reason = f'is on several hosts, as in a migration: {", ".join(paths)}'
        yield Misfit(uuid, reason, paths[0])


def _of_domain(
    facts: HostFacts, domain: Domain, classes: Mapping[str, str], default: str
) -> tuple[list[AssignmentRow], list[Misfit]]:
    misfits: list[Misfit] = []
    placed: dict[tuple[str, str], list[str]] = {}
    for uuid in domain.mdevs:
        devices = facts.mdevs.get(uuid, ())
        parents = sorted({device.parent for device in devices if device.parent})
        if len(parents) != 1:
            reason = f'is attached to server {domain.uuid}, and nothing says where it is'
            path = domain.path
            if parents:
                reason = (
                    f'is on several devices of {facts.hostname}: {", ".join(parents)}; it is '
                    f'attached to server {domain.uuid}'
                )
                path = devices[0].path
            misfits.append(Misfit(uuid, reason, path))
            continue
        kind = next((device.type for device in devices if device.type), '')
        key = (classes.get(kind, default), f'{facts.hostname}_{parents[0]}')
        placed.setdefault(key, []).append(uuid)
    rows = []
    for (name, provider), mdevs in placed.items():
        evidence = f'mdev {", ".join(mdevs)} on {facts.hostname}'
        rows.append(AssignmentRow(domain.uuid, name, len(mdevs), provider, evidence))
    return rows, misfits


class _HostTree:
    """The consumers of the tree of a host; without a snapshot there are none."""

    def __init__(self, snapshot: Snapshot | None, facts: HostFacts) -> None:
        self._snapshot = snapshot
        root = snapshot.find(facts.hostname) if snapshot is not None else None
        states = snapshot.tree(root.uuid) if snapshot is not None and root is not None else ()
        self._uuids = {state.uuid for state in states}

    def held(self, consumer_uuid: str) -> dict[str, int]:
        consumer = self._snapshot.consumers.get(consumer_uuid) if self._snapshot else None
        held = Counter[str]()
        for uuid, resources in (consumer.allocations if consumer else {}).items():
            if uuid in self._uuids:
                held.update(resources)
        return held

    def consumers(self) -> set[str]:
        """Return the UUIDs of all that hold something in the tree."""
        snapshot = self._snapshot
        trees = [snapshot.consumers_on(uuid) for uuid in self._uuids] if snapshot else ()
        return {consumer.uuid for consumers in trees for consumer in consumers}


def _unknown(facts: HostFacts, domain: Domain) -> Misfit:
    reason = f'is defined on {facts.hostname}, and holds nothing there in Placement'
    return Misfit(domain.uuid, reason, domain.path)


def _compared(
    tree: _HostTree, facts: HostFacts, domain: Domain, rows: Sequence[AssignmentRow]
) -> Iterator[Misfit]:
    if not rows:
        return
    held = tree.held(domain.uuid)
    if not held:
        yield _unknown(facts, domain)
        return
    found = Counter[str]()
    for row in rows:
        found[row.resource_class] += row.amount or 0
    for name, amount in found.items():
        if held.get(name, 0) != amount:
            reason = (
                f'has {amount} mediated devices of {name}, and {held.get(name, 0)} {name} is '
                'allocated to it'
            )
            yield Misfit(domain.uuid, reason, domain.path)


def _without_device(
    tree: _HostTree, facts: HostFacts, names: set[str], known: Mapping[str, object]
) -> Iterator[Misfit]:
    """The consumers that hold such a class on a host, and have no device there."""
    having = {domain.uuid for domain in facts.domains if domain.mdevs}.union(known)
    for uuid in sorted(tree.consumers() - having):
        held = tree.held(uuid)
        found = ', '.join(f'{held[name]} {name}' for name in sorted(names) if name in held)
        if found:
            reason = (
                f'holds {found} on {facts.hostname}, where no mediated device of it is known: it '
                'may be shut off, or be a migration'
            )
            yield Misfit(uuid, reason, facts.path)


def _cell(facts: HostFacts, domain: Domain) -> int | Misfit:
    """The one cell that a server is bound to."""
    found = domain.nodeset
    if not found and domain.cpus and facts.cells:
        found = frozenset(facts.cells[cpu] for cpu in domain.cpus if cpu in facts.cells)
    if len(found) == 1:
        return next(iter(found))
    cells = ', '.join(map(str, sorted(found)))
    reason = f'spans the NUMA cells {cells}' if cells else 'is not bound to a NUMA cell'
    return Misfit(domain.uuid, reason, domain.path)
