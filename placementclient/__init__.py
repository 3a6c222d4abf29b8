"""The operator's tool for OpenStack Placement."""

from collections.abc import Callable

DISTRIBUTION = 'python-placementclient'

#: The size of a large frame, in pointers: a little more than 256 KiB.
_LARGE = 33_000


def in_one_chunk(function: Callable[..., int]) -> Callable[..., int]:
    """Let the calls of a function keep their frames in one piece of memory.

    Python 3.11 and later keep frames in chunks of 16 KiB. A loop at whose depth one ends maps and
    unmaps the next chunk with each call. A frame of more than 256 KiB gets a chunk of 512 KiB, and
    the frames of the calls below get the rest of it.
    """
    code = function.__code__
    function.__code__ = code.replace(co_stacksize=_LARGE)
    return function


def program() -> str:
    """Return the name and version of this program, as files have it."""
    # Loaded only here: it costs more than all that completion may take.
    from importlib import metadata

    try:
        return f'{DISTRIBUTION} {metadata.version(DISTRIBUTION)}'
    except metadata.PackageNotFoundError:
        # From a checkout that was never installed.
        return DISTRIBUTION
