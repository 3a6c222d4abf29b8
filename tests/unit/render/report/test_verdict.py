# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report."""

from dataclasses import replace

from msgspec import structs

from placementclient.insight.audit import checks
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.model.findings import Finding
from placementclient.model.plans import Notice, UnplannedTree
from placementclient.model.servers import Server
from placementclient.model.services import ComputeService
from placementclient.model.snapshots import Snapshot
from placementclient.render import findings
from placementclient.render.report import contents, verdict
from placementclient.render.report.contents import DrainSection
from placementclient.render.report.records import Records
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.render.report.reports import flat, plan, report

#: How many checks need no list.
MADE = sum(not check.needs for check in checks.CHECKS)
NOTHING = f'Nothing found: {MADE} checks of 1 tree with 1 provider and 3 consumers'
CLOUD = [
    ('good', NOTHING),
    ('good', 'No host is over its capacity'),
    ('good', 'The fullest class of the whole cloud: VGPU 50 % used'),
]


def message(made):
    changes = contents.compare_fills(made.plan.changes) if made.plan else []
    return verdict.list_statements(made, contents.list_class_fills(made.cloud), changes)


def of_plan(changed):
    """Return the sentences on a plan, without those on its cloud."""
    return [sentence for sentence in message(report(flat(), changed)) if sentence not in CLOUD]


def test_the_verdict_says_that_every_loss_fits():
    assert message(report(flat(), plan(flat()))) == [
        ('good', 'Nothing is lost: VGPU 4 used before and after'),
        *CLOUD,
    ]


def test_the_verdict_names_the_hosts_of_a_cell_that_does_not_answer():
    made = report(flat())
    services = [ComputeService('gpu7', 'unknown')]
    made = replace(made, cloud=Cloud(made.cloud.snapshot, CloudLists(services=services)))
    assert message(made)[0] == (
        'attention',
        'A cell of Nova does not answer: 1 host (gpu7) and their servers are in no list, so audit '
        'cannot judge them',
    )


def test_the_verdict_on_a_plan_without_allocations_is_good():
    made = plan(flat())
    tree = replace(made.changes[0], reasons=(), before=Snapshot((), ()), after=Snapshot((), ()))
    assert of_plan(replace(made, changes=(tree,))) == [
        ('good', 'Nothing is lost: no allocation changes')
    ]


def test_the_verdict_counts_amounts_with_another_class_as_moved():
    made = plan(flat())
    [tree] = made.changes

    def named(values):
        return {'CUSTOM_GPU' if name == 'VGPU' else name: entry for name, entry in values.items()}

    consumers = [
        structs.replace(
            entry,
            allocations={uuid: named(allocated) for uuid, allocated in entry.allocations.items()},
        )
        for entry in tree.after.consumers.values()
    ]
    providers = [
        structs.replace(entry, inventories=named(entry.inventories))
        for entry in tree.after.providers.values()
    ]
    rows = [structs.replace(row, to_resource_class='CUSTOM_GPU') for row in tree.reasons]
    renamed = replace(tree, after=Snapshot(providers, consumers), reasons=tuple(rows))
    assert of_plan(replace(made, changes=(renamed,))) == [
        ('attention', 'The capacity changes: CUSTOM_GPU 0 before, 8 after, VGPU 8 before, 0 after'),
        (
            'good',
            'Nothing is lost: CUSTOM_GPU 0 used before, 4 after, VGPU 4 used before, 0 after',
        ),
    ]


def test_the_verdict_on_a_plan_with_a_loss_names_the_hosts_that_it_leaves_out():
    made = plan(flat())
    [tree] = made.changes
    [_, *others] = tree.after.consumers.values()
    lost = replace(tree, after=Snapshot(tree.after.providers.values(), others))
    left = UnplannedTree(tree.root_provider_uuid, 'other', (Notice('kind', 'a reason'),))
    assert of_plan(replace(made, changes=(lost,), left_out=(left,))) == [
        (
            'attention',
            'The used amounts change: VCPU 3 before, 2 after, VGPU 4 before, 2 after',
        ),
        ('attention', 'The plan leaves out other'),
    ]


def test_the_verdict_begins_with_the_worst_finding_as_the_audit_prints_it():
    full = cloud(
        [
            provider('a', traits=['OWNER_NOVA'], aggregates=['zone'], VCPU=1),
            provider('a_gpu', 'a', VGPU=30),
            provider('b', VCPU=1, MEMORY_MB=1024),
            provider('c', VCPU=1),
        ],
        [consumer(f's{host}', **{host: {'VCPU': 2}, 'a_gpu': {'VGPU': 7}}) for host in 'abc'],
    )
    made = report(full)
    table = findings.list_findings(made.audit.findings, made.invocation)
    first_lines = list(findings.format_findings(*table, 200, 'openstack'))[:2]
    sentence = 'More of a class is used than its capacity, which is (total - reserved) * ratio.'
    assert first_lines == ['error over-capacity a', f'  {sentence}']
    assert message(made) == [
        ('bad', f'a, b and 1 more: {sentence.removesuffix(".")}'),
        ('bad', 'Audit: 3 errors, 3 warnings, 1 info'),
        ('attention', 'Scarce in the whole cloud: VCPU 200 %, VGPU 70 % used'),
    ]


def test_a_server_without_allocations_has_its_name_in_audit_and_report():
    servers = {'u10': Server('u10', name='web10')}
    made = report(flat())
    made = replace(
        made,
        cloud=Cloud(made.cloud.snapshot, CloudLists(servers=servers)),
        audit=made.audit._replace(findings=[Finding('without-allocations', 'u10', reason='r')]),
        invocation=made.invocation._replace(servers=servers),
    )
    assert message(made)[0][1].startswith('u10 (web10): A server ')
    [row] = findings.list_findings(made.audit.findings, made.invocation)[1]
    assert (row[2].human_readable(), row[2].machine_readable()) == ('u10 (web10)', 'u10')
    # The page puts the name of a consumer before its UUID.
    assert Records(made).make_document()['consumers'][-1][::3] == ['u10', 'web10']


def test_the_verdict_on_a_cloud_with_mere_information_is_good():
    snapshot = cloud([provider('host', aggregates=['zone'], VCPU=1)])
    assert message(report(snapshot))[:2] == [
        ('good', 'zone: An aggregate has a single member'),
        ('good', 'Audit: 1 info'),
    ]


def test_the_verdict_begins_with_the_drain_if_the_audit_found_nothing():
    panel = DrainSection('depends', ['It depends on the order'], [], [], [], 0, 0)
    assert message(replace(report(Snapshot([], [])), drain=panel)) == [
        ('attention', 'It depends on the order'),
        ('good', NOTHING.replace('1 tree with 1 provider and 3', '0 trees with 0 providers and 0')),
    ]
