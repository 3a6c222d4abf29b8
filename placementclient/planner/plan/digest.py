"""What identifies a plan."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from placementclient.planner.plan.plan import Plan


def of(plan: Plan) -> str:
    """What identifies a plan, however its file is laid out."""
    result = hashlib.sha256(_canonical(plan.header()))
    for tree in plan.trees:
        result.update(_canonical(tree.to_json()))
    return f'sha256:{result.hexdigest()}'


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(',', ':')).encode()
