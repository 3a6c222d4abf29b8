"""The events of a run, made with the counts of its trees."""

from __future__ import annotations

import datetime
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from placementclient.changes.records import events
from placementclient.changes.records.events import RunEvent, TreeCounts
from placementclient.model.outcomes import State, TreeResult
from placementclient.model.planned_trees import PlannedTree


class RunReporter:
    """Counts the trees of a run, and reports its events.

    :param report_event: gets each event; called by one thread at a time
    :ivar trees: how many trees the run has
    :ivar under_way: how many have begun and not ended
    """

    def __init__(self, report_event: Callable[[RunEvent], None]) -> None:
        self._report_event, self._lock = report_event, threading.Lock()
        self.trees, self.under_way = 0, 0
        self._ends: Counter[str] = Counter()

    def begun(self, tree: PlannedTree) -> None:
        """Report that a tree begins."""
        self.under_way += 1
        name, uuid = tree.root_provider_name, tree.root_provider_uuid
        self.say(events.TreeBegan, tree=name, tree_uuid=uuid)

    def ended(self, result: TreeResult) -> None:
        """Report that a tree has ended."""
        # The first look ends trees before any begins.
        self.under_way = max(0, self.under_way - 1)
        self._ends['done' if result.is_done else result.state] += 1
        self.say(
            events.TreeEnded,
            tree=result.root_provider_name,
            tree_uuid=result.root_provider_uuid,
            state=result.state,
            reason=result.reason,
        )

    def say(self, kind: Callable[..., RunEvent], **facts: Any) -> None:
        """Report an event.

        :param facts: the members that only this kind of event has
        """
        with self._lock:
            counts = TreeCounts(
                trees=self.trees,
                not_started=self.trees - self.under_way - self._ends.total(),
                under_way=self.under_way,
                done=self._ends['done'],
                left_alone=self._ends[State.LEFT_ALONE],
                failed=self._ends[State.FAILED],
            )
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')
            self._report_event(kind(version=events.VERSION, time=now, counts=counts, **facts))
