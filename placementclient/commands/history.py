"""Histories of snapshots: list one, tell the story of a consumer or provider, forecast."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base, flavors
from placementclient.commands.compute import NOVA
from placementclient.commands.option import Option
from placementclient.model.providers import normalized

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from placementclient.insight.forecast import Value
    from placementclient.model.flavors import Flavor
    from placementclient.render.columns import Output
    from placementclient.render.history import Line
    from placementclient.snapshot.history import Entry

_FOLDER = Option(
    'folder', metavar='<folder>', help='The folder in which snapshot save --history saves'
)
_DAMAGED = (errors.ExitStatus.PARTIAL, 'snapshots of the history are damaged or missing')
#: From how many snapshots the servers of a flavor are counted at most: each takes some seconds
#: where there are 10,000 hosts.
_COUNTED = 24


class _History(base.Lister):
    """What both commands share: they go on where a part of the history cannot be read."""

    auth_required = False
    statuses = (_DAMAGED,)

    def entries(self, parsed_args: argparse.Namespace) -> list[Entry]:
        from placementclient.snapshot import history

        self._told: set[str] = set()
        found = history.entries(parsed_args.folder, self.tell_damage)
        if not found:
            raise errors.BadFile(parsed_args.folder, 'has no snapshot that can be read')
        return found

    def tell_damage(self, said: str) -> None:
        """Say what cannot be read."""
        self.tell_once(said)
        self.exit_status = errors.ExitStatus.PARTIAL

    def tell_once(self, said: str) -> None:
        """Say something that each snapshot may give reason to say."""
        if said not in self._told:
            self._told.add(said)
            self.log.warning(said)


class HistorySnapshot(_History):
    """List the snapshots of a history, or tell the story of one consumer or provider.

    A story has a line for each change: what was there in the first snapshot, what came, moved,
    grew, shrank, changed or has gone. The change happened between the two times of its line: when
    the last snapshot was read that does not have it, and the first one that has. Of a provider it
    tells name, parent, inventories, traits and aggregates. A name stands for all providers that
    ever had it.

    Example:

      openstack resource provider snapshot history daily --provider compute1
    """

    nothing = 'No event'
    options = (
        _FOLDER,
        Option(
            '--consumer',
            metavar='<consumer>',
            type=normalized,
            help='Tell the story of the consumer (server) with this UUID',
        ),
        Option(
            '--provider',
            metavar='<provider>',
            help='Tell the story of the resource provider with this name or UUID',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.insight import story
        from placementclient.render import history as tables
        from placementclient.snapshot import history

        if parsed_args.consumer and parsed_args.provider:
            raise errors.UsageError('give --consumer or --provider, not both')
        found = self.entries(parsed_args)
        if uuid := parsed_args.consumer:
            moments = history.of_consumer(found, uuid, self.tell_damage)
            events = list(story.of_consumer(uuid, moments))
        elif name := parsed_args.provider:
            uuids, moments = history.of_provider(found, name, self.tell_damage)
            events = list(story.of_providers(uuids, moments))
        else:
            return tables.SAVED.rows(found)
        if not events:
            raise errors.NoSuchProvider(
                f'No snapshot of {parsed_args.folder} has '
                + (f'the consumer {uuid}' if uuid else f'a resource provider {name!r}')
            )
        return tables.events(events)


class ForecastCapacity(_History):
    """Forecast when resource classes or flavors run out, by the trend of a history.

    The trend is a straight line through the last snapshot; its slope is the median of the slopes
    between all pairs of snapshots. For a resource class it is that of the usage, compared with the
    capacity of the last snapshot; for a flavor that of the number of servers that still fit. The
    error is measured: the later half of the history is forecast from the earlier part, error_days
    ahead, and nine of ten such forecasts were at most so far off. The dates earliest and latest
    have the slope changed by that error. No forecast looks further ahead than the history goes
    back. There is too little data below 14 snapshots or 13 days.

    Example:

      openstack resource capacity forecast daily --flavors flavors.json --flavor m1.large
    """

    nothing = 'No resource class'
    options = (
        _FOLDER,
        Option(
            '--flavors',
            metavar='<file>',
            help='Forecast the number of servers of each flavor that still fit: a file of what '
            'GET /flavors/detail answers, or what openstack flavor list --all --long -f json '
            f'prints; {NOVA}: ask the compute service',
        ),
        Option(
            '--flavor',
            metavar='<flavor>',
            action='append',
            default=[],
            help='Only the flavor of this name; without --flavors the compute service is asked; '
            'may be repeated',
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from datetime import timedelta

        from placementclient.render import history as tables

        chosen = self._flavors(parsed_args)
        every = self.entries(parsed_args)
        kept = self._in_order(every)
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
        values: dict[str, list[Value]] = {}
        for entry, records in history.walk(every, self.tell_damage):
            if entry.number in counted:
                snapshot = history.snapshot_of(entry, records)
                topology = Topology(snapshot)
                for flavor, request in flavors.requests(self.tell_once, snapshot, chosen):
                    left = fits.by_class(topology, request)[-1].count
                    values.setdefault(flavor.name, []).append(_value(entry, left))
        for name, found in values.items():
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
