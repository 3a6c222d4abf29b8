"""The file of a plan, and the journal beside it."""

from __future__ import annotations

import itertools
import os
import shlex

from placementclient.client import errors
from placementclient.commands.framework.option import Option

PLAN = Option('plan', help='The file of the plan')
#: Printed for a plan that changes no tree.
NOTHING = 'Nothing to change: the plan has no trees'


def journal_of(path: str) -> str:
    return f'{path}.journal'


def check_free(path: str, overwrite: bool) -> None:
    """Raise an error if a file would overwrite a plan that was applied, unless it should."""
    journal_path = journal_of(path)
    if not overwrite and os.path.exists(journal_path):
        files = ' '.join(map(shlex.quote, (path, journal_path)))
        raise errors.BadFile(
            path,
            f'was applied, as {journal_path} says, and status and rollback need both: write the '
            f'new plan to {free_name(path)}, or, if all trees are rolled back, begin with: '
            f'rm {files}',
        )


def free_name(path: str) -> str:
    """Return the first free name for a file with the next plan."""
    stem, end = os.path.splitext(path)
    names = (f'{stem}-{number}{end}' for number in itertools.count(2))
    return next(
        name for name in names if not (os.path.exists(name) or os.path.exists(journal_of(name)))
    )
