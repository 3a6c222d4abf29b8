"""What callers of the API see and a command does not show: types of refusals, chosen versions.

The requests of each function, and its results, are in the dialogues of the commands.
"""

import pytest

from placementclient.api import inventory, root, usage
from placementclient.client import errors
from placementclient.client.microversion import Microversion
from placementclient.model.consumers import Usage
from tests.unit.dialogue import RP, conflict, fault, get, put, unacceptable, version_document

INVENTORIES = f'/resource_providers/{RP}/inventories'
FLAT = {'usages': {'VCPU': 3, 'DISK_GB': 10}}


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


def test_below_1_5_not_all_inventories_can_be_deleted_at_once(call):
    with pytest.raises(errors.UnsupportedVersion, match=r'^DELETE .* at least version 1.5$'):
        call(lambda client: inventory.delete_all(client, RP), version='1.4')


def test_usages_have_the_form_of_the_version_of_the_request(call):
    exchange = get('/usages?project_id=p', FLAT, version='1.37')
    version = Microversion(1, 37)
    read = call(lambda client: usage.of_project(client, 'p', version=version), exchange)
    assert read.value == [Usage(FLAT['usages'])]


def test_an_older_service_is_asked_for_usages_at_its_highest_version(call):
    read = call(
        lambda client: usage.of_project(client, 'p', version=Microversion(1, 37)),
        unacceptable(get('/usages?project_id=p', version='1.37')),
        version_document('1.36'),
        get('/usages?project_id=p', FLAT, version='1.36'),
        version='1',
    )
    assert read.value == [Usage(FLAT['usages'])]


@pytest.mark.parametrize('version', ['1', '1.5', '1.39'])
def test_the_range_of_the_service_is_asked_for_without_a_version(call, version):
    exchange = version_document('1.45', '1.2')
    assert call(root.show, exchange, version=version) == (Microversion(1, 2), Microversion(1, 45))
