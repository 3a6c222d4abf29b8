# SPDX-License-Identifier: Apache-2.0
"""The requests of operations."""

import pytest

from placementclient.changes.applier import Applier
from placementclient.changes.operations import (
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Reshape,
    SetAllocations,
    SetInventories,
    SetTraits,
)
from placementclient.client import errors
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.dialogue import CONSUMER, NOTHING, RP, Reply, fault, get, version_document


def test_a_class_and_a_trait_of_the_same_name_are_both_created(client, service):
    service.answer(NOTHING, NOTHING)
    applier = Applier(client, Snapshot([], []))
    for operation in (EnsureClass('CUSTOM_A'), EnsureTrait('CUSTOM_A')):
        applier.apply([operation, operation])
    assert [sent.line for sent in service.requests if sent.line.startswith('PUT')] == [
        'PUT /resource_classes/CUSTOM_A',
        'PUT /traits/CUSTOM_A',
    ]


@pytest.mark.parametrize(
    'traits',
    [
        Reply(200, {'traits': ['CUSTOM_NEW'], 'resource_provider_generation': 3}),
        fault(404, 'No resource provider'),
    ],
    ids=['changed', 'deleted'],
)
def test_a_provider_that_others_changed_or_deleted_is_not_deleted(client, service, traits):
    path, generation = f'/resource_providers/{RP}', {'resource_provider_generation': 3}
    service.answer(
        get(f'{path}/inventories', {'inventories': {}, **generation}),
        get(f'{path}/traits', traits),
        get(f'{path}/aggregates', {'aggregates': [], **generation}),
    )
    with pytest.raises(errors.ConcurrentUpdate, match=f'{RP} was changed in between'):
        Applier(client, Snapshot([], [])).apply(
            [DeleteProvider(RP, 'compute1', None, {}, frozenset(), frozenset())]
        )
    assert {sent.line.partition(' ')[0] for sent in service.requests} == {'GET'}


HELD = {
    'allocations': {RP: {'resources': {'VCPU': 2}, 'generation': 4}},
    'consumer_generation': 2,
    'consumer_type': 'X',
}
NONE, LITTLE = Consumer(CONSUMER), Consumer(CONSUMER, {RP: {'VCPU': 1}}, 'p', 'u')


@pytest.mark.parametrize(
    ('first', 'path', 'live', 'write'),
    [
        (
            SetAllocations((NONE,), (LITTLE,)),
            f'/allocations/{CONSUMER}',
            HELD | {'project_id': 'p', 'user_id': 'u'},
            SetAllocations((LITTLE,), (NONE,)),
        ),
        (
            Reshape((SetInventories(RP, {'VGPU': Inventory(1)}, {}),), ()),
            f'/resource_providers/{RP}/traits',
            {'traits': ['CUSTOM_NEW'], 'resource_provider_generation': 3},
            SetTraits(RP, frozenset(), frozenset({'CUSTOM_A'})),
        ),
    ],
    ids=['consumer', 'provider'],
)
def test_what_others_changed_between_two_writes_is_not_written(
    client, service, first, path, live, write
):
    service.answer(version_document('1.39'), NOTHING, get(path, live))
    before = Snapshot([ProviderState(Provider(RP, 'compute1', 2))], [])
    with pytest.raises(errors.ConcurrentUpdate, match='was changed in between'):
        Applier(client, before).apply([first, write])
    methods = [sent.line.partition(' ')[0] for sent in service.requests]
    assert methods.count('GET') == len(methods) - 1
