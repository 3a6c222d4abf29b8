# SPDX-License-Identifier: Apache-2.0
"""Resource providers: names that nothing has."""

import pytest

from placementclient.api import resource_provider
from placementclient.basis import errors
from tests.unit.dialogue import (
    ROOT,
    RP,
    RP2,
    get,
    provider,
)

PATH = f'/resource_providers/{RP}'
CHILD = provider(RP, 'numa0', 7, ROOT, ROOT)


def listed(*records):
    return {'resource_providers': list(records)}


@pytest.mark.parametrize('name', ['', 'compute1', '..', "it's"])
@pytest.mark.parametrize('others', [[], [provider(RP2, 'compute2'), provider(RP, 'COMPUTE1')]])
def test_find_takes_only_the_exact_name(call, name, others):
    exchange = get(f'/resource_providers?name={name}', listed(*others))
    with pytest.raises(errors.NoSuchProvider) as refusal:
        call(lambda client: resource_provider.find(client, name), exchange)
    assert str(refusal.value) == f'No resource provider has the name {name!r}'


@pytest.mark.parametrize(
    ('others', 'found'),
    [([], RP), ([provider(RP2, RP.replace('-', ''))], RP2)],
)
def test_a_uuid_without_hyphens_is_one_unless_a_provider_has_it_as_its_name(call, others, found):
    typed = RP.replace('-', '')
    exchange = get(f'/resource_providers?name={typed}', listed(*others))
    assert call(lambda client: resource_provider.find(client, typed), exchange) == found
