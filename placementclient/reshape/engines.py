"""Plans carried out: a tree of a reshape that has changed is planned again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placementclient.changes import execution
from placementclient.changes.carrier import Carrier
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, Outcome, TreeStatus
from placementclient.model.plans import Plan
from placementclient.planner.records import plans
from placementclient.reshape.carrier import ReshapeCarrier


def apply(client: Client, plan: Plan, journal_path: str, **options: Any) -> Outcome:
    """Carry a plan out: see :func:`execution.carry_out`."""
    return execution.carry_out(_run(client, plan), journal_path, **options)


def rollback(client: Client, plan: Plan, journal_path: str, **options: Any) -> Outcome:
    """Take a plan back: see :func:`execution.carry_out`."""
    return execution.carry_out(_run(client, plan), journal_path, backward=True, **options)


def status(
    client: Client, plan: Plan, trees: Sequence[str] = (), **options: Any
) -> list[TreeStatus]:
    """Return the state of each tree: see :func:`execution.status`."""
    return execution.status(_run(client, plan), trees, **options)


def verify(
    client: Client, plan: Plan, trees: Sequence[str] = (), **options: Any
) -> list[Deviation]:
    """Compare a plan with what is there: see :func:`execution.verify`."""
    return execution.verify(_run(client, plan), trees, **options)


def _run(client: Client, plan: Plan) -> Carrier:
    if plan.recipe is None:
        return Carrier(client, plan, plans.identity(plan))
    return ReshapeCarrier(client, plan)
