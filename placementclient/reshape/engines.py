"""Plans of a reshape and plans of changes: what is done with either, by one name."""

from __future__ import annotations

from typing import Any

from placementclient.changes import comparison, execution
from placementclient.changes.plan import ChangePlan
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, Outcome, TreeStatus
from placementclient.planner.plan.plan import Plan
from placementclient.reshape import executor
from placementclient.reshape import verify as reshape_verify

AnyPlan = Plan | ChangePlan


def apply(client: Client, plan: AnyPlan, journal_path: str, **options: Any) -> Outcome:
    """Carry a plan out: see :func:`executor.apply` and :func:`execution.apply`."""
    if isinstance(plan, ChangePlan):
        return execution.apply(client, plan, journal_path, **options)
    return executor.apply(client, plan, journal_path, **options)


def rollback(client: Client, plan: AnyPlan, journal_path: str, **options: Any) -> Outcome:
    """Take a plan back: see :func:`executor.rollback` and :func:`execution.rollback`."""
    if isinstance(plan, ChangePlan):
        return execution.rollback(client, plan, journal_path, **options)
    return executor.rollback(client, plan, journal_path, **options)


def status(client: Client, plan: AnyPlan, **options: Any) -> list[TreeStatus]:
    """Tell where each tree is: see :func:`verify.status` and :func:`comparison.status`."""
    if isinstance(plan, ChangePlan):
        return comparison.status(client, plan, **options)
    return reshape_verify.status(client, plan, **options)


def verify(client: Client, plan: AnyPlan, **options: Any) -> list[Deviation]:
    """Compare a plan with what is there: see :func:`verify.verify`, :func:`comparison.verify`."""
    if isinstance(plan, ChangePlan):
        return comparison.verify(client, plan, **options)
    return reshape_verify.verify(client, plan, **options)
