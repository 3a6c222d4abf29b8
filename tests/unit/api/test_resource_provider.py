# SPDX-License-Identifier: Apache-2.0
"""Resource providers: the query of a list, names that nothing has, types of refusals."""

import pytest

from placementclient.api import resource_provider
from placementclient.basis import errors
from placementclient.model.freshness import Read
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from tests.unit.dialogue import (
    AGG,
    AGG2,
    MONDAY,
    ROOT,
    RP,
    RP2,
    Reply,
    get,
    provider,
)

PATH = f'/resource_providers/{RP}'
CHILD = provider(RP, 'numa0', 7, ROOT, ROOT)


def listed(*records):
    return {'resource_providers': list(records)}


@pytest.mark.parametrize(
    ('conditions', 'query'),
    [
        ({'name': 'a&b'}, 'name=a&b'),
        ({'uuid': RP}, f'uuid={RP}'),
        ({'matching': Filter(resources={'VCPU': 2, 'DISK_GB': 5})}, 'resources=VCPU:2,DISK_GB:5'),
        ({'matching': Filter(required=('A', 'B'), forbidden=('C',))}, 'required=A,B,!C'),
        (
            {'matching': Filter(required=('A,B', 'C', 'D,E'))},
            'required=C&required=in:A,B&required=in:D,E',
        ),
        ({'matching': Filter(forbidden=('A', 'B'))}, 'required=!A,!B'),
        (
            {'matching': Filter(member_of=(AGG, f'{AGG},{AGG2}'))},
            f'member_of={AGG}&member_of=in:{AGG},{AGG2}',
        ),
        (
            {'matching': Filter(forbidden_member_of=(AGG, f'{AGG},{AGG2}'))},
            f'member_of=!{AGG}&member_of=!in:{AGG},{AGG2}',
        ),
        ({'matching': Filter(in_tree=RP)}, f'in_tree={RP}'),
    ],
)
def test_conditions_become_the_query_of_the_service(call, conditions, query):
    # What stands in a name is quoted; the dialogue shows the query decoded.
    exchange = get(f'/resource_providers?{query}', listed())
    assert call(lambda client: resource_provider.list(client, **conditions), exchange) == []


@pytest.mark.parametrize('name', ['', 'compute1', '..', "it's"])
@pytest.mark.parametrize('others', [[], [provider(RP2, 'compute2'), provider(RP, 'COMPUTE1')]])
def test_find_takes_only_the_exact_name(call, name, others):
    exchange = get(f'/resource_providers?name={name}', listed(*others))
    with pytest.raises(errors.NoSuchProvider) as refusal:
        call(lambda client: resource_provider.find(client, name), exchange)
    assert str(refusal.value) == f'No resource provider has the name {name!r}'


def test_a_provider_is_read_with_generation_and_date(call):
    shown = get(PATH, Reply(200, CHILD, {'last-modified': MONDAY}))
    read = call(lambda client: resource_provider.show(client, RP), shown)
    assert read == Read(Provider(RP, 'numa0', 7, ROOT, ROOT), 7, MONDAY)
    assert call(lambda client: resource_provider.read_generation(client, RP), shown) == 7
