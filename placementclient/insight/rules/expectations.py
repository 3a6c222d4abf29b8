"""The expectations of a rule about hosts or providers, and the places where they fail."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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


@dataclass(frozen=True, slots=True)
class RuleSubject:
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


class Expectation(Protocol):
    """An expectation about everything that a rule selects."""

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        """Return each place where it is not so."""


@dataclass(frozen=True, slots=True)
class NamesExpected:
    """Traits or aggregates that there must be, or must not be.

    :param facet: ``'traits'`` or ``'aggregates'``
    :param required: of several joined by commas, one is enough
    """

    facet: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        kind = self.facet.removesuffix('s')
        for subject in subjects:
            there = getattr(subject.states[0], self.facet)
            for names in self.required:
                if there.isdisjoint(names.split(',')):
                    yield Breach(subject.name, f'{kind} {names.replace(",", " or ")}', 'missing')
            for name in self.forbidden:
                if name in there:
                    yield Breach(subject.name, f'no {kind} {name}', 'there')


@dataclass(frozen=True, slots=True)
class InventoriesExpected:
    """Inventories that there must be.

    :param of_class: comparisons of fields, by class; ``None`` for a class that must not be there
    """

    of_class: Mapping[str, Mapping[str, Comparison] | None]

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        for subject in subjects:
            for name, fields in self.of_class.items():
                having = [state for state in subject.states if name in state.inventories]
                if fields is None:
                    for state in having:
                        total = state.inventories[name].total
                        yield Breach(state.name, f'no inventory of {name}', f'total {total}')
                elif not having:
                    yield Breach(subject.name, f'inventory of {name}', 'missing')
                else:
                    for state in having:
                        yield from _compared(state, name, fields)


def _compared(
    state: ProviderState, name: str, fields: Mapping[str, Comparison]
) -> Iterator[Breach]:
    for field, comparison in fields.items():
        found = getattr(state.inventories[name], field)
        if not comparison.holds(found):
            yield Breach(state.name, f'{name}:{field} {comparison}', f'{found:g}')


@dataclass(frozen=True, slots=True)
class ChildrenExpected:
    """A number of providers below.

    :param selector: which are counted; ``None``: all
    """

    selector: ProviderSelector | None
    count: Comparison

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        what = f'children ({self.selector})' if self.selector else 'children'
        for subject in subjects:
            _, *below = cloud.snapshot.tree(subject.states[0].uuid)
            found = self.selector.matching(below) if self.selector else below
            if not self.count.holds(len(found)):
                yield Breach(subject.name, f'{what} {self.count}', str(len(found)))


@dataclass(frozen=True, slots=True)
class ConsumersExpected:
    """A number of consumers that hold something."""

    count: Comparison

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        on = cloud.snapshot.consumers_on
        for subject in subjects:
            found = {each.uuid for state in subject.states for each in on(state.uuid)}
            if not self.count.holds(len(found)):
                named = f': {listed(sorted(found), _NAMED)}' if found else ''
                yield Breach(subject.name, f'consumers {self.count}', f'{len(found)}{named}')


@dataclass(frozen=True, slots=True)
class UsageExpected:
    """The part of the capacity that is used, in percent; of what there is no inventory, none is.

    :param of_class: comparisons by class
    """

    of_class: Mapping[str, Comparison]

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        for subject in subjects:
            for name, comparison in self.of_class.items():
                having = [state for state in subject.states if name in state.inventories]
                used = sum(state.used(name) for state in having)
                capacity = sum(max(0, state.inventories[name].capacity) for state in having)
                if not used and not capacity:
                    continue
                percent = 100 * used / capacity if capacity else float('inf')
                if not comparison.holds(percent):
                    found = f'{percent:.1f} %' if capacity else 'no capacity'
                    yield Breach(
                        subject.name, f'usage of {name} {comparison}', f'{found} ({used} used)'
                    )


@dataclass(frozen=True, slots=True)
class UniqueNames:
    """Names that are those of one host each, also without their domains and in small letters."""

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        groups: dict[str, list[str]] = {}
        for subject in subjects:
            groups.setdefault(subject.name.lower().partition('.')[0], []).append(subject.name)
        for names in groups.values():
            for name in names if len(names) > 1 else ():
                alike = [
                    each for each in names if each != name and same_host(each.lower(), name.lower())
                ]
                if alike:
                    yield Breach(name, 'a name of its own', f'also {", ".join(alike)}')


@dataclass(frozen=True, slots=True)
class RoomExpected:
    """A number of servers for which there is still room, on all that is selected together."""

    shape: ServerShape
    count: Comparison

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        request = self.shape.request(cloud.snapshot)
        supply = Supply(cloud, request, _roots(subjects))
        found = Counter(supply).fits(ALL).count
        if not self.count.holds(found):
            yield Breach(ALL, f'servers of {self.shape} that fit {self.count}', str(found))


@dataclass(frozen=True, slots=True)
class LossSurvived:
    """Room on the other hosts for every server, whichever so many of the hosts are lost.

    :param number: how many are lost together
    """

    number: int

    def breaches(self, cloud: Topology, subjects: Sequence[RuleSubject]) -> Iterator[Breach]:
        from placementclient.insight.drain import cloud as drain  # takes long to load
        from placementclient.insight.drain import losing

        hosts = drain.DrainCloud(cloud.snapshot)
        selected = _roots(subjects)
        lost = [uuid for uuid in hosts.hosts if selected is None or uuid in selected]
        if self.number > len(lost):
            return
        found = losing.lose(hosts, lost, self.number)
        names = {uuid: cloud.snapshot.providers[uuid].name for uuid in lost}
        for loss in found.losses:
            least, most = loss.servers - loss.most, loss.servers - loss.least
            without = f'{least}' if least == most else f'{least} to {most}'
            yield Breach(
                ' + '.join(names[uuid] for uuid in loss.hosts),
                f'room for its {counted(loss.servers, "server")} elsewhere',
                f'no room for {without}',
            )
        if found.checked < found.possible:
            said = f'{found.checked} of {found.possible} losses were looked at'
            yield Breach(ALL, f'every loss of {counted(self.number, "host")} is survived', said)


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
