# SPDX-License-Identifier: Apache-2.0
"""One edit of many providers: what is read of them, and what is read again."""

import requests

from placementclient.basis.errors import ExitStatus
from placementclient.changes.at_once import apply_at_once
from placementclient.insight.selecting import ProviderSelector
from placementclient.model.inventories import Inventory
from placementclient.producers.edited import FacetEdit, InventoryEdit
from placementclient.producers.edits import EditProducer
from tests.unit.dialogue import AGG, ROOT, RP, RP2, conflict, fault, get, provider, put

VCPU, PCPU = Inventory(8).as_fields(), Inventory(4).as_fields()
MORE = InventoryEdit({'VCPU': {'total': 16}}, amend=True)
HOSTS = ProviderSelector(match='host?')


def body(generation, **inventories):
    return {'inventories': inventories, 'resource_provider_generation': generation}


def listing(*records, query=''):
    return get(f'/resource_providers{query}', {'resource_providers': list(records)})


def path(uuid=RP, facet='inventories'):
    return f'/resource_providers/{uuid}/{facet}'


TWO = [
    listing(provider(RP2, 'host2'), provider(RP, 'host1'), provider(ROOT, 'other')),
    get(path(), body(1, VCPU=VCPU)),
    get(path(RP2), body(1, VCPU=VCPU)),
]


def carried(client, service, *exchanges, edit=MORE):
    service.answer(*TWO, *exchanges)
    edits = EditProducer(client, 'edit', HOSTS, edit)
    outcome = apply_at_once(client, edits.plan())
    lines = [exchange.line for exchange in (*TWO, *exchanges)]
    assert [sent.line for sent in service.requests][: len(lines)] == lines
    return outcome


def states(outcome):
    return {
        tree.root_provider_name: (tree.state.value, str(tree.error or '')) for tree in outcome.trees
    }


def test_a_tree_is_named_after_its_root(client, service):
    child = provider(RP, 'gpu', parent=ROOT, root=ROOT)
    exchanges = [
        listing(child, query=f'?required=CUSTOM_X&member_of={AGG}'),
        get(path(), body(4, VCPU=VCPU)),
        get(path(facet='traits'), {'traits': [], 'resource_provider_generation': 4}),
        listing(child, provider(ROOT, 'host')),
    ]
    service.answer(*exchanges, get('/traits?name=in:CUSTOM_A', {'traits': ['CUSTOM_A']}))
    selection = ProviderSelector(with_trait='CUSTOM_X', with_class='VCPU', member_of=(AGG,))
    plan = EditProducer(
        client, 'edit', selection, FacetEdit('traits', frozenset({'CUSTOM_A'}))
    ).plan()
    assert [sent.line for sent in service.requests][:4] == [exchange.line for exchange in exchanges]
    [tree] = plan.changes
    assert (tree.root_provider_name, tree.root_provider_uuid) == ('host', ROOT)
    assert tree.before.providers[RP].provider.generation == 4


def used(uuid=RP, **amounts):
    usages = {'usages': amounts, 'resource_provider_generation': 1}
    return get(f'/resource_providers/{uuid}/usages', usages)


def read_again(**inventories):
    """The requests that read the tree of host1 after a conflict, with what others have made it."""
    return (
        listing(provider(RP, 'host1', generation=2), query=f'?in_tree={RP}'),
        get(path(), body(2, **inventories)),
        get(path(facet='usages'), {'usages': {}, 'resource_provider_generation': 2}),
    )


def test_edits_below_what_is_in_use_are_remarked(client, service):
    """The service takes it. Only of those that shrink is the use read."""
    answers = [*TWO, used(VCPU=5), used(RP2, VCPU=3)]
    service.answer(*answers)
    edits = EditProducer(client, 'edit', HOSTS, InventoryEdit({'VCPU': {'total': 4}}, amend=True))
    assert [tree.root_provider_name for tree in edits.plan().changes] == ['host1', 'host2']
    assert [sent.line for sent in service.requests] == [exchange.line for exchange in answers]
    assert edits.remarks == [
        '5 VCPU of host1 is in use, and there would be 4. Placement grants nothing more there '
        'until enough is freed'
    ]


def test_an_inventory_that_others_add_meanwhile_stays(client, service):
    outcome = carried(
        client,
        service,
        put(path(), answer=conflict()),
        *read_again(VCPU=VCPU, PCPU=PCPU),
        put(path(), answer=body(3, VCPU=VCPU)),
        put(path(RP2), answer=body(2, VCPU=VCPU)),
        edit=InventoryEdit({'VCPU': {'total': 16}}, replaces=True),
    )
    sent = service.requests[7].body
    assert sent['resource_provider_generation'] == 2
    assert {name: fields['total'] for name, fields in sent['inventories'].items()} == {
        'PCPU': 4,
        'VCPU': 16,
    }
    assert outcome.exit_status is ExitStatus.DONE


def test_a_value_that_others_change_meanwhile_is_left_alone(client, service):
    outcome = carried(
        client,
        service,
        put(path(), answer=conflict()),
        *read_again(VCPU=VCPU | {'total': 12}),
        *read_again(VCPU=VCPU | {'total': 12}),
        put(path(RP2), answer=body(2, VCPU=VCPU)),
    )
    assert states(outcome) == {
        'host1': (
            'left alone',
            'Others have changed host1 in the meantime: host1: VCPU:total is 12, neither 8 nor '
            '16. Run the command again',
        ),
        'host2': ('applied', ''),
    }
    assert outcome.exit_status is ExitStatus.PARTIAL


def test_a_refused_edit_does_not_stop_the_others(client, service):
    outcome = carried(
        client,
        service,
        put(path(), answer=fault(409, 'In use', 'placement.inventory.inuse')),
        put(path(RP2), answer=body(2, VCPU=VCPU)),
    )
    assert [state for state, _ in states(outcome).values()] == ['failed', 'applied']
    assert outcome.exit_status is ExitStatus.PARTIAL


def test_edits_wait_once_for_an_unreachable_service(client, service):
    service.answer(*TWO)
    edits = EditProducer(client, 'edit', HOSTS, MORE)
    plan = edits.plan()
    service.fail(requests.ConnectionError('away'))
    outcome = apply_at_once(client, plan)
    assert [state for state, _ in states(outcome).values()] == ['failed', 'not started']
    assert {RP2 in request.url for request in service.history} == {False}
