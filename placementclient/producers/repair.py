# SPDX-License-Identifier: Apache-2.0
"""Repairs of faults that an audit found, each only while its facts still hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_values
from datetime import timedelta

from msgspec.structs import replace

from placementclient.api import resource_provider
from placementclient.basis import errors
from placementclient.changes.summary import list_change_rows
from placementclient.client.http import Client
from placementclient.insight.evidence import CHANGED, UNKNOWN, Verdict, explain_retained_allocations
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.outcomes import TreeResult, TreeState
from placementclient.model.plans import Change
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved, Repair
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.producer import StateProducer
from placementclient.producers.proof import SILENT, FreeingProof
from placementclient.reading.capture import capture_named_trees

#: A server that has changed so shortly before a snapshot may be new: listing takes its time, and
#: the clocks of two machines differ.
MARGIN = timedelta(minutes=10)
#: The result of a repair that was carried out.
DONE = 'done'


class RepairProducer(StateProducer):
    """Plans the safe repairs of an audit.

    :param snapshot: the one that was audited
    :param repairs: by the number of the finding
    :param is_current: whether the snapshot was read just now
    """

    command = 'resource provider audit --fix'
    has_notes = True

    def __init__(
        self,
        client: Client,
        snapshot: Snapshot,
        repairs: Mapping[int, Repair],
        *,
        is_current: bool,
    ) -> None:
        super().__init__(client)
        self._snapshot, self._repairs = snapshot, repairs
        self._is_current = is_current
        self._reasons: dict[int, str] = {}

    def read_live_state(self) -> Snapshot:
        """Read the trees that the repairs may change, as far as they exist."""
        if self._repairs and self._is_current:
            return self._snapshot
        uuids = {uuid for repair in self._repairs.values() for uuid in _list_provider_uuids(repair)}
        listed = resource_provider.list(self.client) if uuids else []
        trees = {provider.root_uuid for provider in listed if provider.uuid in uuids}
        return capture_named_trees(self.client, sorted(trees), workers=4)

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with the repairs, and add notes on those that are impossible now."""
        after, reasons = apply_repairs(live, self._repairs)
        self._reasons |= reasons
        for number, reason in reasons.items():
            name = _get_repaired_part(self._repairs[number])[0]
            self.notes.append(Finding('failed', name, reason=reason))
        return after

    def note_failures(self, findings: Sequence[Finding], failures: Mapping[int, str]) -> None:
        """Add a note for each finding for which nothing is freed.

        :param failures: the reasons, by the number of the finding
        """
        for number, failure in failures.items():
            reason = failure.removeprefix('failed: ')
            subject = f'consumer {findings[number].subject}'
            self.notes.append(Finding('failed', subject, reason=reason))

    def describe_results(
        self, changes: Sequence[Change], results: Sequence[TreeResult], otherwise: str = DONE
    ) -> dict[int, str]:
        """Return a text about the result of each repair, by the number of its finding.

        :param results: one for each change that was begun
        :param otherwise: the text about a repair that did not fail
        """
        by_part = {
            (row.object, row.change): result
            for tree, result in zip(changes, results, strict=False)
            for row in list_change_rows(tree.before, tree.after)
        }
        return {
            number: self._explain_unmade_repair(number, by_part.get(part), part) or otherwise
            for number, part in (
                (n, _get_repaired_part(repair)) for n, repair in self._repairs.items()
            )
        }

    def describe_failure(self, failure: Exception) -> dict[int, str]:
        """Return the text that planning failed, by the number of the finding of each repair."""
        return dict.fromkeys(self._repairs, f'failed: {failure}')

    def _explain_unmade_repair(
        self, number: int, result: TreeResult | None, part: tuple[str, str]
    ) -> str:
        """Return the reason why the repair of a finding was not made; empty if none is known.

        :param number: of the finding
        :param result: of the tree with the part; ``None``: its change was not begun
        :param part: as :func:`_get_repaired_part` returns it
        """
        if reason := self._reasons.get(number):
            return f'failed: {reason}'
        if result is None or part in [(row.object, row.change) for row in result.rows]:
            return ''
        if result.state is TreeState.NOT_STARTED:
            return str(result.state.value)
        return f'failed: {result.error}' if result.error is not None else ''


def _list_provider_uuids(repair: Repair) -> tuple[str, ...]:
    if isinstance(repair, FreeAllocations):
        return repair.provider_uuids
    return (repair.provider_uuid,)


