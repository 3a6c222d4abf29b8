# SPDX-License-Identifier: Apache-2.0
"""The tables of free capacity."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from placementclient.basis.wording import counted
from placementclient.insight.capacity.fits import FallbackFits, Fits
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.servers import Flavor
from placementclient.nova.server_request import FALLBACK
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts, size

#: The heading of what the lines of a table are for.
_SUBJECT = {'tree': 'tree', 'aggregate': 'aggregate', 'class': 'resource_class'}


def _amount(name: str) -> Column:
    return Column(name, lambda line: size(line.resource_class, getattr(line, name)))


_ROOM = (Column('providers'), *map(_amount, ('capacity', 'used', 'free', 'largest_fit')))
_FITS = Columns(
    Column('fits', attrgetter('count')),
    Column('runs_out_first'),
    Column('fits_by_class', lambda item: Facts(item.by_class)),
)


def lines(totals: Iterable[TotalsLine], by: str) -> Output:
    subject = [] if by == 'class' else [Column(by, attrgetter('name'))]
    shared = [Column('shared_by', lambda line: line.shared_by or '')] if by == 'tree' else []
    return Columns(*subject, Column('resource_class'), *shared, *_ROOM).rows(totals)


def fits(items: Iterable[Fits], by: str) -> Output:
    columns = Columns(Column(_SUBJECT[by], attrgetter('name'))) + _FITS
    return columns.rows(items)


def fallback(flavor: Flavor, more: FallbackFits) -> Iterator[str]:
    """Return a sentence about the servers that fit with VCPU in place of PCPU."""
    if more.servers:
        yield (
            f'flavor {flavor.name}: up to {counted(more.servers, "more server")} on '
            f'{counted(more.trees, "host")} without PCPU, as Nova asks again with VCPU in its '
            f'place. {FALLBACK}'
        )


def flavors(fits_of: Iterable[tuple[Flavor, Sequence[Fits]]], by: str) -> Output:
    tables = [(flavor.name, fits(items, by)) for flavor, items in fits_of]
    heading = ('flavor', _SUBJECT[by], *_FITS.names)
    return heading, [(name, *row) for name, (_, rows) in tables for row in rows]
