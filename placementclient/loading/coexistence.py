"""Coexistence with an installed osc-placement.

Both have commands of the same names, and OpenStackClient loads both: which of two it runs would
depend on the order of a folder listing. So ours take precedence, and a line says so.
"""

from __future__ import annotations

import logging
import sys

PACKAGE, PEER = 'placementclient', 'osc_placement'
NOTICE = (
    'osc-placement is installed beside python-placementclient, which replaces it and takes '
    'precedence. To remove it: pip uninstall osc-placement'
)


def is_needed() -> bool:
    """Return whether OpenStackClient has loaded its plugin too, as it does with all before it asks
    them.

    That one has the same global option, and adds it itself.
    """
    return f'{PEER}.plugin' in sys.modules


def notify() -> None:
    """Return how to fix it."""
    # With two plugins for one API the same commands are found twice; the notice says enough.
    logging.getLogger('cliff.commandmanager').addFilter(_is_not_ours)
    print(NOTICE, file=sys.stderr)


def _is_not_ours(record: logging.LogRecord) -> bool:
    return PACKAGE not in record.getMessage()
