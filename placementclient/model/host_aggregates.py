"""Host aggregates of the compute service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """A host aggregate.

    :param uuid: which is that of the aggregate in Placement, too
    :param hosts: the names of its compute services
    """

    uuid: str
    name: str
    hosts: tuple[str, ...]
