# SPDX-License-Identifier: Apache-2.0
"""The way back, and the rehearsal, which goes it too."""

from dataclasses import replace

import pytest
from msgspec import structs

from placementclient.api import allocation, inventory
from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.model.inventories import Inventory
from placementclient.model.outcomes import TreeState
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.runs import engines, rehearse, reshape_carrier
from tests.functional import clouds
from tests.functional.clouds import uuid_of

ROOT = uuid_of('compute0')


def test_rollback_leaves_alone_what_another_plan_has_made(client, tmp_path):
    before = clouds.loaded(client, clouds.cloud(hosts=2, servers=2))
    ours, other = clouds.plan_of(before), clouds.plan_of(before, first=1)
    path = str(tmp_path / 'ours.journal')
    engines.apply(client, ours, path)
    applied = clouds.content(clouds.captured(client))
    outcome = engines.rollback(client, other, str(tmp_path / 'other.journal'))
    assert outcome.exit_status is ExitStatus.DIFFERS
    assert {tree.state for tree in outcome.trees} == {TreeState.LEFT_ALONE}
    assert 'does not say that this plan was applied' in outcome.trees[0].reason
    assert clouds.content(clouds.captured(client)) == applied
    # Its own journal may be lost.
    outcome = engines.rollback(client, ours, str(tmp_path / 'new.journal'))
    assert {tree.state for tree in outcome.trees} == {TreeState.ROLLED_BACK}
    assert clouds.content(clouds.captured(client)) == clouds.content(before)


def test_rollback_moves_new_consumers_and_forgets_those_that_left(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    engines.apply(client, plan, path)
    allocation.delete(client, uuid_of('server0.1'))
    newcomer = clouds.server('new', 'compute0', 0, kind=None)
    gpu = plan.changes[0].providers[1].uuid
    allocations = {**newcomer.allocations, gpu: {'VGPU': 2}}
    allocation.set(client, structs.replace(newcomer, allocations=allocations))
    assert engines.rollback(client, plan, path).exit_status is ExitStatus.DONE
    after = clouds.captured(client)
    assert list(after.providers) == [ROOT]
    assert uuid_of('server0.1') not in after.consumers
    new = after.consumers[uuid_of('new')]
    assert new.allocations == {ROOT: {'VCPU': 2, 'MEMORY_MB': 2048, 'VGPU': 2}}
    assert new.type is None


def test_rehearsal_applies_and_rolls_back_on_a_scratch_service(client):
    snapshot = clouds.loaded(client, clouds.cloud(hosts=2))
    elsewhere = structs.replace(
        snapshot.consumers[uuid_of('server0.1')],
        allocations={
            **snapshot.consumers[uuid_of('server0.1')].allocations,
            uuid_of('a pool of another cell'): {'DISK_GB': 20},
            uuid_of('shelf'): {'DISK_GB': 20},
        },
    )
    rack = Provider(uuid_of('rack'), 'rack', 0, None, uuid_of('rack'))
    shelf = Provider(uuid_of('shelf'), 'shelf', 0, rack.uuid, rack.uuid)
    wider = Snapshot(
        [
            *snapshot.providers.values(),
            ProviderState(rack),
            ProviderState(shelf, {'DISK_GB': Inventory(20)}),
        ],
        {**snapshot.consumers, elsewhere.uuid: elsewhere}.values(),
    )
    plan = clouds.plan_of(wider, moved_trait=True)
    client.session.auth.close()
    result = rehearse.rehearse(plan, wider, trees=['compute0'])
    assert result.exit_status is ExitStatus.DONE, result
    states = [tree.state for run in (result.applied, result.rolled_back) for tree in run.trees]
    assert states == [TreeState.APPLIED, TreeState.ROLLED_BACK]
    assert (list(result.differences), list(result.remains)) == ([], [])


def test_rehearsal_refuses_a_snapshot_of_another_cloud(client):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(hosts=2)), moved_trait=True)
    first = next(iter(plan.changes)).root_provider_uuid
    other = Snapshot([], [])
    part = clouds.captured(client).select_trees([first])
    with pytest.raises(errors.BadArgument, match=r'has none of the trees .*\(compute0, compute1\)'):
        rehearse.rehearse(plan, other)
    with pytest.raises(errors.Differs, match='no provider compute1, which the plan is about'):
        rehearse.rehearse(plan, part)


def test_a_rehearsal_tells_what_the_service_refuses(client):
    """A plan that its own check would not let pass."""
    snapshot = clouds.loaded(client, clouds.cloud(servers=1))
    plan = clouds.plan_of(snapshot, children=1)
    change = plan.changes[0].providers[1]
    child = change.content_after
    small = {'VGPU': structs.replace(child.inventories['VGPU'], min_unit=4)}
    after = plan.changes[0].after
    states = after.providers | {child.uuid: structs.replace(child, inventories=small)}
    refused = replace(plan.changes[0], after=Snapshot(states.values(), after.consumers.values()))
    client.session.auth.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reshape_carrier.invariants, 'check_plan', lambda plan: None)
        result = rehearse.rehearse(replace(plan, changes=(refused,)), snapshot)
    assert result.applied.trees[0].state is TreeState.FAILED
    assert 'violate inventory constraints' in result.applied.trees[0].reason
    assert list(result.remains) == []


def with_steps(client):
    """Load a host whose VGPU have a step_size that its server is against; return a plan for it."""
    clouds.load(client, clouds.cloud(servers=2))
    live = inventory.list(client, ROOT)
    fields = {name: item.as_fields() for name, item in live.value.items()}
    inventory.set_all(
        client, ROOT, fields | {'VGPU': fields['VGPU'] | {'step_size': 2}}, live.generation or 0
    )
    return clouds.plan_of(clouds.captured(client), stated=[('step_size', 1)])


def test_a_plan_without_a_way_back_says_so_before_and_at_the_rollback(client, path):
    plan = with_steps(client)
    (notice,) = (note for note in plan.changes[0].warnings if note.kind == 'no-way-back')
    assert notice.message == (
        'amounts of VGPU on compute0 are against its step_size: what moves off cannot come back in '
        'a rollback before these amounts change (2 consumers)'
    )
    assert engines.apply(client, plan, path).exit_status is ExitStatus.DONE
    after = clouds.content(clouds.captured(client))
    (tree,) = engines.rollback(client, plan, path).trees
    assert tree.state is TreeState.LEFT_ALONE
    assert tree.reason.startswith('there is no way back: consumer ')
    assert 'compute0 does not admit 1 VGPU by its step_size' in tree.reason
    assert 'plan a reshape that moves everything back' in tree.reason
    assert clouds.content(clouds.captured(client)) == after
