# SPDX-License-Identifier: Apache-2.0
"""Each list of another service is read where it is expected, and refused everywhere else."""

from functools import partial

import pytest
from msgspec import UNSET

from placementclient.basis import errors
from placementclient.nova import host_records, records
from tests.unit.nova.answers import ANSWERS

READERS = {
    reader.__name__: reader
    for reader in (
        records.servers, records.migrations, records.flavors, records.aggregates,
        records.server_groups, records.projects, records.quotas, host_records.compute_services,
        host_records.hypervisors, host_records.registered_limits, host_records.nodes,
        host_records.ports, host_records.requested_ports, host_records.agents,
        host_records.segment_addresses, host_records.segments, host_records.device_profiles,
    )
} | {'server_details': partial(records.server_details, flavors={})}  # fmt: skip


@pytest.mark.parametrize('is_bare', [True, False])
@pytest.mark.parametrize('reader', READERS)
@pytest.mark.parametrize('answer', ANSWERS)
def test_a_list_is_read_by_its_own_reader_alone(answer, reader, is_bare):
    key, record, readers = ANSWERS[answer]
    document = [record] if is_bare else {key: [record]}
    if reader in readers.split(', '):
        READERS[reader](document, 'x.json')
        return
    with pytest.raises(errors.BadFile, match=r'^x\.json: '):
        READERS[reader](document, 'x.json')


def test_a_server_of_the_sdk_has_no_more_than_the_service_said():
    _, record, _ = ANSWERS['servers of the SDK']
    [server] = records.servers([record], 'x.json').values()
    # The image is empty, so that it boots from a volume; no flavor has extra specs.
    assert (server.task, server.image, server.flavor, server.host) == (None, None, None, 'h1')
    [hidden] = records.servers([record | {'compute_host': None}], 'x.json').values()
    assert hidden.host is UNSET


def test_servers_of_a_silent_cell_have_no_details():
    document = [ANSWERS[name][1] | {'id': name} for name in
                ('server details', 'servers of a silent cell')]  # fmt: skip
    assert len(records.servers(document, 'x.json')) == 2
    [server] = records.server_details(document, 'x.json', {})
    assert server.uuid == 'server details'


def test_a_negative_amount_that_nova_uses_is_read():
    _, record, _ = ANSWERS['hypervisor details']
    [hypervisor] = host_records.hypervisors([record], 'x.json')
    assert hypervisor.used['MEMORY_MB'] == -1
