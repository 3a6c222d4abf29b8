"""The table of what differs between two snapshots."""

from __future__ import annotations

from collections.abc import Iterable

from placementclient.insight.diff import Difference
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts

_DIFFERENCE = Columns(
    Column('change'),
    Column('kind'),
    Column('name'),
    Column('uuid'),
    Column('field'),
    Column('before', lambda difference: Facts(difference.before)),
    Column('after', lambda difference: Facts(difference.after)),
)


def rows(differences: Iterable[Difference]) -> Output:
    """Each difference, with what was and what is."""
    return _DIFFERENCE.rows(differences)
