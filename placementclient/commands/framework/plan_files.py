"""The file of a plan, and the journal beside it."""

from __future__ import annotations

import os

from placementclient.client import errors
from placementclient.commands.framework.option import Option

PLAN = Option('plan', help='The file of the plan')
#: Printed for a plan that changes no tree.
NOTHING = 'Nothing to change: the plan has no trees'


def journal_of(path: str) -> str:
    return f'{path}.journal'


def check_free(path: str, overwrite: bool) -> None:
    """Keep a plan that is needed.

    :param path: of the plan that is to be written
    :param overwrite: whether the operator gave ``--overwrite``
    :raises errors.BadFile: if the plan there was applied
    """
    journal_path = journal_of(path)
    if not overwrite and os.path.exists(journal_path):
        raise errors.BadFile(
            path,
            f'was applied, as {journal_path} says, and status and rollback need both: give another '
            'name; if all is rolled back, you can remove them',
        )
