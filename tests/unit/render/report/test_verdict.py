# SPDX-License-Identifier: Apache-2.0
"""The first sentences of a report."""

from dataclasses import replace

from msgspec import structs

from placementclient.insight.audit.cloud import Answers, Cloud
from placementclient.model.plans import Notice, UnplannedTree
from placementclient.model.services import ComputeService
from placementclient.model.snapshots import Snapshot
from placementclient.render.report import contents, verdict
from placementclient.render.report.contents import DrainPanel
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.render.report.reports import flat, plan, report


def message(made):
    changed = contents.compare_fills(made.plan) if made.plan else []
    return verdict.state_verdict(made, contents.list_class_fills(made.cloud), changed)


def of_plan(changed):
    """Return the sentences on a plan; those on its cloud are the last three."""
    return message(report(flat(), changed))[:-3]


def test_the_verdict_says_that_every_loss_fits():
    assert message(report(flat(), plan(flat()))) == [
        ('good', 'Nothing is lost: VGPU 4 used before and after'),
        ('good', 'No host is over its capacity'),
        ('good', 'The fullest class of the whole cloud: VGPU 50 % used'),
        ('good', 'The audit found nothing to fix'),
    ]


def test_a_cell_that_does_not_answer_is_named():
    made = report(flat())
    services = [ComputeService('gpu7', 'unknown')]
    made = replace(made, cloud=Cloud(made.cloud.snapshot, Answers(services=services)))
    assert message(made)[-1] == (
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


def test_a_renamed_class_is_not_lost():
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
        (
            'good',
            'Nothing is lost: CUSTOM_GPU 0 used before, 4 after, VGPU 4 used before, 0 after',
        ),
        ('attention', 'The capacity changes: CUSTOM_GPU 0 before, 8 after, VGPU 8 before, 0 after'),
    ]


def test_a_loss_is_told_with_the_hosts_that_are_left_out():
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


def test_hosts_over_their_capacity_and_scarce_classes():
    full = cloud(
        [provider('a', VCPU=1), provider('b', VCPU=1, MEMORY_MB=1024)],
        [consumer('s', a={'VCPU': 2}), consumer('t', b={'VCPU': 2, 'MEMORY_MB': 700})],
    )
    assert message(report(full)) == [
        ('bad', 'a, b are over capacity'),
        ('attention', 'Scarce in the whole cloud: VCPU 200 % used'),
        ('bad', 'The audit found 2 errors'),
    ]


def test_the_verdict_of_an_empty_cloud_and_of_a_drain_is_empty():
    panel = DrainPanel('depends', ['It depends on the order'], [], [], [], (0, 0))
    assert message(replace(report(Snapshot([], [])), drain=panel)) == [
        ('attention', 'It depends on the order'),
        ('good', 'The audit found nothing to fix'),
    ]
