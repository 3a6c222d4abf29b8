"""Times of the past that operators give."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time

from placementclient.client import errors

_DATE = r'[0-9]{4}-[0-9]{2}-[0-9]{2}'
_TIME = r'[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?'
_FORM = re.compile(rf'{_DATE}(T{_TIME}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?')
_EXPECTED = (
    'YYYY-MM-DD or YYYY-MM-DDTHH:MM[:SS], with Z or an offset such as +01:00; without one it is UTC'
)


def known(text: str | None) -> datetime | None:
    """Return the moment that a text is, in UTC; ``None`` if it is none.

    :param text: ISO 8601; without an offset it is UTC
    """
    try:
        moment = datetime.fromisoformat(text or '')
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def written(moment: datetime) -> str:
    """Return a moment as ISO 8601, to the second."""
    return moment.isoformat(timespec='seconds')


def until(text: str, argument: str) -> datetime:
    """Return the last moment of a time, in UTC: of a date the end of the day.

    :param text: a date, or a date and a time, in the extended form of ISO 8601
    :param argument: has the text in it, for the error
    :raises errors.BadFile: if it is none
    """
    if (form := _FORM.fullmatch(text)) and (moment := known(text)):
        return moment if form[1] else datetime.combine(moment, time.max, UTC)
    raise errors.BadFile(argument, f'{text!r} is not a time: give {_EXPECTED}')
