"""The tables of snapshots: their differences, a history, the story of one, what runs out when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from placementclient.insight.forecast import Forecast
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts

#: Items are :class:`placementclient.snapshot.history.Entry`.
SAVED = Columns(
    Column('at'),
    Column('providers', lambda entry: entry.header.providers),
    Column('consumers', lambda entry: entry.header.consumers),
    Column('kind', lambda entry: 'whole' if entry.is_whole else 'difference'),
    Column('bytes', lambda entry: entry.size),
    Column('file', lambda entry: entry.path),
)
_SIDES = Columns(
    *map(Column, ('name', 'uuid', 'field')),
    Column('before', lambda item: Facts(item.before)),
    Column('after', lambda item: Facts(item.after)),
)
#: Items are :class:`placementclient.insight.diff.Difference`.
DIFFERENCE = Columns(*map(Column, ('change', 'kind'))) + _SIDES
#: Items are :class:`placementclient.insight.story.Event`.
EVENT = Columns(*map(Column, ('previous', 'at', 'event'))) + _SIDES
TOO_LITTLE = 'too little data'
NO_PROVIDER = 'no provider has the class'


class Line(NamedTuple):
    """A resource class or a flavor, and when it runs out.

    :param capacity: of a resource class, in its unit
    :param used: likewise
    :param lacks_class: no provider ever had a class that the flavor asks for
    :param left: in units of the class, or servers of the flavor
    :param found: ``None``: there is too little data
    """

    name: str
    left: int
    found: Forecast | None
    capacity: int | None = None
    used: int | None = None
    lacks_class: bool = False

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.lacks_class:
            return NO_PROVIDER
        if self.left <= 0:
            return 'has run out'
        if self.found is None:
            return TOO_LITTLE
        if self.found.days is not None:
            return 'runs out'
        beyond = f'within {int(self.found.reach)} days'
        return f'not {beyond}' if self.found.earliest is None else f'maybe {beyond}'


def forecasts(
    found: Iterable[Line], subject: str, date: Callable[[float], str], *, with_use: bool
) -> Output:
    """Return a row for each resource class or flavor.

    :param subject: the heading of their names
    :param date: the date that is so many days after the last snapshot
    :param with_use: whether there are capacities and usages
    """

    def moment(name: str) -> Column:
        def value(line: Line) -> Facts:
            days = getattr(line.found, name, None)
            return Facts(None if days is None else date(days))

        return Column('runs_out' if name == 'days' else name, value)

    def number(name: str) -> Column:
        return Column(name, lambda line: Facts(line.found and round(getattr(line.found, name), 2)))

    columns = Columns(
        Column(subject, lambda line: line.name),
        *map(Column, ('capacity', 'used') if with_use else ()),
        Column('left'),
        Column('verdict'),
        moment('days'),
        moment('earliest'),
        moment('latest'),
        number('per_day'),
        number('error'),
        Column('error_days', lambda line: Facts(line.found and int(line.found.horizon))),
    )
    return columns.rows(found)
