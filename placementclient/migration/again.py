"""A tree is planned again, from what is there now."""

from __future__ import annotations

from placementclient.http import Client
from placementclient.migration.live import LeftAlone
from placementclient.planner.plan import Plan, TreePlan


def planned_again(client: Client, plan: Plan, tree: TreePlan, drift: str) -> TreePlan:
    raise LeftAlone(drift)


def planned_back(client: Client, plan: Plan, tree: TreePlan) -> TreePlan:
    raise LeftAlone('no')
