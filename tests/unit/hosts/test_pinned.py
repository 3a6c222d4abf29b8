import pytest

from placementclient.client import errors
from placementclient.hosts import pinned
from placementclient.model.servers import ServerMigration
from tests.unit.hosts.libvirt_output import SERVERS
from tests.unit.hosts.test_assignments import snapshot


def server(number, *, flavor='', image=''):
    specs = {'hw:cpu_policy': flavor} if flavor else {}
    properties = {'hw_cpu_policy': image} if image else {}
    return {
        'id': SERVERS[number].upper(),
        'flavor': {'vcpus': 4, 'extra_specs': specs},
        'image': {'id': '1', 'properties': properties},
    }


def test_flavor_image_and_migration():
    document = {'servers': [server(0, flavor='dedicated'), server(1, image='dedicated'), server(2)]}
    migration = ServerMigration(SERVERS[3], SERVERS[0], ('gpu1',), 'finished', 'resize')
    held = {'VCPU': 4}
    outcome = pinned.of_servers(
        document, 's.json', snapshot(s0=held, s1=held, s2=held, s3=held), [migration]
    )
    assert [(row.consumer_uuid, row.evidence) for row in outcome.rows] == [
        (SERVERS[0], 'hw:cpu_policy=dedicated'),
        (SERVERS[3], f'hw:cpu_policy=dedicated, migration of server {SERVERS[0]}'),
        (SERVERS[1], 'hw_cpu_policy=dedicated'),
    ]
    assert {
        (row.to_provider, row.resource_class, row.to_resource_class) for row in outcome.rows
    } == {('gpu1', 'VCPU', 'PCPU')}
    assert outcome.misfits == []


def test_mixed_is_refused_by_name():
    outcome = pinned.of_servers([server(0, flavor='mixed')], 's.json', snapshot(s0={'VCPU': 4}))
    (misfit,) = outcome.misfits
    assert misfit.subject == SERVERS[0]
    assert '"mixed"' in misfit.reason


@pytest.mark.parametrize(
    'document', [{}, {'servers': 1}, [1], [{'id': ''}], [{'id': SERVERS[0], 'flavor': {'id': 1}}]]
)
def test_what_is_no_list_of_servers(document):
    with pytest.raises(errors.BadFile) as caught:
        pinned.of_servers(document, 's.json', snapshot())
    assert str(caught.value).startswith('s.json: ')


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'flavor': {'extra_specs': {'hw:cpu_policy': ['dedicated']}}}, 'servers[0].flavor.extra'),
        ({'image': {'properties': {'hw_cpu_policy': ['dedicated']}}}, 'servers[0].image.prop'),
        ({'id': [SERVERS[0]]}, 'servers[0].id'),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_told(changes, said):
    with pytest.raises(errors.BadFile) as caught:
        pinned.of_servers([server(0) | changes], 's.json', snapshot())
    assert str(caught.value).startswith(f's.json: {said}')


def test_a_server_that_is_there_twice_is_an_error():
    twice = [server(0, flavor='dedicated'), server(0)]
    with pytest.raises(errors.BadFile, match=r'servers\[1\]: .* is there twice'):
        pinned.of_servers(twice, 's.json', snapshot(s0={'VCPU': 4}))
