"""The expectations of a rule about hosts or providers, and the places where they fail."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from placementclient.client.wording import counted, listed
from placementclient.codec.cursors import Cursor
from placementclient.insight.capacity.fits import Counter
from placementclient.insight.capacity.supply import Supply
from placementclient.insight.capacity.totals import ALL
from placementclient.insight.selecting import ProviderSelector
from placementclient.insight.shapes import ServerShape
from placementclient.insight.topology import Topology
from placementclient.model.inventories import FIELDS
from placementclient.model.servers import same_host
from placementclient.model.snapshots import ProviderState

#: The fields of an inventory that can be compared; capacity is (total - reserved) * ratio.
COMPARED = (*FIELDS, 'capacity')
#: Stands for a class that must not be there.
NONE = 'none'
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    '>=': operator.ge, '<=': operator.le, '!=': operator.ne,
    '>': operator.gt, '<': operator.lt, '=': operator.eq,
}  # fmt: skip
_COMPARISON = re.compile(r'(>=|<=|!=|>|<|=)?\s*(-?\d+(?:\.\d+)?)\s*(%?)')
#: So many consumers are named of many.
_NAMED = 3


class Breach(NamedTuple):
    """A place where a rule does not hold.

    :param subject: the name of the provider; :data:`ALL` for the whole cloud
    """

    subject: str
    expected: str
    found: str


class RuleSubject(NamedTuple):
    """A host or a provider that a rule is about.

    :param states: of a host its whole tree, the root first; of a provider that alone
    """

    name: str
    states: Sequence[ProviderState]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison with a number."""

    sign: str
    number: float
    unit: str = ''

    def __str__(self) -> str:
        return f'{self.sign} {self.number:g}{self.unit and f" {self.unit}"}'

    def holds(self, found: float) -> bool:
        """Return whether a number is as it is expected."""
        return _OPERATORS[self.sign](found, self.number)

    @classmethod
    def read(cls, at: Cursor, unit: str = '') -> Comparison:
        """Read ``4``, ``'>= 4'``, and with a unit ``'< 80 %'``.

        :raises errors.BadFile: if it is none
        """
        match = None if isinstance(at.value, bool) else _COMPARISON.fullmatch(str(at.value).strip())
        if match is None or match[3] not in ('', unit):
            example = f"'< 80 {unit}'" if unit else "4 or '>= 4'"
            raise at.error(f'{at.value!r} has to be a number or a comparison, such as {example}')
        return cls(match[1] or '=', float(match[2]), unit)


#: Returns each place where an expectation about everything that a rule selects does not hold.
Expectation = Callable[[Topology, Sequence[RuleSubject]], Iterator[Breach]]


def names(
    cloud: Topology,
    subjects: Sequence[RuleSubject],
    facet: str,
    required: Sequence[str] = (),
    forbidden: Sequence[str] = (),
) -> Iterator[Breach]:
    """Expect traits or aggregates.

    :param facet: ``'traits'`` or ``'aggregates'``
    :param required: those that there must be; of several joined by commas, one is enough
    :param forbidden: those that there must not be
    """
    kind = facet.removesuffix('s')
    for subject in subjects:
        there = getattr(subject.states[0], facet)
        for alternatives in required:
            if there.isdisjoint(alternatives.split(',')):
                said = f'{kind} {alternatives.replace(",", " or ")}'
                yield Breach(subject.name, said, 'missing')
        for name in forbidden:
            if name in there:
                yield Breach(subject.name, f'no {kind} {name}', 'there')


def inventories(
    cloud: Topology,
    subjects: Sequence[RuleSubject],
    of_class: Mapping[str, Mapping[str, Comparison] | None],
) -> Iterator[Breach]:
    """Expect inventories.

    :param of_class: comparisons of fields, by class; ``None`` for a class that must not be there
    """
    for subject in subjects:
        for name, fields in of_class.items():
            having = [state for state in subject.states if name in state.inventories]
            if not having and fields is not None:
                yield Breach(subject.name, f'inventory of {name}', 'missing')
            for state in having:
                yield from _compared(state, name, fields)


def _compared(
    state: ProviderState, name: str, fields: Mapping[str, Comparison] | None
) -> Iterator[Breach]:
    inventory = state.inventories[name]
    if fields is None:
        yield Breach(state.name, f'no inventory of {name}', f'total {inventory.total}')
    for field, comparison in (fields or {}).items():
        found = getattr(inventory, field)
        if not comparison.holds(found):
            yield Breach(state.name, f'{name}:{field} {comparison}', f'{found:g}')


