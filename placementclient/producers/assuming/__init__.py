"""Snapshots under assumptions: the files of ``--assume``. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from placementclient.model.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Assumed:
    """A snapshot under assumptions.

    :param notes: sentences on what became of them, such as who is lost
    :param lost: the consumers that lose what they hold on hosts that are switched off, by UUID
    :param placed: the UUIDs of the consumers that are servers to come
    """

    snapshot: Snapshot
    notes: Sequence[str] = ()
    lost: frozenset[str] = frozenset()
    placed: frozenset[str] = frozenset()
