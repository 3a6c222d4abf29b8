"""The requests of a sync: the aggregates are read of the hosts alone that change."""

from __future__ import annotations

from placementclient.client.http import Client
from placementclient.model.host_aggregates import HostAggregate
from placementclient.producers.host_aggregates import Sync
from tests.unit.conftest import Service
from tests.unit.dialogue import AGG, RP, RP2, fault, get

OTHER = 'b0a5e5d4-0000-4000-8000-000000000001'
BOTH = [{'uuid': RP, 'name': 'a', 'generation': 1}, {'uuid': RP2, 'name': 'b', 'generation': 1}]
LISTS = [
    get('/resource_providers', {'resource_providers': BOTH}),
    get('/resource_providers', {'resource_providers': []}),
    get('/resource_providers', {'resource_providers': [BOTH[1]]}),
]


def test_a_host_is_read_before_it_is_changed(client: Client, service: Service) -> None:
    aggregates = {'aggregates': [OTHER], 'resource_provider_generation': 7}
    service.answer(*LISTS, get(f'/resource_providers/{RP}/aggregates', aggregates))
    sync = Sync(client, [HostAggregate(AGG, 'az', ('a', 'b', 'c'))])
    [tree] = sync.plan().trees
    [state] = tree.after.providers.values()
    assert (state.uuid, state.aggregates) == (RP, {OTHER, AGG})
    assert tree.before.providers[RP].provider.generation == 7
    assert [note.object for note in sync.notes] == ['c']
    # Planned again, the host alone is read.
    service.answer(get(f'/resource_providers/{RP}/aggregates', {**aggregates, 'aggregates': [AGG]}))
    assert sync.plan([RP]).trees == ()


def test_a_host_that_has_gone_is_passed_over(client: Client, service: Service) -> None:
    gone = get(f'/resource_providers/{RP}/aggregates', answer=fault(404, 'No resource provider'))
    service.answer(*LISTS, gone)
    assert Sync(client, [HostAggregate(AGG, 'az', ('a', 'b'))]).plan().trees == ()
