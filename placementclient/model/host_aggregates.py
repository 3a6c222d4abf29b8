"""Host aggregates of the compute service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """A host aggregate.

    :param uuid: of the aggregate in Placement, too
    :param hosts: the names of its compute services
    :param project_ids: the projects that alone may use its hosts, or prefer them; none: all
    :param metadata: as Nova has it, from which zone and projects are
    """

    uuid: str
    name: str
    hosts: tuple[str, ...]
    zone: str | None = None
    project_ids: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict, compare=False)
