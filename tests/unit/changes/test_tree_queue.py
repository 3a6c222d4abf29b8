# SPDX-License-Identifier: Apache-2.0
"""The trees of a run: which begin, and when none begins any more."""

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from placementclient.changes.tree_queue import TreeQueue, make_result
from placementclient.model.outcomes import TreeState


class Tree(NamedTuple):
    root_provider_uuid: str
    root_provider_name: str
    roots: Mapping[str, str] = MappingProxyType({})


CHANGES = [Tree(f'uuid{n}', f'host{n}') for n in range(5)]


def states(queue):
    return [tree.state for tree in queue.make_outcome().trees]


def test_as_many_trees_run_at_a_time_as_there_are_workers():
    barrier = threading.Barrier(2, timeout=10)
    under_way, most = [0], [0]
    lock = threading.Lock()

    def work(change):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        if change is not CHANGES[4]:
            barrier.wait()
        with lock:
            under_way[0] -= 1
        return make_result(change, TreeState.APPLIED)

    queue = TreeQueue(CHANGES)
    queue.run(work, 2)
    assert (states(queue), most) == ([TreeState.APPLIED] * 5, [2])


@pytest.mark.parametrize('backward', [False, True])
def test_no_tree_begins_after_the_allowed_failures(backward):
    queue = TreeQueue(CHANGES, max_failures=2, backward=backward)
    queue.run(lambda change: make_result(change, TreeState.FAILED), 1)
    expected = [TreeState.FAILED] * 2 + [TreeState.NOT_STARTED] * 3
    assert states(queue) == (expected[::-1] if backward else expected)


def test_trees_that_need_no_rollback_do_not_count_for_the_limit():
    def work(change):
        is_back = change in CHANGES[3:]
        return make_result(change, TreeState.ALREADY_BACK if is_back else TreeState.ROLLED_BACK)

    queue = TreeQueue(CHANGES, limit=2, backward=True)
    queue.run(work, 1)
    assert states(queue) == [
        TreeState.NOT_STARTED,
        *[TreeState.ROLLED_BACK] * 2,
        *[TreeState.ALREADY_BACK] * 2,
    ]


def test_an_interrupt_is_announced_while_trees_are_under_way():
    warnings: list[str] = []

    def report(result):
        if not warnings:
            raise KeyboardInterrupt

    go_on = threading.Event()

    def work(change):
        if change is not CHANGES[0]:
            assert go_on.wait(10)
        return make_result(change, TreeState.APPLIED)

    def warn(message):
        warnings.append(message)
        go_on.set()

    queue = TreeQueue(CHANGES, report=report, warn=warn)
    with queue.stop_on_error():
        queue.run(work, 2)
    assert warnings == ['Waiting for 1 tree under way; a second Ctrl-C does not wait']
    assert states(queue) == [TreeState.APPLIED] * 2 + [TreeState.NOT_STARTED] * 3
    assert queue.make_outcome().exit_status == 130
