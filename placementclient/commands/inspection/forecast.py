"""Forecasts of when resource classes and flavors run out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient.client import errors
from placementclient.commands.framework import base, flavors
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Option
from placementclient.commands.snapshots.history import FOLDER, ReadingHistory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placementclient.insight.forecast import Value
    from placementclient.model.flavors import Flavor
    from placementclient.render.history import Line
    from placementclient.snapshot.history import Entry

#: From how many snapshots the servers of a flavor are counted at most: each takes some seconds
#: where there are 10,000 hosts.
_COUNTED = 24


class ForecastCapacity(ReadingHistory):
    """Forecast when resource classes or flavors run out, by the trend of a history.

    The trend is a straight line through the last snapshot. Its slope is the median of the slopes
    between all pairs of snapshots. For a resource class the line is the usage, compared with the
    capacity of the last snapshot. For a flavor it is the number of servers that still fit.

    The error is measured: the command forecasts the later half of the history from the earlier
    half, error_days ahead. Nine of ten such forecasts had at most this error. The dates earliest
    and latest have the slope changed by the error. No forecast looks further ahead than the history
    goes back. A forecast needs 14 snapshots and 13 days.

    Example:

      openstack resource capacity forecast daily --flavors flavors.json --flavor m1.large
    """

    nothing = 'No resource class'
    options = (
        FOLDER,
        Option(
            '--flavors <file>',
            help='Forecast the number of servers of each flavor that still fit. The file has the '
            'answer of GET /flavors/detail or the output of openstack flavor list --all '
            '--long -f json; nova: ask Nova',
        ),
        Option(
            '--flavor <flavor>...',
            help='Forecast only the flavor of this name; without --flavors Nova is asked. May be '
            'repeated',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from datetime import timedelta

        from placementclient.render import history as tables

        chosen = self._flavors(parsed_args)
        every = self.entries(parsed_args)
        kept = self._in_order(self.readable(parsed_args, every))
        last = kept[-1].time

        def date(days: float) -> str:
            return (last + timedelta(days)).date().isoformat()

        lines = list(self._of_flavors(every, kept, chosen) if chosen else _of_classes(kept))
        subject = 'flavor' if chosen else 'resource_class'
        return tables.forecasts(lines, subject, date, with_use=not chosen)

    def _flavors(self, parsed_args: argparse.Namespace) -> list[Flavor]:
        names = parsed_args.flavor
        given = flavors.given(self, parsed_args.flavors or (NOVA if names else None))
        if unknown := set(names) - {flavor.name for flavor in given}:
            raise errors.BadArgument(f'no flavor has the name {", ".join(sorted(unknown))}')
        return [flavor for flavor in given if not names or flavor.name in names]

    def _in_order(self, found: Sequence[Entry]) -> list[Entry]:
        from placementclient.insight import forecast

        kept = forecast.in_order(found, lambda entry: entry.time)
        if len(kept) < len(found):
            self.log.warning(
                f'{len(found) - len(kept)} of {len(found)} snapshots are left out: a clock was '
                'wrong, so that their times are not in the order in which they were saved'
            )
        return kept

    def _of_flavors(
        self, every: Sequence[Entry], kept: Sequence[Entry], chosen: Sequence[Flavor]
    ) -> Iterator[Line]:
        from placementclient.insight import forecast
        from placementclient.insight.capacity import fits
        from placementclient.insight.topology import Topology
        from placementclient.render.history import Line
        from placementclient.snapshot import history

        counted = {entry.number for entry in forecast.thinned(kept, _COUNTED)}
        had = {name for entry in every for name in entry.header.totals}
        missing: set[str] = set()
        values: dict[str, list[Value]] = {}
        for entry, records in history.walk(every, self.log_damage):
            if entry.number in counted:
                snapshot = history.snapshot_of(entry, records)
                topology = Topology(snapshot)
                for flavor, request in flavors.requests(self.warn_once, snapshot, chosen):
                    left = fits.by_class(topology, request)[-1].count
                    values.setdefault(flavor.name, []).append(_value(entry, left))
                    asked = (request.common, *request.groups.values())
                    if not all(had.issuperset(each.resources) for each in asked):
                        missing.add(flavor.name)
        for name, found in values.items():
            if name in missing:
                yield Line(name, 0, None, lacks_class=True)
            else:
                yield Line(name, int(found[-1].left), forecast.forecast(found))


def _of_classes(found: Sequence[Entry]) -> Iterator[Line]:
    from placementclient.insight import forecast
    from placementclient.render.history import Line

    for name, (capacity, used) in sorted(found[-1].header.totals.items()):
        # The capacity of today: that of the past was another one where hosts were added.
        values = [
            _value(entry, capacity - entry.header.totals[name][1])
            for entry in found
            if name in entry.header.totals
        ]
        yield Line(name, capacity - used, forecast.forecast(values), capacity, used)


def _value(entry: Entry, left: int) -> Value:
    from placementclient.insight.forecast import Value

    return Value(entry.time.timestamp() / 86400, left)
