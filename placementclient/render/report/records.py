# SPDX-License-Identifier: Apache-2.0
"""The records from which the script of the page draws, in a compact form.

Hosts are alike: what is repeated, texts, inventories and sets of traits, is written once, and is
referred to by its place; -1 is the place of what is not there. So a report of 10,000 hosts has some
megabytes.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from placementclient.basis.printable import escape_text
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.findings import Finding
from placementclient.model.plans import Change, PlannedRow, ProviderChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.render.evidence import describe_evidence
from placementclient.render.findings import sort_by_severity
from placementclient.render.repairs import choose_command_or_reason
from placementclient.render.report import contents
from placementclient.render.report.contents import Fills, Report

#: The fields of an inventory, in the order in which the script takes them.
_FIELDS = attrgetter(
    'capacity', 'total', 'reserved', 'allocation_ratio', 'min_unit', 'max_unit', 'step_size'
)
#: The place of a missing value.
NOWHERE = -1


T = TypeVar('T')


class _Numbering(dict[T, int]):
    """Values with their positions in a list.

    A value that is looked up for the first time gets the next position.
    """

    def __missing__(self, value: T) -> int:
        place = self[value] = len(self)
        return place


class Records:
    """The records of a report for the script of the page.

    A record is a list, which ``page.js`` takes apart by position: the docstring of each method has
    the fields in their order, and the function of the script that reads them. A "position" of a
    text, a consumer, an inventory or a set is that in the list of all of them.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self._texts = _Numbering[str]()
        self._sets = _Numbering[frozenset[str]]()
        self._inventories = _Numbering[tuple[object, ...]]()
        self._consumers = _Numbering[str]()

    def make_document(self) -> dict[str, object]:
        """Return all records, by the names that ``page.js`` has for their lists: ``trees``, …"""
        cloud, plan = self._report.cloud, self._report.plan
        places = {
            state.uuid: (number, place)
            for number, states in enumerate(cloud.topology.trees.values())
            for place, state in enumerate(states)
        }
        trees = [
            [
                self._record_tree(cloud.snapshot, states),
                [places[state.uuid] for state in cloud.topology.list_sharing_providers(root)],
            ]
            for root, states in cloud.topology.trees.items()
        ]
        records = {
            'trees': trees,
            'findings': [
                self._record_finding(finding)
                for finding in sort_by_severity(self._report.audit.findings)
            ],
            'plan': [self._record_planned_tree(change) for change in plan.changes] if plan else [],
            'consumers': [self._record_consumer(uuid) for uuid in self._consumers],
            'inventories': list(self._inventories),
            'sets': [self._add_names(names) for names in self._sets],
        }
        # Last: all others have added to them.
        return {**records, 'texts': list(self._texts)}

    def _add_text(self, text: str | None) -> int:
        """Return the position of a text in the list of texts; a new one gets the next."""
        return self._texts[escape_text(text)] if text else NOWHERE

    def _record_tree(self, snapshot: Snapshot, states: list[ProviderState]) -> list[object]:
        """Return the providers of a tree, the root first, each as a list of its facts.

        Name, UUID, position of the parent in the tree, inventories, position of its set of traits,
        of its set of aggregates, and pairs of a consumer's position and amounts (``page.js``:
        ``openTree``, ``inventories``, ``consumersOn``).
        """
        places = {state.uuid: place for place, state in enumerate(states)}
        return [
            [
                escape_text(state.name),
                escape_text(state.uuid),
                places.get(state.provider.parent_provider_uuid or '', NOWHERE),
                self._record_inventories(state),
                self._sets[state.traits],
                self._sets[state.aggregates],
                _flatten(
                    (
                        self._consumers[consumer.uuid],
                        self._record_amounts(consumer.allocations[state.uuid]),
                    )
                    for consumer in snapshot.consumers_on(state.uuid)
                ),
            ]
            for state in states
        ]

    def _record_inventories(self, state: ProviderState) -> list[int]:
        """Return three numbers for each class: position of its name, of its inventory, usage."""
        return _flatten(
            (self._add_text(name), self._inventories[_FIELDS(inventory)], state.used(name))
            for name, inventory in sorted(state.inventories.items())
        )

    def _record_amounts(self, resources: Resources) -> list[int]:
        """Return two numbers for each class: position of its name, and amount (``pairsOf``)."""
        return _flatten(
            (self._add_text(name), amount) for name, amount in sorted(resources.items())
        )

    def _record_consumer(self, uuid: str) -> list[object]:
        """Return a consumer's UUID, positions of its project and type, and the name of the server.

        ``page.js``: ``consumerName``, ``servers``.
        """
        # A plan may be of another moment than the snapshot.
        consumer = self._report.cloud.snapshot.consumers.get(uuid) or Consumer(uuid)
        server = self._report.cloud.servers.get(uuid)
        return [
            escape_text(uuid),
            self._add_text(consumer.project_id),
            self._add_text(consumer.type),
            escape_text(server.name or '') if server else '',
        ]

    def _record_finding(self, finding: Finding) -> list[object]:
        """Return severity, check, subject, evidence, command and reason of a finding.

        Severity and check are positions of texts (``page.js``: ``listing('findings')``).
        """
        if finding.subject in self._report.cloud.servers:
            # It may hold nothing, and has a name all the same.
            self._consumers.setdefault(finding.subject, len(self._consumers))
        return [
            self._add_text(finding.severity.value),
            self._add_text(finding.kind),
            escape_text(finding.subject),
            escape_text(describe_evidence(finding.kind, finding.facts)),
            *map(escape_text, choose_command_or_reason(finding, self._report.invocation)),
        ]

    def _record_planned_tree(self, change: Change) -> list[object]:
        """Return a tree's name, its changed providers, rows, and the positions of its warnings.

        ``page.js``: ``openPlanned``, ``listing('planned-trees')``.
        """
        fills_after = contents.measure_fills_after(change)
        places = {provider.uuid: place for place, provider in enumerate(change.providers)}
        return [
            escape_text(change.root_provider_name),
            [
                self._record_provider_change(provider, places, fills_after[provider.uuid])
                for provider in change.providers
            ],
            [self._record_row(row) for row in change.reasons],
            [self._add_text(warning.message) for warning in change.warnings],
        ]

    def _record_provider_change(
        self, change: ProviderChange, positions: Mapping[str, int], fills_after: Fills
    ) -> list[object]:
        """Return a provider of a plan as a list of what changes.

        Position of its name, position of its parent in the change, 1 if it is new, usages before,
        usages after, positions of the traits gained, and of those lost (``page.js``: ``side``).

        :param positions: positions of the providers of the change, by UUID
        :param fills_after: the usages after the change, by class
        """
        was, shall = change.content_before, change.content_after
        return [
            self._add_text(change.name),
            positions.get(change.parent_provider_uuid or '', NOWHERE),
            int(change.is_created),
            self._record_fills(contents.measure_provider(was)),
            self._record_fills(fills_after),
            self._add_names(shall.traits - was.traits),
            self._add_names(was.traits - shall.traits),
        ]

    def _record_fills(self, amounts: Fills) -> list[int]:
        """Return three numbers for each class: position of its name, usage, capacity."""
        return _flatten(
            (self._add_text(name), amount.used, amount.capacity)
            for name, amount in sorted(amounts.items())
        )

    def _add_names(self, names: Iterable[str]) -> list[int]:
        """Return the positions of names in the list of texts, sorted by name."""
        return [self._add_text(name) for name in sorted(names)]

    def _record_row(self, row: PlannedRow) -> list[int]:
        """Return the consumer's position, the amount, then positions of six texts of a planned row.

        These are the class before and after, the provider before and after, the label, and the
        evidence (``page.js``: ``openPlanned``, ``csv``).
        """
        return [
            self._consumers[row.consumer_uuid],
            row.amount,
            self._add_text(row.resource_class),
            self._add_text(row.to_resource_class),
            self._add_text(row.from_provider),
            self._add_text(row.to_provider),
            self._add_text(row.label.value),
            self._add_text(row.evidence),
        ]


def _flatten(rows: Iterable[Iterable[T]]) -> list[T]:
    return list(chain.from_iterable(rows))
