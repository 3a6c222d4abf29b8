# SPDX-License-Identifier: Apache-2.0
"""Snapshots under assumptions: the files of ``--assume``. Pure."""

from dataclasses import dataclass, field

from placementclient.model.snapshots import Snapshot


@dataclass(slots=True)
class AssumedCloud:
    """A snapshot under assumptions.

    :param notes: sentences on what became of them, such as who is lost
    :param lost: the consumers that lose what they hold on hosts that are switched off, by UUID
    :param placed: the UUIDs of the consumers that are servers to come
    """

    snapshot: Snapshot
    notes: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
