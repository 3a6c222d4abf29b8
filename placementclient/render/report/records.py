"""The records from which the script of the page draws, in a compact form.

Hosts are alike: what is repeated, texts, inventories and sets of traits, is written once, and is
referred to by its place; -1 is the place of what is not there. So a report of 10,000 hosts has some
megabytes.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

from placementclient.client.printable import printable
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.findings import Finding, Severity
from placementclient.model.plans import Plan, PlannedRow, ProviderChange, TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.render.facts import evidence
from placementclient.render.repairs import next_step
from placementclient.render.report import contents
from placementclient.render.report.contents import Amounts, Report

T = TypeVar('T', bound=Hashable)

#: The fields of an inventory, in the order in which the script takes them.
_FIELDS = attrgetter(
    'capacity', 'total', 'reserved', 'allocation_ratio', 'min_unit', 'max_unit', 'step_size'
)
#: Stands for the place of what is not there.
NOWHERE = -1


class _Places(Generic[T]):
    def __init__(self) -> None:
        self._places: dict[T, int] = {}

    def of(self, value: T) -> int:
        """The place of a value; one that is new comes last."""
        return self._places.setdefault(value, len(self._places))

    def __iter__(self) -> Iterator[T]:
        return iter(self._places)


class Records:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._texts = _Places[str]()
        self._sets = _Places[frozenset[str]]()
        self._inventories = _Places[tuple[float, ...]]()
        self._consumers = _Places[str]()

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
                [places[state.uuid] for state in cloud.topology.reached(root)],
            ]
            for root, states in cloud.topology.trees.items()
        ]
        findings = self._report.audit.findings
        records = {
            'trees': trees,
            'findings': [self._finding(each) for each in sorted(findings, key=_severity)],
            'plan': [self._planned(tree) for tree in plan.trees] if plan else [],
            'consumers': [self._consumer(uuid, plan) for uuid in self._consumers],
            'inventories': list(self._inventories),
            'sets': [self._names(each) for each in self._sets],
        }
        # Last: all others have added to them.
        return {**records, 'texts': list(self._texts)}

    def _text(self, text: str | None) -> int:
        return self._texts.of(printable(text)) if text else NOWHERE

    def _tree(self, snapshot: Snapshot, states: list[ProviderState]) -> list[Any]:
        places = {state.uuid: place for place, state in enumerate(states)}
        return [
            [
                printable(state.name),
                printable(state.uuid),
                places.get(state.provider.parent_provider_uuid or '', NOWHERE),
                self._held(state),
                self._sets.of(state.traits),
                self._sets.of(state.aggregates),
                _flat(
                    (
                        self._consumers.of(consumer.uuid),
                        self._amounts(consumer.allocations[state.uuid]),
                    )
                    for consumer in snapshot.consumers_on(state.uuid)
                ),
            ]
            for state in states
        ]

    def _held(self, state: ProviderState) -> list[int]:
        return _flat(
            (self._text(name), self._inventories.of(_FIELDS(inventory)), state.used(name))
            for name, inventory in sorted(state.inventories.items())
        )

    def _amounts(self, resources: Resources) -> list[int]:
        return _flat((self._text(name), amount) for name, amount in sorted(resources.items()))

    def _consumer(self, uuid: str, plan: Plan | None) -> list[Any]:
        # A plan may be of another moment than the snapshot.
        found = self._report.cloud.snapshot.consumers.get(uuid) or Consumer(uuid)
        server = self._report.cloud.servers.get(uuid)
        return [
            printable(uuid),
            self._text(found.project_id),
            self._text(found.type),
            printable(server.name or '') if server else '',
        ]

    def _finding(self, finding: Finding) -> list[Any]:
        step = next_step(finding, self._report.invocation)
        return [
            self._text(finding.severity.value),
            self._text(finding.kind),
            printable(finding.subject),
            printable(evidence(finding.facts)),
            printable(step.command),
            printable(step.reason),
        ]

    def _planned(self, tree: TreeChange) -> list[Any]:
        becomes = contents.after(tree)
        places = {change.uuid: place for place, change in enumerate(tree.providers)}
        return [
            printable(tree.root_provider_name),
            [self._change(change, places, becomes[change.uuid]) for change in tree.providers],
            [self._row(row) for row in tree.rows],
            [self._text(warning.message) for warning in tree.warnings],
        ]

    def _change(
        self, change: ProviderChange, places: Mapping[str, int], becomes: Amounts
    ) -> list[Any]:
        was, shall = change.content_before, change.content_after
        return [
            self._text(change.name),
            places.get(change.parent_provider_uuid or '', NOWHERE),
            int(change.is_created),
            self._figures(contents.of_state(change.content_before)),
            self._figures(becomes),
            self._names(shall.traits - was.traits),
            self._names(was.traits - shall.traits),
        ]

    def _figures(self, amounts: Amounts) -> list[int]:
        return _flat(
            (self._text(name), amount.used, amount.capacity)
            for name, amount in sorted(amounts.items())
        )

    def _names(self, names: Iterable[str]) -> list[int]:
        return [self._text(name) for name in sorted(names)]

    def _row(self, row: PlannedRow) -> list[int]:
        return [
            self._consumers.of(row.consumer_uuid),
            row.amount,
            self._text(row.resource_class),
            self._text(row.to_resource_class),
            self._text(row.from_provider),
            self._text(row.to_provider),
            self._text(row.label.value),
            self._text(row.evidence),
        ]


def _severity(finding: Finding) -> int:
    return list(Severity).index(finding.severity)


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(rows))
