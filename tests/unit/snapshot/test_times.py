"""Times of the past, as ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from placementclient.client import errors
from placementclient.snapshot import times


@pytest.mark.parametrize(
    ('text', 'moment'),
    [
        ('2026-01-03', datetime(2026, 1, 3, 23, 59, 59, 999999, UTC)),
        ('2026-01-03T12:00', datetime(2026, 1, 3, 12, tzinfo=UTC)),
        ('2026-01-03T12:00:07', datetime(2026, 1, 3, 12, 0, 7, tzinfo=UTC)),
        ('2026-01-03T12:00:07.25Z', datetime(2026, 1, 3, 12, 0, 7, 250000, UTC)),
        ('2026-01-03T00:30+01:00', datetime(2026, 1, 2, 23, 30, tzinfo=UTC)),
        ('2026-01-03T23:30:00-05:30', datetime(2026, 1, 4, 5, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_moment(text: str, moment: datetime) -> None:
    assert times.until(text, 'daily') == moment


@pytest.mark.parametrize(
    'text',
    [
        '',
        ' ',
        'garbage',
        'yesterday',
        '2026',
        '2026-11',
        '2026-13',
        '2026-13-01',
        '2026-02-30',
        '22-11-2026',
        '2026/01/01',
        '2026-9-5',
        '20260905',
        '2026-W01-1',
        '2026-01-03 12:00',
        '2026-01-03T',
        '2026-01-03T12',
        '2026-01-03T25:00',
        '2026-01-03Z',
        '2026-01-03T12:00+1',
        '2026-01-03T12:00+25:00',
        '2026-01-03T12:00 +01:00',
        '2026-01-03\n',
        ' 2026-01-03',
        '\u0662026-01-03',
        '0001-01-01T00:00+01:00',
        '9999-12-31T23:59-01:00',
    ],
)
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(errors.BadFile) as caught:
        times.until(text, 'daily@x')
    assert caught.value.path == 'daily@x'
    assert caught.value.reason.startswith(f'{text!r} is not a time: give ')
