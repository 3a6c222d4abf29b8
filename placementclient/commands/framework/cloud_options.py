# SPDX-License-Identifier: Apache-2.0
"""Options for the cloud that a read-only command reads: live or a snapshot, with assumptions."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import describe_unsteady_trees, join_names
from placementclient.commands.framework import (
    base,
    option,
    progress,
    selection_options,
    server_options,
)
from placementclient.commands.framework.aggregate_names import AggregateNames
from placementclient.commands.framework.option import Option
from placementclient.model.catalog import NOVA

if TYPE_CHECKING:
    from placementclient.model.plans import Plan
    from placementclient.model.servers import Flavor
    from placementclient.model.snapshots import Snapshot
    from placementclient.producers.assuming import AssumedCloud
    from placementclient.producers.assuming.assumptions import Assumption

SNAPSHOT = Option('--snapshot <file>', help='Read this snapshot file instead of the live cloud')
ASSUME = Option(
    '--assume <file>...',
    help='Look at the cloud as it would be after the changes in this file: other inventories or '
    'traits, new hosts, hosts that are off, more servers, or a plan. Nothing is written',
)
OPTIONS = option.group_options('snapshot and assumptions', SNAPSHOT, ASSUME)
#: The word for the live cloud, in place of a file.
LIVE = 'live'
#: Other words for it.
_PRESENT = ('now', 'current', 'cloud', 'present')


def read_selected_snapshot(
    command: base.PlacementCommand, workers: int = option.WORKERS, *, is_steady: bool = False
) -> Snapshot:
    """Return a snapshot of the selected trees, from ``--snapshot`` or from Placement.

    :param workers: the number of trees that are read at the same time
    :param is_steady: whether a tree that changes during each reading of Placement is an error; for
        the trees of a file, call :func:`refuse_unsteady_trees`
    """
    if command.args.snapshot:
        snapshot = read_snapshot(command, command.args.snapshot)
        return snapshot.select_trees(selection_options.select_trees(command, snapshot))
    return _capture_trees(
        command, selection_options.select_trees(command), workers, is_steady=is_steady
    )


def read_snapshot(
    command: base.PlacementCommand, path: str | None, *, is_steady: bool = False
) -> Snapshot:
    """Return the snapshot of a file, or a new one of Placement.

    :param path: the path of the file; ``None`` or :data:`LIVE` for Placement
    :param is_steady: whether a tree that changes during each reading is an error, not a warning
    """
    from placementclient.files import disk

    if path in (None, LIVE):
        return _capture_trees(command, is_steady=is_steady)
    if path.lower() in _PRESENT and not os.path.exists(path):
        raise errors.BadFile(path, f'No such file. The present cloud is called {LIVE}')
    snapshot = disk.read_snapshot(path)
    if is_steady:
        refuse_unsteady_trees(snapshot, path)
    return snapshot


def refuse_unsteady_trees(
    snapshot: Snapshot, path: str | None, roots: Collection[str] | None = None
) -> None:
    """Raise an error that names the trees of a snapshot that changed during each reading.

    :param roots: the UUIDs of the roots that matter; ``None``: all
    :param path: the file of the snapshot; ``None``: it is of Placement
    """
    marked = snapshot.unsteady if roots is None else snapshot.unsteady.intersection(roots)
    if marked:
        names = join_names(sorted(snapshot.providers[uuid].name for uuid in marked), 3)
        raise errors.BadFile(
            str(path),
            f'the command needs {names}, which others changed while the snapshot was saved. Save '
            'it again, when less is going on there, with "placement resource provider snapshot '
            'save"',
        )


def _capture_trees(
    command: base.PlacementCommand,
    trees: Sequence[str] = (),
    workers: int = option.WORKERS,
    *,
    is_steady: bool = False,
) -> Snapshot:
    """Return a snapshot of Placement, and warn of trees that changed during each reading.

    :param trees: the names or UUIDs of the roots; empty: all
    :param is_steady: whether such a tree is an error
    """
    from placementclient.reading import capture

    with progress.show_progress(command) as show:
        snapshot = capture.capture(
            command.client,
            trees,
            workers=workers,
            keep_going=not is_steady,
            progress=show,
            expect=show.set_total,
        )
    if snapshot.unsteady:
        command.log.warning(describe_unsteady_trees(snapshot.unsteady_names()))
    return snapshot


def read_cloud(
    command: base.PlacementCommand,
    warn: Callable[[str], None] | None = None,
    *,
    is_steady: bool = False,
) -> AssumedCloud:
    """Return the cloud of ``--snapshot`` or of Placement, changed by ``--assume``.

    :param warn: logs the assumptions; default: the log of the command
    :param is_steady: whether a tree that changes during each reading is an error, not a warning
    """
    return apply_assumptions(
        command, read_snapshot(command, command.args.snapshot, is_steady=is_steady), warn
    )


def apply_assumptions(
    command: base.PlacementCommand, snapshot: Snapshot, warn: Callable[[str], None] | None = None
) -> AssumedCloud:
    """Return a snapshot changed by the files of ``--assume``; log what was assumed.

    :param warn: logs the assumptions; default: the log of the command
    """
    from placementclient.producers.assuming import AssumedCloud

    paths = command.args.assume
    if not paths:
        return AssumedCloud(snapshot)
    from placementclient.files import disk, kinds
    from placementclient.producers.assuming import assumptions

    scheduling = server_options.read_scheduling_options(command)
    entries: list[Assumption] = []
    for path in paths:
        readers = assumptions.FileReaders(
            functools.partial(_read_plan_beside, path),
            functools.partial(_read_flavors_beside, command, path),
            scheduling,
        )
        text = disk.read_text(path, kinds.ASSUMPTIONS, kinds.TREES)
        entries += assumptions.parse_assumptions(text, path, readers)
    result = assumptions.apply_assumptions(snapshot, entries)
    aggregate_names = AggregateNames(
        command, scheduling.sources.aggregates, scheduling.parts['project']
    )
    lines = [f'assuming: {path}' for path in paths]
    lines += [aggregate_names.insert_names(note) for note in result.notes]
    for line in lines:
        (warn or command.log.warning)(line)
    return result


def _read_plan_beside(path: str, name: str) -> Plan:
    """Return the plan in the file ``name``, which is relative to the folder of ``path``."""
    from placementclient.runs import storage

    return storage.read_plan(_join_to_folder_of(path, name))


def _read_flavors_beside(
    command: base.PlacementCommand, path: str, name: str | None
) -> Sequence[Flavor]:
    """Return the flavors that an assumption refers to.

    :param path: the file of assumptions
    :param name: a file relative to its folder; ``None``: the flavors of ``--flavors``, or of Nova
    """
    source = getattr(command.args, 'flavors', None) or NOVA
    return server_options.read_flavors(
        command, source if name is None else _join_to_folder_of(path, name)
    )


def _join_to_folder_of(path: str, name: str) -> str:
    """Return the path of the file ``name``, which is relative to the folder of ``path``."""
    return os.path.join('' if path == '-' else os.path.dirname(path), name)
