# SPDX-License-Identifier: Apache-2.0
"""What callers of the API see and a command does not show: types of refusals, chosen versions.

The requests of each function, and its results, are in the dialogues of the commands.
"""

import pytest

from placementclient.api import inventory, root
from placementclient.client import errors
from placementclient.client.microversion import Microversion
from tests.unit.dialogue import RP, conflict, fault, put, version_document

INVENTORIES = f'/resource_providers/{RP}/inventories'


@pytest.mark.parametrize(
    ('reply', 'kind'),
    [
        (conflict(), errors.ConcurrentUpdate),
        (fault(409, 'In use', 'placement.inventory.inuse'), errors.InventoryInUse),
        (fault(404, 'No such'), errors.NotFound),
    ],
)
def test_refusals_are_types_and_are_not_repeated(call, reply, kind):
    body = {'inventories': {}, 'resource_provider_generation': 6}
    with pytest.raises(kind):
        call(lambda client: inventory.set_all(client, RP, {}, 6), put(INVENTORIES, body, reply))


@pytest.mark.parametrize('version', ['1', '1.5', '1.39'])
def test_root_asks_for_the_versions_without_a_microversion(call, version):
    exchange = version_document('1.45', '1.2')
    assert call(root.show, exchange, version=version) == (Microversion(1, 2), Microversion(1, 45))
