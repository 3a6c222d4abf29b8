"""How much is done at the same time: ``--workers``."""

from __future__ import annotations

import os

from placementclient.commands import base
from placementclient.commands.base import Option


def option(what: str) -> Option:
    """The option.

    :param what: what is done, such as ``'trees to read'``
    """
    return Option(
        '--workers',
        metavar='<number>',
        type=_number,
        default=4,
        help=f'How many {what} at the same time, or auto: two for each processor of this machine; '
        '4 without it',
    )


def _number(text: str) -> int:
    """What the option says: a worker mostly waits for the service's answers.

    :raises argparse.ArgumentTypeError: if it is neither a number nor auto
    """
    return 2 * (os.cpu_count() or 1) if text == 'auto' else base.positive(text)
