"""What the operations of a plan send."""

from __future__ import annotations

from pathlib import Path

from placementclient.changes.operations import EnsureClass, EnsureTrait
from placementclient.http import Client
from placementclient.planner.plan.plan import Plan
from placementclient.planner.spec import specification
from placementclient.reshape import journal
from placementclient.reshape.operation_runner import Names, OperationRunner
from placementclient.reshape.preconditions import Preconditions
from tests.unit.conftest import Service
from tests.unit.dialogue import NOTHING

MOVE = '[{from_resource_provider: a, to_resource_provider: b, moved_resources: {VGPU: 1}}]'


def test_a_class_and_a_trait_of_one_name_are_two(
    client: Client, service: Service, tmp_path: Path
) -> None:
    service.answer(NOTHING, NOTHING)
    plan = Plan(specification.parse(MOVE, 'spec.yaml'), ())
    with journal.opened(str(tmp_path / 'journal'), plan) as opened:
        runner = OperationRunner(client, opened, Names(), 'root', Preconditions())
        for operation in (EnsureClass('CUSTOM_A'), EnsureTrait('CUSTOM_A')):
            for _ in range(2):
                runner.run(operation)
    assert [sent.line for sent in service.requests if sent.line.startswith('PUT')] == [
        'PUT /resource_classes/CUSTOM_A',
        'PUT /traits/CUSTOM_A',
    ]
