"""Plans of a reshape and plans of changes: what is done with either, by one name."""

from __future__ import annotations

from typing import Any

from placementclient.changes import comparison, execution
from placementclient.changes.change_run import ChangeRun
from placementclient.changes.execution import PlanRun
from placementclient.changes.plan import ChangePlan
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, Outcome, TreeStatus
from placementclient.planner.plan.plan import Plan
from placementclient.reshape import verify as reshape_verify
from placementclient.reshape.executor import ReshapeRun

AnyPlan = Plan | ChangePlan


def apply(client: Client, plan: AnyPlan, journal_path: str, **options: Any) -> Outcome:
    """Carry a plan out: see :func:`execution.carry_out`."""
    return execution.carry_out(_run(client, plan), journal_path, **options)


def rollback(client: Client, plan: AnyPlan, journal_path: str, **options: Any) -> Outcome:
    """Take a plan back: see :func:`execution.carry_out`."""
    return execution.carry_out(_run(client, plan), journal_path, backward=True, **options)


def _run(client: Client, plan: AnyPlan) -> PlanRun[Any]:
    if isinstance(plan, ChangePlan):
        return ChangeRun(client, plan)
    return ReshapeRun(client, plan)


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