def _get_repaired_part(repair: Repair) -> tuple[str, str]:
    """Return the object and the part of it that a repair changes, as a plan's table names them."""
    match repair:
        case AddTrait(_, provider):
            return provider, 'traits'
        case LowerReserved(_, provider, resource_class):
            return provider, f'{resource_class}:reserved'
        case FreeAllocations(consumer):
            return f'consumer {consumer.uuid}', 'allocations'


def count_freeing_findings(findings: Sequence[Finding]) -> int:
    """Return the number of findings that propose to free an allocation."""
    return sum(isinstance(finding.repair, FreeAllocations) for finding in findings)


def prove_findings(
    proof: FreeingProof, findings: Sequence[Finding], progress: Callable[..., None] | None = None
) -> tuple[list[Finding], dict[int, str]]:
    """Return findings with the allocations that may really be freed, and the failures.

    The failures are the reasons why nothing is freed, by the number of the finding. Placement and
    Nova are asked about each consumer whose allocations a finding proposes to free.

    :param progress: called with the UUID of each judged consumer
    """
    result, failures = list(findings), dict[int, str]()
    freeing = {
        number: finding.repair
        for number, finding in enumerate(findings)
        if isinstance(finding.repair, FreeAllocations)
    }
    consumers = {repair.consumer.uuid: repair.consumer for repair in freeing.values()}
    try:
        verdicts = proof.judge_consumers(list(consumers.values()), progress)
    except errors.PlacementError as away:
        verdicts = dict.fromkeys(consumers, Verdict(reason=f'{CHANGED}? {away}'))
    for number, repair in freeing.items():
        verdict = verdicts[repair.consumer.uuid]
        freed = tuple(uuid for uuid in repair.provider_uuids if uuid in verdict.freed)
        remedy = with_values(repair, provider_uuids=freed) if freed else None
        result[number] = with_values(findings[number], remedy=remedy)
        if remedy is None:
            failure, reason = _explain_kept_allocations(findings[number], verdict)
            result[number] = with_values(result[number], reason=reason or failure)
            if failure:
                failures[number] = f'failed: {failure}'
    return result, failures


def _explain_kept_allocations(finding: Finding, verdict: Verdict) -> tuple[str, str]:
    """Return a failure and an advice for a finding for which nothing is freed; one is empty."""
    if verdict.reason.startswith((CHANGED, SILENT)):
        return verdict.reason, ''
    if finding.kind == 'orphan' and verdict.reason != UNKNOWN:
        return 'Nova has the server', ''
    return '', explain_retained_allocations(verdict, finding.subject, finding.kind)


def apply_repairs(live: Snapshot, repairs: Mapping[int, Repair]) -> tuple[Snapshot, dict[int, str]]:
    """Return the snapshot with repairs, and the reasons why others are not made, by number.

    A repair that was made already changes nothing; a repair whose facts have changed is not made.
    """
    states, consumers = dict(live.providers), dict(live.consumers)
    reasons: dict[int, str] = {}
    for number, repair in repairs.items():
        if isinstance(repair, FreeAllocations):
            uuid = repair.consumer.uuid
            now = live.consumers.get(uuid, Consumer(uuid))
            if now.allocations.keys().isdisjoint(repair.provider_uuids):
                continue
            then = repair.consumer
            if (now.allocations, now.generation) != (then.allocations, then.generation):
                reasons[number] = f'{CHANGED}: consumer {uuid} is not as it was checked'
                continue
            consumers[uuid] = consumers[uuid].without_providers(repair.provider_uuids)
        elif repair.provider_uuid in states:
            states[repair.provider_uuid] = _repair_provider(states[repair.provider_uuid], repair)
        else:
            reasons[number] = f'There is no provider {repair.provider_name} any more'
    holding = (consumer for consumer in consumers.values() if consumer.allocations)
    return Snapshot(states.values(), holding, live.origin), reasons


def _repair_provider(state: ProviderState, repair: AddTrait | LowerReserved) -> ProviderState:
    if isinstance(repair, AddTrait):
        return replace(state, traits=state.traits | {repair.trait})
    name = repair.resource_class
    inventory = state.inventories.get(name)
    if inventory is None or inventory.reserved <= inventory.total:
        return state
    return replace(
        state,
        inventories={**state.inventories, name: replace(inventory, reserved=inventory.total)},
    )
