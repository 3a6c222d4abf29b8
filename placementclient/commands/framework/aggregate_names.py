# SPDX-License-Identifier: Apache-2.0
"""Names of aggregates, zones and projects in sentences, as far as a file or a service has them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from placementclient.commands.framework import base, service_lists
from placementclient.model.catalog import KEYSTONE

if TYPE_CHECKING:
    from placementclient.model.servers import HostAggregate

_UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
#: The aggregates of a condition, of which one is enough.
_AGGREGATES = re.compile(rf'(member of|aggregate) ({_UUID}(?:(?: or |,){_UUID})*)')
_SEPARATORS = re.compile('( or |,)')


class AggregateNames:
    """Names of aggregates, zones and the project of a server, for sentences.

    The first sentence that needs names asks a service: Nova, unless the aggregates are given or the
    cloud is a snapshot; Keystone, unless ``--projects`` has the project.

    :param project: the ID of the project
    """

    def __init__(
        self,
        command: base.PlacementCommand,
        aggregates: Sequence[HostAggregate] | None = None,
        project: str | None = None,
    ) -> None:
        self._command = command
        self._aggregates = aggregates
        self._project = project
        self._projects: Mapping[str, str] | None = None

    def insert_names(self, text: str) -> str:
        """Return a sentence with names in place of the IDs of aggregates and of the project."""
        named = _AGGREGATES.sub(self._insert_aggregate_names, text)
        ending = f' project {self._project}'
        if named.endswith(ending) and (name := self._find_project_name()):
            return f'{named.removesuffix(ending)} project {name}'
        return named

    def find_aggregate_names(self, aggregates: Collection[str]) -> list[str]:
        """Return the known names of aggregates that are given by UUID."""
        return sorted(item.name for item in self._read_aggregates() if item.uuid in aggregates)

    def _insert_aggregate_names(self, condition: re.Match[str]) -> str:
        """Return a condition on aggregates with their names, or that of their zone or project."""
        words, alternatives = condition.groups()
        parts = _SEPARATORS.split(alternatives)
        uuids = set(parts[::2])
        client = self._command.client_if_used
        names = client.names if client else {}
        # The operator has typed these names.
        if not uuids <= names.keys():
            if described := self._describe_zone_or_project(uuids):
                return described
            names = {aggregate.uuid: aggregate.name for aggregate in self._read_aggregates()}
        return f'{words} {"".join(names.get(part, part) for part in parts)}'

    def _describe_zone_or_project(self, uuids: Set[str]) -> str | None:
        """Return ``zone NAME`` or ``aggregate of project NAME`` that has just these aggregates."""
        aggregates = self._read_aggregates()
        for zone in {aggregate.zone for aggregate in aggregates if aggregate.uuid in uuids}:
            if zone and uuids == {item.uuid for item in aggregates if item.zone == zone}:
                return f'zone {zone}'
        reserved = {item.uuid for item in aggregates if self._project in item.project_ids}
        if uuids == reserved and (project := self._find_project_name()):
            return f'aggregate of project {project}'
        return None

    def _read_aggregates(self) -> Sequence[HostAggregate]:
        if self._aggregates is None:
            source = service_lists.get_sources().aggregates
            self._aggregates = (
                service_lists.read_list_if_available(self._command, 'aggregates', source) or ()
            )
        return self._aggregates

    def _find_project_name(self) -> str | None:
        """Return the name of the project that the constructor got; ``None`` if that is not known.

        The first call reads it: from ``--projects``, or from Keystone.
        """
        from placementclient.model.services import Project
        from placementclient.nova import records, service

        if self._projects is None and self._project is not None:
            source = service_lists.ListSource(
                KEYSTONE,
                service.make_project_request(self._project),
                records.decode_projects,
                Project,
            )
            self._projects = (
                service_lists.read_list_if_available(self._command, 'projects', source) or {}
            )
        return (self._projects or {}).get(self._project or '')
