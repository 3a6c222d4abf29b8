# SPDX-License-Identifier: Apache-2.0
"""The plan of a drain on the page: the hosts before and after, and the waves."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import describe_fault
from placementclient.basis.wording import join_names
from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.snapshots import Snapshot
from placementclient.placing.topology import Topology
from placementclient.render.report.contents import (
    DrainSection,
    Fill,
    FillChange,
    Wave,
    measure_provider,
    sum_fills,
)

#: How many hosts and waves the page has, and how many names of hosts a wave.
MOST, _NAMED = 500, 8


class _DrainedMove(msgspec.Struct, rename={'source': 'from', 'target': 'to'}):
    """A move in the file of a drain's plan; servers that only leave have no target.

    :param server: the UUID
    :param source: the name of the host
    :param allocations: after the move, by UUID of the provider and class
    """

    wave: int
    server: str
    source: str
    target: str
    allocations: dict[str, dict[str, int]]


class _DrainPlanFile(msgspec.Struct, rename={'messages': 'said'}):
    """The fields of the file of a drain's plan that the page shows.

    :param messages: sentences with the answer
    :param hosts: the names of the hosts to empty
    """

    format: Literal['placementclient/drain-plan']
    version: Literal[1]
    verdict: Literal['yes', 'no', 'depends', 'undetermined']
    messages: list[str]
    hosts: list[str]
    moves: list[_DrainedMove]


def make_drain_section(document: object, path: str, snapshot: Snapshot) -> DrainSection:
    """Return the section of the report page about a drain, from a file of ``drain plan -o``.

    :param document: the content of the file
    :param path: of the file, for the error
    :raises errors.BadFile: if it is no such file, or about another cloud
    """
    try:
        plan = msgspec.convert(document, _DrainPlanFile)
    except msgspec.ValidationError as reason:
        raise errors.BadFile(
            path, f'not a plan of a drain: {describe_fault(str(reason), "plan")}'
        ) from None
    names = {*plan.hosts, *(move.source for move in plan.moves)}
    names |= {move.target for move in plan.moves if move.target}
    if missing := sorted(name for name in names if snapshot.find_by_name(name) is None):
        raise errors.BadFile(path, f'is about another cloud: there is no {join_names(missing, 3)}')
    hosts = sorted(names, key=lambda name: (name not in plan.hosts, name))
    waves: dict[int, list[_DrainedMove]] = {}
    for move in plan.moves:
        waves.setdefault(move.wave, []).append(move)
    return DrainSection(
        plan.verdict,
        plan.messages,
        plan.hosts,
        list(_compare_host_fills(snapshot, plan.moves, hosts[:MOST])),
        [_make_wave(number, wave) for number, wave in sorted(waves.items())[:MOST]],
        max(0, len(hosts) - MOST),
        max(0, len(waves) - MOST),
    )


def _make_wave(number: int, moves: list[_DrainedMove]) -> Wave:
    sources = sorted({move.source for move in moves})
    targets = sorted({move.target for move in moves if move.target})
    return Wave(number, len(moves), join_names(sources, _NAMED), join_names(targets, _NAMED))


def _compare_host_fills(
    snapshot: Snapshot, moves: list[_DrainedMove], names: list[str]
) -> Iterator[FillChange]:
    """Yield the usage of each class on each host before and after all moves.

    :param names: of the hosts
    """
    last = {move.server: move.allocations for move in moves}
    changes = sum_gains(
        (snapshot.consumers.get(server, Consumer(server)).allocations, after)
        for server, after in last.items()
    )
    trees = Topology(snapshot).trees
    for host in names:
        root = snapshot.find_by_name(host)
        assert root is not None
        states = trees.get(root.uuid, [root])
        title = host
        for name, before in sorted(sum_fills(map(measure_provider, states)).items()):
            gain = sum(changes[state.uuid][name] for state in states)
            yield FillChange(name, before, before + Fill(gain), title)
            title = ''
