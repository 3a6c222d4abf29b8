# SPDX-License-Identifier: Apache-2.0
"""Each list of another service is read where it is expected, and refused everywhere else."""

from functools import partial

import pytest
from msgspec import UNSET

from placementclient.basis import errors
from placementclient.nova import host_records, records
from tests.unit.nova.answers import ANSWERS

READERS = {
    'servers': records.decode_servers,
    'server_details': partial(records.decode_server_details, flavors={}),
    'migrations': records.decode_migrations,
    'flavors': records.decode_flavors,
    'aggregates': records.decode_aggregates,
    'server_groups': records.decode_server_groups,
    'projects': records.decode_projects,
    'quotas': records.decode_quotas,
    'compute_services': host_records.decode_compute_services,
    'hypervisors': host_records.decode_hypervisors,
    'registered_limits': host_records.decode_registered_limits,
    'nodes': host_records.decode_baremetal_nodes,
    'ports': host_records.decode_bound_ports,
    'requested_ports': host_records.decode_server_ports,
    'agents': host_records.decode_network_agents,
    'segment_addresses': host_records.count_segment_addresses,
    'segments': host_records.decode_segments,
    'device_profiles': host_records.decode_device_profiles,
}


@pytest.mark.parametrize('is_bare', [True, False])
@pytest.mark.parametrize('reader', READERS)
@pytest.mark.parametrize('answer', ANSWERS)
def test_a_list_of_another_kind_is_refused(answer, reader, is_bare):
    key, record, readers = ANSWERS[answer]
    document = [record] if is_bare else {key: [record]}
    if reader in readers.split(', '):
        READERS[reader](document, 'x.json')
        return
    with pytest.raises(errors.BadFile, match=r'^x\.json: '):
        READERS[reader](document, 'x.json')


def test_a_server_of_the_sdk_has_only_the_fields_that_nova_sent():
    _, record, _ = ANSWERS['servers of the SDK']
    [server] = records.decode_servers([record], 'x.json').values()
    # The image is empty, so that it boots from a volume; no flavor has extra specs.
    assert (server.task, server.image, server.flavor, server.host) == (None, None, None, 'h1')
    [hidden] = records.decode_servers([record | {'compute_host': None}], 'x.json').values()
    assert hidden.host is UNSET


def test_servers_of_a_silent_cell_have_no_details():
    document = [ANSWERS[name][1] | {'id': name} for name in
                ('server details', 'servers of a silent cell')]  # fmt: skip
    assert len(records.decode_servers(document, 'x.json')) == 2
    [server] = records.decode_server_details(document, 'x.json', {})
    assert server.uuid == 'server details'


def test_a_negative_amount_that_nova_uses_is_read():
    _, record, _ = ANSWERS['hypervisor details']
    [hypervisor] = host_records.decode_hypervisors([record], 'x.json')
    assert hypervisor.used['MEMORY_MB'] == -1
