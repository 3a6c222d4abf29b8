"""Temporary names of providers whose name another provider takes. Pure."""

from __future__ import annotations

#: The longest name that Placement stores, in characters.
LONGEST_NAME = 200


def aside(name: str, uuid: str) -> str:
    """Return a free name that shows the old name."""
    suffix = _suffix(uuid)
    return name[: LONGEST_NAME - len(suffix)] + suffix


def original(name: str, uuid: str) -> str:
    """Return the name before :func:`aside`, or the name itself.

    Of a name that was too long to be kept whole, the end is missing.
    """
    return name.removesuffix(_suffix(uuid))


def _suffix(uuid: str) -> str:
    return f' ({uuid})'
