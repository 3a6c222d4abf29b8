"""Trees that share targets, against trying every assignment."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient import errors
from placementclient.planner import planner, shared_targets
from placementclient.planner.plan.plan import Label
from placementclient.planner.spec import specification
from tests.unit.planner.clouds import cloud, uuid_of

POOLS = ('s0', 's1')


class Case:
    """Hosts whose consumers go to pools, or stay.

    :param moved: of each host, how much goes to each pool
    :param held: of each host, what its consumers hold
    :param left: of each host, how much stays
    :param rooms: of each pool, how much it has; it grows with what is moved in, unless ``fixed``
    """

    def __init__(
        self,
        moved: list[tuple[int, int]],
        held: list[list[int]],
        left: list[int],
        rooms: tuple[int, int],
        fixed: bool,
    ) -> None:
        self.moved, self.held, self.left, self.rooms, self.fixed = moved, held, left, rooms, fixed
        self.consumers = {
            f'c{host}{index}': (host, amount)
            for host, amounts in enumerate(held)
            for index, amount in enumerate(amounts)
        }

    def cloud(self) -> Any:
        hosts: dict[str, Any] = {
            f'h{host}': {'inventories': {'DISK_GB': {'total': sum(moved) + self.left[host]}}}
            for host, moved in enumerate(self.moved)
        }
        pools = {
            name: {
                'traits': ['MISC_SHARES_VIA_AGGREGATE'],
                'inventories': {'DISK_GB': {'total': room}},
            }
            for name, room in zip(POOLS, self.rooms, strict=True)
        }
        consumers = {
            name: {f'h{host}': {'DISK_GB': amount}}
            for name, (host, amount) in self.consumers.items()
        }
        return cloud(hosts | pools, consumers)

    def spec(self) -> specification.Spec:
        fixed = [
            {'name': name, 'inventories': {'DISK_GB': {'total': room, 'max_unit': 9}}}
            for name, room in zip(POOLS, self.rooms, strict=True)
        ]
        moves = [
            {
                'from_resource_provider': f'h{host}',
                'to_resource_provider': pool,
                'moved_resources': {'DISK_GB': amount},
            }
            for host, moved in enumerate(self.moved)
            for pool, amount in zip(POOLS, moved, strict=True)
            if amount
        ]
        document = {
            'trees': {'name': ['h*']},
            'moves': moves,
            'providers': [
                entry
                for entry in fixed
                if self.fixed
                and any(move['to_resource_provider'] == entry['name'] for move in moves)
            ],
        }
        return specification.from_document(document, 'spec')

    def solutions(self) -> list[dict[str, str]]:
        ways = [
            [pool for pool, amount in zip(POOLS, self.moved[host], strict=True) if amount]
            + [f'h{host}'] * bool(self.left[host])
            for host, _ in self.consumers.values()
        ]
        chosen = (
            dict(zip(self.consumers, places, strict=True)) for places in itertools.product(*ways)
        )
        return [places for places in chosen if self.holds(places)]

    def holds(self, places: dict[str, str]) -> bool:
        rooms, used = dict(zip(POOLS, self.rooms, strict=True)), dict.fromkeys(POOLS, 0)
        for host, moved in enumerate(self.moved):
            stays = 0
            for name, place in places.items():
                if self.consumers[name][0] == host and place in used:
                    used[place] += self.consumers[name][1]
                elif self.consumers[name][0] == host:
                    stays += self.consumers[name][1]
            for pool, amount in zip(POOLS, moved, strict=True):
                rooms[pool] += 0 if self.fixed else amount
                if used[pool] > rooms[pool]:
                    return False
            if stays > self.left[host]:
                return False
        return True


@st.composite
def cases(draw: st.DrawFn) -> Case:
    hosts = draw(st.integers(1, 3))
    moved, held, left = [], [], []
    for _ in range(hosts):
        first, second = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        amounts = draw(st.lists(st.integers(1, 2), max_size=2))
        stays = draw(st.sampled_from([0, 0, 1]))
        moved.append((first or int(not second), second))
        left.append(max(stays, sum(amounts) - sum(moved[-1]) if draw(st.booleans()) else stays))
        held.append(amounts)
    rooms = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return Case(moved, held, left, rooms, draw(st.booleans()))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(cases())
def test_brute_force_says_the_same(case: Case) -> None:
    every = case.solutions()
    overcommitted = any(
        sum(held) > sum(moved) + left
        for held, moved, left in zip(case.held, case.moved, case.left, strict=True)
    )
    try:
        plan = planner.make(case.cloud(), case.spec(), allow_inferred=True)
    except errors.Infeasible:
        assert not every or overcommitted
        return
    if overcommitted:
        return  # what stays over-committed may stay so
    names = {uuid_of(name): name for name in case.consumers}
    rows = [row for tree in plan.trees for row in tree.rows]
    places = {names[row.consumer_uuid]: row.to_provider for row in rows}
    assert places in every
    for row in rows:
        name = names[row.consumer_uuid]
        is_forced = len({solution[name] for solution in every}) == 1
        assert (row.label == Label.FORCED) == is_forced


def test_groups() -> None:
    shared = {'a': {'s'}, 'b': {'t'}, 'c': {'u'}, 'd': {'s', 'u'}, 'e': {'t'}}
    found = shared_targets.groups({root: frozenset(own) for root, own in shared.items()})
    assert list(found) == [['a', 'c', 'd'], ['b', 'e']]
