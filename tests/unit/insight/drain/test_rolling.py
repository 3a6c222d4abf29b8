# SPDX-License-Identifier: Apache-2.0
"""Hosts that are emptied one after the other, and the loss of hosts."""

from collections import Counter

import pytest
from msgspec.structs import replace

from placementclient.insight.drain import host_failure
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.nova_facts import NovaFacts
from placementclient.insight.drain.plan import DrainVerdict, decide_drain
from placementclient.insight.drain.requests import find_shared_amounts
from placementclient.insight.drain.rolling import (
    can_never_be_empty,
    plan_rolling,
    split_into_batches,
)
from placementclient.model.findings import Severity
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.requests import parse_request
from tests.unit.insight.clouds import cloud, consumer, host, pool
from tests.unit.insight.drain import oracle


def hosts(*sizes, aggregates=None):
    return [
        host(f'h{number}', aggregates=names, VCPU=size)
        for number, (size, names) in enumerate(zip(sizes, aggregates or [()] * 9, strict=False))
    ]


def servers(**by_host):
    return [
        consumer(f'{host}-{number}', **{host: {'VCPU': amount}})
        for host, amounts in by_host.items()
        for number, amount in enumerate(amounts)
    ]


def test_each_host_is_empty_once_and_back_before_the_next():
    snapshot = cloud(hosts(8, 8, 8), servers(h0=[4, 2], h1=[5], h2=[4]))
    rolling = plan_rolling(DrainCloud(snapshot), [('h0',), ('h1',), ('h2',)])
    assert (rolling.verdict, rolling.order) == (DrainVerdict.YES, [('h0',), ('h1',), ('h2',)])
    assert list(oracle.refusals(snapshot, rolling.moves)) == []
    on = {uuid: next(iter(server.allocations)) for uuid, server in snapshot.consumers.items()}
    emptied = []
    for move in rolling.moves:
        on[move.server] = move.target
        emptied += [host for host in ('h0', 'h1', 'h2') if host not in (*on.values(), *emptied)]
    assert emptied == ['h0', 'h1', 'h2']


def test_a_batch_that_is_blocked_comes_again():
    # Only the large host can take the others, and only when it is empty.
    snapshot = cloud(hosts(8, 8, 9), servers(h0=[8], h2=[1, 1]))
    rolling = plan_rolling(DrainCloud(snapshot), [('h0',), ('h1',), ('h2',)])
    assert rolling.verdict is DrainVerdict.YES
    assert sorted(rolling.order) == [('h0',), ('h1',), ('h2',)]


def test_a_batch_that_is_blocked_for_ever_is_proved():
    snapshot = cloud(hosts(8, 7, 7), servers(h0=[8], h1=[1]))
    rolling = plan_rolling(DrainCloud(snapshot), [('h0',), ('h1',), ('h2',)])
    assert rolling.verdict is DrainVerdict.NO
    assert rolling.order == [('h1',), ('h2',)]
    [blocked] = rolling.blocked
    assert (blocked.roots, blocked.severity) == (('h0',), Severity.ERROR)
    assert blocked.facts == {'servers': ['h0-0']}


def test_a_batch_may_be_blocked_without_a_proof():
    # 2+2 and 3+1 would free a host; moving one server at a time to one new place does not.
    snapshot = cloud(hosts(4, 4, 4), servers(h0=[3, 1], h1=[2], h2=[2]))
    scene = DrainCloud(snapshot)
    assert not can_never_be_empty(scene, ['h0'])
    assert plan_rolling(scene, [('h0',)]).verdict is DrainVerdict.UNDETERMINED


def test_a_storage_over_its_capacity_is_no_proof_for_a_host_that_does_not_use_it():
    states = [*hosts(8, 8, aggregates=(['rack'], ['rack'])), pool('nfs', 'rack', DISK_GB=10)]
    allocated = [consumer('s', h1={'VCPU': 1}, nfs={'DISK_GB': 15}), *servers(h0=[1])]
    scene = DrainCloud(cloud(states, allocated))
    assert not can_never_be_empty(scene, ['h0'])
    assert decide_drain(scene, ['h0']).verdict is DrainVerdict.YES


def test_batches_are_the_smallest_aggregates():
    racks = ['zone', 'rack1'], ['zone', 'rack2'], ['zone', 'rack1'], [], ['zone']
    scene = DrainCloud(cloud(hosts(1, 1, 1, 1, 1, aggregates=racks)))
    assert split_into_batches(scene, scene.hosts, None) == [('h0', 'h2'), ('h1',), ('h3',), ('h4',)]
    assert split_into_batches(scene, scene.hosts, 2) == [('h0', 'h1'), ('h2', 'h3'), ('h4',)]


