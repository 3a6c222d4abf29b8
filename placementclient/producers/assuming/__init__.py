# SPDX-License-Identifier: Apache-2.0
"""Snapshots under assumptions: the files of ``--assume``. Pure."""

from dataclasses import dataclass, field

from placementclient.model.snapshots import Snapshot


@dataclass(slots=True)
class AssumedCloud:
    """A snapshot under assumptions.

    :param notes: sentences on the effects of the assumptions, such as lost consumers
    :param lost: the UUIDs of the consumers with allocations on hosts that are removed
    :param placed: the UUIDs of the consumers that the assumptions add for new servers
    """

    snapshot: Snapshot
    notes: list[str] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)
    placed: set[str] = field(default_factory=set)
