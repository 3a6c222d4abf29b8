"""Snapshots."""

from __future__ import annotations

import argparse

from placementclient.commands import base
from placementclient.commands.base import Option
from placementclient.render.columns import Output

TREE = Option(
    '--tree',
    metavar='<provider>',
    action='append',
    default=[],
    help='Only the tree of this resource provider, by name or UUID; may be repeated',
)


def workers(what: str) -> Option:
    """The option that says how many trees are worked on at the same time."""
    return Option(
        '--workers',
        metavar='<number>',
        type=int,
        default=4,
        help=f'How many trees to {what} at the same time; 4 without it',
    )


class SaveSnapshot(base.ShowOne):
    """Save providers, inventories, traits, aggregates, allocations and consumers to a file.

    Each tree is consistent in itself: where somebody writes while it is read, it is read again.
    A file name that ends in .gz is compressed.

    Example:

      openstack resource provider snapshot save cloud.json.gz --tree compute1
    """

    options = (
        Option('file', metavar='<file>', help='The file to write'),
        TREE,
        workers('read'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        # Loaded only here: OpenStackClient loads every command's module before it runs one.
        from placementclient.migration import capture, files

        snapshot = capture.capture(
            self.client, parsed_args.tree, workers=parsed_args.workers, progress=self.log.info
        )
        files.write_snapshot(parsed_args.file, snapshot)
        fields = {
            'file': parsed_args.file,
            'trees': len(snapshot.roots()),
            'providers': len(snapshot.providers),
            'consumers': len(snapshot.consumers),
        }
        return tuple(fields), tuple(fields.values())