def test_a_server_that_comes_to_another_storage_frees_the_first():
    states = hosts(4, 4, aggregates=(['one'], ['two']))
    states += [pool('nfs1', 'one', DISK_GB=9), pool('nfs2', 'two', DISK_GB=9)]
    server = consumer('s', h1={'VCPU': 2}, nfs2={'DISK_GB': 9})
    snapshot = cloud(states, [server])
    request = CandidateRequest(Filter({'VCPU': 2, 'DISK_GB': 9}))
    pools = find_shared_amounts(snapshot, server.allocations)
    nova_facts = NovaFacts({'s': parse_request(request)._replace(shared=pools)})
    rolling = plan_rolling(DrainCloud(snapshot, nova_facts), [('h1',), ('h0',)])
    away = {'h0': {'VCPU': 2}, 'nfs1': {'DISK_GB': 9}}
    assert [move.after for move in rolling.moves] == [away, server.allocations]
    assert list(oracle.refusals(snapshot, rolling.moves)) == []


def _may_be_empty(snapshot, emptied):
    """Return whether all servers have a place elsewhere, moved however often, by sums alone."""
    room: Counter[tuple[str, str]] = Counter()
    roots = [root.uuid for root in snapshot.roots() if 'COMPUTE_NODE' in root.traits]
    targets = [uuid for uuid in roots if uuid not in emptied]
    for target in targets:
        for state in snapshot.tree(target):
            for name, inventory in state.inventories.items():
                room[target, name] += max(inventory.capacity, state.used(name))
    servers = []
    for server in snapshot.consumers.values():
        local = [resources for uuid, resources in server.allocations.items() if uuid != 'nfs']
        servers.append(sum(map(Counter, local), Counter[str]()))

    def fits(amounts, target):
        return all(room[target, name] >= amount for name, amount in amounts.items())

    def take(amounts, target, sign):
        room.update({(target, name): -sign * amount for name, amount in amounts.items()})

    options = [targets] * len(servers)
    return oracle.most_placed(servers, options, fits, take) == len(servers)


def _have_a_place_alone(snapshot, emptied):
    """Return whether the servers of some hosts have a place on others that are empty."""
    left = [
        server
        for server in snapshot.consumers.values()
        if any(uuid.partition('_')[0] in emptied for uuid in server.allocations)
    ]
    alone = cloud([replace(state, usages={}) for state in snapshot.providers.values()], left)
    return oracle.lax(alone, emptied) == len(left)


@pytest.mark.slow
@pytest.mark.parametrize('first', range(0, 400, 50))
def test_rolling_drains_of_small_clouds_agree_with_the_oracle(first):
    for seed in range(first, first + 50):
        snapshot, emptied = oracle.case(seed)
        scene = DrainCloud(snapshot)
        if can_never_be_empty(scene, emptied):
            assert decide_drain(scene, emptied).verdict is not DrainVerdict.YES
            if len(snapshot.consumers) < 9:
                proofs = _may_be_empty(snapshot, emptied), _have_a_place_alone(snapshot, emptied)
                assert proofs != (True, True)
        rolling = plan_rolling(scene, split_into_batches(scene, scene.hosts, 1))
        assert list(oracle.refusals(snapshot, rolling.moves)) == []
        for blocked in rolling.blocked:
            if blocked.severity is Severity.ERROR:
                assert decide_drain(scene, blocked.roots).verdict is not DrainVerdict.YES


@pytest.mark.slow
def test_each_host_failure_has_the_verdict_of_a_drain():
    for seed in range(100):
        snapshot, _ = oracle.case(seed)
        scene = DrainCloud(snapshot)
        losses = host_failure.check_host_failures(scene, scene.hosts, 1)
        alone = {uuid: decide_drain(scene, [uuid]) for uuid in scene.hosts}
        verdicts = {failure.hosts[0]: failure.verdict for failure in losses.failures}
        for uuid, decision in alone.items():
            if not decision.unsettled:
                assert verdicts.get(uuid, DrainVerdict.YES) is decision.verdict


def test_too_many_host_failures_are_undetermined(monkeypatch):
    monkeypatch.setattr(host_failure, 'MOST', 3)
    snapshot = cloud(hosts(8, 8, 8, 8, 8), servers(h0=[2], h1=[1]))
    scene = DrainCloud(snapshot)
    losses = host_failure.check_host_failures(scene, scene.hosts, 2)
    assert (losses.verdict, losses.checked, losses.possible) == (DrainVerdict.UNDETERMINED, 3, 10)
    assert losses.worst.hosts == ('h0', 'h1')


def test_server_groups_prove_nothing_about_hosts_that_may_be_emptied():
    snapshot = cloud(hosts(4, 4, 4), servers(h0=[1], h1=[1], h2=[1]))
    request = CandidateRequest(Filter({'VCPU': 1}))
    names = list(snapshot.consumers)
    nova_facts = NovaFacts(
        {name: parse_request(request)._replace(limits=('g',)) for name in names[:2]},
        limits={'g': 1},
        groups=dict.fromkeys(names[:2], ('g',)),
    )
    scene = DrainCloud(snapshot, nova_facts)
    assert not can_never_be_empty(scene, ['h0'])
    rolling = plan_rolling(scene, [('h0',), ('h1',), ('h2',)])
    assert rolling.verdict is DrainVerdict.YES
    where = {uuid: set(server.allocations) for uuid, server in snapshot.consumers.items()}
    for move in rolling.moves:
        where[move.server] = set(move.after)
        assert where[names[0]] != where[names[1]]
