# SPDX-License-Identifier: Apache-2.0
"""A plan of changes that a command applies at once, without files."""

import functools
from collections import defaultdict
from dataclasses import replace

from placementclient.basis.errors import Interrupted
from placementclient.changes.carrier import Carrier, Precheck
from placementclient.changes.merge import merge
from placementclient.changes.obstacles import LeftAlone
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import list_change_rows
from placementclient.changes.tree_attempts import TreeAttempt
from placementclient.changes.tree_queue import Reporter, TreeQueue
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import ChangeRow, Outcome, TreeResult
from placementclient.model.plans import Plan
from placementclient.model.snapshots import Snapshot


def apply_at_once(
    client: Client,
    plan: Plan,
    precheck: Precheck = lambda change: change,
    report: Reporter = lambda result: None,
) -> Outcome:
    """Apply a plan just made, tree by tree; the failure of one tree does not stop the others.

    The requests carry the generations that the plan was decided on. After a conflict, what
    remains of the change is merged with the present state; what cannot be merged is left alone.

    :param precheck: returns the part of a change that may still be written, just before it is
    """
    written = _WrittenRows()
    retried = (errors.ConcurrentUpdate,)
    carrier = Carrier(client, plan, precheck=precheck, note=written.note_attempt, retried=retried)
    carrier.start_from_plan()
    queue = TreeQueue(plan.changes, report=report)
    with queue.stop_on_error():
        queue.run(functools.partial(carrier.carry_change, backward=False), 1)
    outcome = carrier.mark_partial(queue.make_outcome())
    return replace(outcome, trees=[written.add_rows(tree, outcome) for tree in outcome.trees])


class _WrittenRows:
    """Collects, for each tree of a run, a row for each part that was written."""

    def __init__(self) -> None:
        self._rows: dict[str, list[ChangeRow]] = defaultdict(list)
        #: The state before and after the request of a tree whose answer is lost.
        self._lost: dict[str, tuple[Snapshot, Snapshot]] = {}

    def note_attempt(self, written: TreeAttempt) -> None:
        """Add the rows of what an attempt has written.

        Those of a request without an answer are added by the next attempt, if its state has them.
        """
        uuid = written.change.root_provider_uuid
        if lost := self._lost.pop(uuid, None):
            merged = merge(*lost, written.live)
            self._rows[uuid] += list_change_rows(*lost) if merged.is_done else ()
        after = simulate(written.live, written.operations)
        self._rows[uuid] += list_change_rows(written.live, after)
        if written.lost:
            self._lost[uuid] = after, simulate(after, written.lost)

    def add_rows(self, tree: TreeResult, outcome: Outcome) -> TreeResult:
        """Return the result of a tree with the rows of its written changes.

        :param outcome: of the whole run
        """
        uuid, error = tree.root_provider_uuid, tree.error
        if isinstance(error, LeftAlone):
            error = LeftAlone(
                f'Others have changed {tree.root_provider_name} in the meantime: {error}. Run the '
                'command again'
            )
        if isinstance(error, Interrupted):
            # There is no journal for another run to read.
            error = outcome.stopped
        unknown = list_change_rows(*self._lost[uuid]) if uuid in self._lost else ()
        return replace(tree, error=error, rows=self._rows[uuid], unknown=[*unknown])
