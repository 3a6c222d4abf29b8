# SPDX-License-Identifier: Apache-2.0
"""Plans as people read them."""

from types import SimpleNamespace
from typing import Any, cast

from placementclient.model.plans import Plan
from placementclient.render import plans


def test_warnings_are_counted_as_they_are_printed():
    trees = [
        SimpleNamespace(
            root_provider_name=name,
            reasons=(),
            consumers=(),
            list_created_providers=tuple,
            warnings=[SimpleNamespace(message=f'{name}: the same'), *more],
        )
        for name, more in (('a', []), ('b', []), ('c', [SimpleNamespace(message='another')]))
    ]
    plan = cast(Plan, SimpleNamespace(changes=trees, left_out=()))
    lines: list[Any] = list(plans.list_warnings(plan.changes))
    assert lines == ['a and 2 others: a: the same', 'c: another']
    assert plans.count_plan_parts(plan)['warnings'] == 2
