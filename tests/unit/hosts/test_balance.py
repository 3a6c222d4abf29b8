# SPDX-License-Identifier: Apache-2.0
from placementclient.hosts import assignments
from placementclient.hosts.balance import ExplainedScope, add_unexplained_rows
from placementclient.hosts.libvirt import Domain
from placementclient.model.assignments import AssignmentRow
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import Snapshot
from placementclient.planner.specification import assignments as rows_of_files
from tests.unit.hosts.libvirt_output import GPU0, MDEVS, SERVERS
from tests.unit.hosts.test_assignments import facts, snapshot


def settled(results, cloud, scope):
    rows, contradictions, lines = add_unexplained_rows(results, cloud, scope)
    reasons = {
        contradiction.facts['consumer']: contradiction.reason for contradiction in contradictions
    }
    return rows, reasons, lines


def test_balance_counts_each_class_and_writes_unexplained_rows():
    certain = Domain(SERVERS[0], 's0.xml', (MDEVS[0],))
    lost = Domain(SERVERS[1], 's1.xml', (MDEVS[1],))
    cloud = snapshot(s0={'VGPU': 1}, s1={'VGPU': 1}, s2={'VGPU': 1}, s3={'VCPU': 1})
    results = assignments.assign_mediated_devices([facts(certain, lost, m0=GPU0)], cloud)
    rows, reasons, lines = settled(results, cloud, ExplainedScope({'VGPU'}, {'gpu1'}))
    assert lines == ['VGPU: 3 consumers, 1 explained, 2 unexplained']
    assert reasons == {
        SERVERS[1]: f'is attached to server {SERVERS[1]}, and nothing says where it is',
        SERVERS[2]: 'holds 1 VGPU on gpu1, and no server there has its UUID: it may be a '
        'migration, or deleted',
    }
    read = rows_of_files.parse_assignments(assignments.format_assignments(rows), 'map.csv')
    assert [(row.consumer_uuid, row.is_unexplained) for row in read] == [
        (SERVERS[0], False),
        (SERVERS[1], True),
        (SERVERS[2], True),
    ]


def test_balance_names_hosts_without_facts_among_the_chosen_ones():
    cloud = snapshot(s0={'VCPU': 4, 'MEMORY_MB': 512})
    elsewhere = Consumer(SERVERS[1], {'elsewhere': {'VCPU': 4}})
    cloud = Snapshot(cloud.providers.values(), [*cloud.consumers.values(), elsewhere])
    scope = ExplainedScope(assignments.CELL_CLASSES, {'gpu2'})
    rows, reasons, lines = settled([], cloud, scope)
    assert [row.resource_class for row in rows] == ['MEMORY_MB', 'VCPU']
    assert reasons == {
        SERVERS[0]: 'holds 512 MEMORY_MB, 4 VCPU on gpu1, and there are no facts of gpu1'
    }
    assert lines == [
        'MEMORY_MB: 1 consumer, 0 explained, 1 unexplained',
        'PCPU: 0 consumers, 0 explained, 0 unexplained',
        'VCPU: 1 consumer, 0 explained, 1 unexplained',
    ]


def test_a_row_that_leaves_a_class_as_it_is_explains_it_alone_and_is_not_written():
    row = AssignmentRow(SERVERS[0], 'VCPU', None, 'gpu1', 'shared', to_resource_class='VCPU')
    cloud = snapshot(s0={'VCPU': 4, 'MEMORY_MB': 512})
    assert settled([row], cloud, ExplainedScope({'VCPU'})) == (
        [], {}, ['VCPU: 1 consumer, 1 explained, 0 unexplained']
    )  # fmt: skip
    rows, reasons, lines = settled([row], cloud, ExplainedScope({'MEMORY_MB', 'VCPU'}))
    assert ([row.resource_class for row in rows], [*reasons]) == (['MEMORY_MB'], [SERVERS[0]])
    assert lines == [
        'MEMORY_MB: 1 consumer, 0 explained, 1 unexplained',
        'VCPU: 1 consumer, 1 explained, 0 unexplained',
    ]
