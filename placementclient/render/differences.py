"""The table of the differences between two snapshots."""

from __future__ import annotations

from placementclient.render.columns import Column, Columns
from placementclient.render.facts import Facts

#: Items are :class:`placementclient.insight.diff.Difference`.
DIFFERENCE = Columns(
    *map(Column, ('change', 'kind', 'name', 'uuid', 'field')),
    Column('before', lambda item: Facts(item.before)),
    Column('after', lambda item: Facts(item.after)),
)
