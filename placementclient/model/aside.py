"""Temporary names of providers whose name another provider takes. Pure."""

#: The longest name that Placement stores, in characters.
LONGEST_NAME = 200


def aside(name: str, uuid: str) -> str:
    """Return a free name that shows the old name."""
    suffix = f' ({uuid})'
    return name[: LONGEST_NAME - len(suffix)] + suffix


def original(name: str, uuid: str) -> str:
    """Return the name before :func:`aside`, without an end that was too long to be kept."""
    return name.removesuffix(f' ({uuid})')
