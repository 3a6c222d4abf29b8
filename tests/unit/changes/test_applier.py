"""The requests of operations."""

from placementclient.changes.applier import Applier
from placementclient.changes.operations import EnsureClass, EnsureTrait
from placementclient.model.snapshots import Snapshot
from tests.unit.dialogue import NOTHING


def test_a_class_and_a_trait_of_one_name_are_two(client, service):
    service.answer(NOTHING, NOTHING)
    applier = Applier(client, Snapshot([], []))
    for operation in (EnsureClass('CUSTOM_A'), EnsureTrait('CUSTOM_A')):
        applier.run([operation, operation])
    assert [sent.line for sent in service.requests if sent.line.startswith('PUT')] == [
        'PUT /resource_classes/CUSTOM_A',
        'PUT /traits/CUSTOM_A',
    ]
