# SPDX-License-Identifier: Apache-2.0
"""The records from which the script of the page draws, in a compact form.

Hosts are alike: what is repeated, texts, inventories and sets of traits, is written once, and is
referred to by its place; -1 is the place of what is not there. So a report of 10,000 hosts has some
megabytes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any

from placementclient.basis.printable import printable
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.findings import Finding, Severity
from placementclient.model.plans import Change, PlannedRow, ProviderChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.render.facts import evidence
from placementclient.render.repairs import next_step
from placementclient.render.report import contents
from placementclient.render.report.contents import Fills, Report

#: The fields of an inventory, in the order in which the script takes them.
_FIELDS = attrgetter(
    'capacity', 'total', 'reserved', 'allocation_ratio', 'min_unit', 'max_unit', 'step_size'
)
#: The place of a missing value.
NOWHERE = -1


def _places() -> defaultdict[Any, int]:
    """Number values by the order in which they are looked up first."""
    places = defaultdict[Any, int]()
    places.default_factory = places.__len__
    return places


class Records:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._texts = _places()
        self._sets = _places()
        self._inventories = _places()
        self._consumers = _places()

    def document(self) -> dict[str, Any]:
        """Return all records for the page."""
        cloud, plan = self._report.cloud, self._report.plan
        places = {
            state.uuid: (number, place)
            for number, states in enumerate(cloud.topology.trees.values())
            for place, state in enumerate(states)
        }
        trees = [
            [
                self._tree(cloud.snapshot, states),
                [places[state.uuid] for state in cloud.topology.sharing_providers(root)],
            ]
            for root, states in cloud.topology.trees.items()
        ]
        findings = self._report.audit.findings
        records = {
            'trees': trees,
            'findings': [
                self._finding(finding)
                for severity in Severity
                for finding in findings
                if finding.severity is severity
            ],
            'plan': [self._planned(tree) for tree in plan.changes] if plan else [],
            'consumers': [self._consumer(uuid) for uuid in self._consumers],
            'inventories': list(self._inventories),
            'sets': [self._names(names) for names in self._sets],
        }
        # Last: all others have added to them.
        return {**records, 'texts': list(self._texts)}

    def _text(self, text: str | None) -> int:
        return self._texts[printable(text)] if text else NOWHERE

    def _tree(self, snapshot: Snapshot, states: list[ProviderState]) -> list[Any]:
        places = {state.uuid: place for place, state in enumerate(states)}
        return [
            [
                printable(state.name),
                printable(state.uuid),
                places.get(state.provider.parent_provider_uuid or '', NOWHERE),
                self._inventory(state),
                self._sets[state.traits],
                self._sets[state.aggregates],
                _flat(
                    (
                        self._consumers[consumer.uuid],
                        self._amounts(consumer.allocations[state.uuid]),
                    )
                    for consumer in snapshot.consumers_on(state.uuid)
                ),
            ]
            for state in states
        ]

    def _inventory(self, state: ProviderState) -> list[int]:
        return _flat(
            (self._text(name), self._inventories[_FIELDS(inventory)], state.used(name))
            for name, inventory in sorted(state.inventories.items())
        )

    def _amounts(self, resources: Resources) -> list[int]:
        return _flat((self._text(name), amount) for name, amount in sorted(resources.items()))

    def _consumer(self, uuid: str) -> list[Any]:
        # A plan may be of another moment than the snapshot.
        consumer = self._report.cloud.snapshot.consumers.get(uuid) or Consumer(uuid)
        server = self._report.cloud.servers.get(uuid)
        return [
            printable(uuid),
            self._text(consumer.project_id),
            self._text(consumer.type),
            printable(server.name or '') if server else '',
        ]

    def _finding(self, finding: Finding) -> list[Any]:
        return [
            self._text(finding.severity.value),
            self._text(finding.kind),
            printable(finding.subject),
            printable(evidence(finding.facts)),
            *map(printable, next_step(finding, self._report.invocation)),
        ]

    def _planned(self, tree: Change) -> list[Any]:
        becomes = contents.after(tree)
        places = {change.uuid: place for place, change in enumerate(tree.providers)}
        return [
            printable(tree.root_provider_name),
            [self._change(change, places, becomes[change.uuid]) for change in tree.providers],
            [self._row(row) for row in tree.reasons],
            [self._text(warning.message) for warning in tree.warnings],
        ]

    def _change(
        self, change: ProviderChange, places: Mapping[str, int], becomes: Fills
    ) -> list[Any]:
        was, shall = change.content_before, change.content_after
        return [
            self._text(change.name),
            places.get(change.parent_provider_uuid or '', NOWHERE),
            int(change.is_created),
            self._figures(contents.of_state(was)),
            self._figures(becomes),
            self._names(shall.traits - was.traits),
            self._names(was.traits - shall.traits),
        ]

    def _figures(self, amounts: Fills) -> list[int]:
        return _flat(
            (self._text(name), amount.used, amount.capacity)
            for name, amount in sorted(amounts.items())
        )

    def _names(self, names: Iterable[str]) -> list[int]:
        return [self._text(name) for name in sorted(names)]

    def _row(self, row: PlannedRow) -> list[int]:
        return [
            self._consumers[row.consumer_uuid],
            row.amount,
            self._text(row.resource_class),
            self._text(row.to_resource_class),
            self._text(row.from_provider),
            self._text(row.to_provider),
            self._text(row.label.value),
            self._text(row.evidence),
        ]


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(rows))
