"""Which trees are said to be nearest."""

from placementclient.insight.candidates.explanation import explain
from placementclient.insight.candidates.matching import snapshot_index
from placementclient.model.requests import CandidateRequest, Filter
from tests.unit.insight.clouds import cloud, consumer, provider


def test_the_nearest_tree_has_what_is_said_to_be_enough():
    """Of many that lack the same, the one with most left comes first, whatever its name."""
    names = [f'host{number:02}' for number in range(60)]
    states = [provider(name, VGPU=8) for name in [*names, 'last']]
    consumers = [consumer(f's-{name}', **{name: {'VGPU': 8}}) for name in names]
    consumers.append(consumer('s-last', last={'VGPU': 5}))
    request = CandidateRequest(Filter({'VGPU': 4}))
    explained = explain(request, snapshot_index(cloud(states, consumers)), hosts=1)
    [enough] = explained.relaxations
    assert [amount for _, amount in enough.lowered] == [3]
    [host] = explained.nearest
    assert (host.name, [shortage.amount for shortage in host.shortages]) == ('last', [3])


def test_of_trees_that_lack_the_same_the_one_with_most_left_is_the_nearest():
    left = {'a': 10, 'b': 50, 'c': 80, 'd': 49, 'e': 20, 'f': 79}
    index = snapshot_index(
        cloud(
            [provider(name, VCPU=100) for name in left],
            [consumer(f's-{name}', **{name: {'VCPU': 100 - n}}) for name, n in left.items()],
        )
    )
    for hosts, nearest in ((6, 'cfbdea'), (3, 'cfb'), (1, 'c')):
        explained = explain(CandidateRequest(Filter({'VCPU': 95})), index, hosts=hosts)
        assert [host.name for host in explained.nearest] == list(nearest)