def children(
    cloud: Topology,
    subjects: Sequence[RuleSubject],
    selector: ProviderSelector | None,
    count: Comparison,
) -> Iterator[Breach]:
    """Expect a number of providers below.

    :param selector: which are counted; ``None``: all
    """
    what = f'children ({selector})' if selector else 'children'
    for subject in subjects:
        _, *below = cloud.snapshot.tree(subject.states[0].uuid)
        found = selector.matching(below) if selector else below
        if not count.holds(len(found)):
            yield Breach(subject.name, f'{what} {count}', str(len(found)))


def consumers(
    cloud: Topology, subjects: Sequence[RuleSubject], count: Comparison
) -> Iterator[Breach]:
    """Expect a number of consumers that hold something."""
    on = cloud.snapshot.consumers_on
    for subject in subjects:
        found = {each.uuid for state in subject.states for each in on(state.uuid)}
        if not count.holds(len(found)):
            named = f': {listed(sorted(found), _NAMED)}' if found else ''
            yield Breach(subject.name, f'consumers {count}', f'{len(found)}{named}')


def usage(
    cloud: Topology, subjects: Sequence[RuleSubject], of_class: Mapping[str, Comparison]
) -> Iterator[Breach]:
    """Expect a used part of the capacity, in percent; of what there is no inventory, none is.

    :param of_class: comparisons by class
    """
    for subject in subjects:
        for name, comparison in of_class.items():
            having = [state for state in subject.states if name in state.inventories]
            used = sum(state.used(name) for state in having)
            capacity = sum(max(0, state.inventories[name].capacity) for state in having)
            if not used and not capacity:
                continue
            percent = 100 * used / capacity if capacity else float('inf')
            if not comparison.holds(percent):
                found = f'{percent:.1f} %' if capacity else 'no capacity'
                expected = f'usage of {name} {comparison}'
                yield Breach(subject.name, expected, f'{found} ({used} used)')


def unique_names(cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
    """Expect names that are those of one host each, also without domains and in small letters."""
    groups: dict[str, list[str]] = {}
    for subject in subjects:
        groups.setdefault(subject.name.lower().partition('.')[0], []).append(subject.name)
    for group in groups.values():
        for name in group if len(group) > 1 else ():
            alike = [
                each for each in group if each != name and same_host(each.lower(), name.lower())
            ]
            if alike:
                yield Breach(name, 'a name of its own', f'also {", ".join(alike)}')


def room(
    cloud: Topology, subjects: Sequence[RuleSubject], shape: ServerShape, count: Comparison
) -> Iterator[Breach]:
    """Expect room for a number of servers, on all that is selected together."""
    supply = Supply(cloud, shape.request(cloud.snapshot), _roots(subjects))
    found = Counter(supply).fits(ALL).count
    if not count.holds(found):
        yield Breach(ALL, f'servers of {shape} that fit {count}', str(found))


def survived_loss(
    cloud: Topology, subjects: Sequence[RuleSubject], number: int
) -> Iterator[Breach]:
    """Expect room on the other hosts for every server, whichever hosts are lost.

    :param number: how many are lost together
    """
    from placementclient.insight.drain import cloud as drain  # takes long to load
    from placementclient.insight.drain import losing

    hosts = drain.DrainCloud(cloud.snapshot)
    selected = _roots(subjects)
    lost = [uuid for uuid in hosts.hosts if selected is None or uuid in selected]
    if number > len(lost):
        return
    found = losing.lose(hosts, lost, number)
    for loss in found.losses:
        least, most = loss.servers - loss.most, loss.servers - loss.least
        without = f'{least}' if least == most else f'{least} to {most}'
        yield Breach(
            ' + '.join(cloud.snapshot.providers[uuid].name for uuid in loss.hosts),
            f'room for its {counted(loss.servers, "server")} elsewhere',
            f'no room for {without}',
        )
    if found.checked < found.possible:
        said = f'{found.checked} of {found.possible} losses were looked at'
        yield Breach(ALL, f'every loss of {counted(number, "host")} is survived', said)


def _roots(subjects: Sequence[RuleSubject]) -> list[str] | None:
    """Return the UUIDs of the roots of the hosts; ``None`` for the whole cloud."""
    if [subject.name for subject in subjects] == [ALL]:
        return None
    return [subject.states[0].uuid for subject in subjects]


def of_fields(at: Cursor) -> Any:
    """Read the comparisons of the inventory of one class, or ``none``."""
    if at.value == NONE:
        return None
    return at.fields(dict.fromkeys(COMPARED, Comparison.read))
