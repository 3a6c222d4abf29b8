"""The option ``--assume``: the cloud as it would be."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from placementclient.commands.framework import base, flavors
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.changes.plan import ChangePlan
    from placementclient.model.flavors import Flavor
    from placementclient.model.snapshots import Snapshot
    from placementclient.planner.plan.plan import Plan
    from placementclient.producers.assuming.assumptions import Assumption
    from placementclient.producers.assuming.overlay import Assumed

ASSUME = Option(
    '--assume <file>...',
    help='Look at the cloud as it would be after the changes in this file. Nothing is written. '
    'The file may have other inventories or traits, new hosts, hosts that are off, more '
    'servers, or a plan. May be repeated; the changes of the first file come first',
)


def assumed(
    command: base.PlacementCommand,
    parsed_args: argparse.Namespace,
    snapshot: Snapshot,
    warn: Callable[[str], None] | None = None,
    plan: str | None = None,
) -> Assumed:
    """Return a snapshot under the assumptions of ``--assume``, and log them.

    :param plan: the file of a plan that is assumed to be applied after that
    :param warn: called with each assumption and its effects; default: the log
    :raises errors.BadFile: if a file is none, or does not suit the snapshot
    """
    from placementclient import files
    from placementclient.codec.cursors import Cursor
    from placementclient.producers.assuming import assumptions, overlay

    found: list[Assumption] = []
    for path in parsed_args.assume:
        sources = assumptions.Sources(
            functools.partial(_plan, path),
            functools.partial(flavors_of, command, parsed_args, path),
        )
        found += assumptions.parse(files.read_text(path), path, sources)
    if plan:
        found.append(assumptions.AfterPlan(Cursor(None, plan, ''), _plan('', plan)))
    result = overlay.assumed(snapshot, found)
    paths = [*parsed_args.assume, *([plan] if plan else [])]
    for line in (*(f'assuming: {path}' for path in paths), *result.notes):
        (warn or command.log.warning)(line)
    return result


def _plan(path: str, name: str) -> Plan | ChangePlan:
    from placementclient.reshape import storage

    return storage.read_any_plan(_beside(path, name))


def flavors_of(
    command: base.PlacementCommand, parsed_args: argparse.Namespace, path: str, name: str | None
) -> Sequence[Flavor]:
    """Return the flavors of a file, of ``--flavors``, or of the compute service.

    :param path: the file that names the flavors
    :param name: the file of the flavors, relative to that; ``None`` if it names none
    """
    source = getattr(parsed_args, 'flavors', None) or NOVA
    return flavors.given(command, source if name is None else _beside(path, name))


def _beside(path: str, name: str) -> str:
    """Return the path of a file that another one names, relative to that one's folder."""
    from placementclient import files

    return os.path.join('' if path == files.STANDARD else os.path.dirname(path), name)
