"""Histories of snapshots: list the snapshots, or the changes of a consumer or provider."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient.client import errors
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option
from placementclient.model.providers import normalized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placementclient.snapshot.history import Entry

FOLDER = Option('folder', help='The folder in which snapshot save --history saves')
_DAMAGED = (errors.ExitStatus.PARTIAL, 'snapshots of the history are damaged or missing')


class ReadingHistory(base.Lister):
    """The common part of both commands: they go on where a part cannot be read."""

    auth_required = False
    statuses = (_DAMAGED,)

    def entries(self, parsed_args: argparse.Namespace) -> list[Entry]:
        from placementclient.snapshot import history

        return self._some(parsed_args, history.entries(parsed_args.folder, self.log_damage))

    def readable(self, parsed_args: argparse.Namespace, found: Sequence[Entry]) -> list[Entry]:
        """Return the snapshots that can be read; log the others."""
        from placementclient.snapshot import history

        return self._some(parsed_args, history.readable(found, self.log_damage))

    def _some(self, parsed_args: argparse.Namespace, found: list[Entry]) -> list[Entry]:
        if not found:
            raise errors.BadFile(parsed_args.folder, 'has no snapshot that can be read')
        return found

    def log_damage(self, said: str) -> None:
        """Say what cannot be read."""
        self.warn_once(said)
        self.exit_status = errors.ExitStatus.PARTIAL


class HistorySnapshot(ReadingHistory):
    """List the snapshots of a history, or the changes of one consumer or provider.

    The changes have a line for each: the first state, then each move, growth, shrinking or removal.
    The change happened between the two times of its line: the last snapshot before it and the first
    one with it. The changes of a provider are those of name, parent, inventories, traits and
    aggregates. A name stands for all providers that ever had it.

    Example:

      openstack resource provider snapshot history daily --provider compute1
    """

    nothing = 'No event'
    options = (
        FOLDER,
        Option(
            '--consumer',
            type=normalized,
            help='Print the story of the consumer (server) with this UUID',
        ),
        Option('--provider', help='Print the story of the resource provider of this name or UUID'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient.insight import story
        from placementclient.render import history as tables
        from placementclient.snapshot import moments

        if parsed_args.consumer and parsed_args.provider:
            raise errors.UsageError('give --consumer or --provider, not both')
        found = self.entries(parsed_args)
        if uuid := parsed_args.consumer:
            seen = moments.of_consumer(found, uuid, self.log_damage)
            events = list(story.of_consumer(uuid, seen))
        elif name := parsed_args.provider:
            uuids, seen = moments.of_provider(found, name, self.log_damage)
            events = list(story.of_providers(uuids, seen))
        else:
            return tables.SAVED.rows(self.readable(parsed_args, found))
        if not events:
            raise errors.NoSuchProvider(
                f'No snapshot of {parsed_args.folder} has '
                + (f'the consumer {uuid}' if uuid else f'a resource provider {name!r}')
            )
        return tables.EVENT.rows(events)
