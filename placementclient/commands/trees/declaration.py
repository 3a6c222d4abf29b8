# SPDX-License-Identifier: Apache-2.0
"""Provider trees declared in files: apply, export."""

from __future__ import annotations

from placementclient.commands.framework import base, changing, option, reading, selectors
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.option import Flag, Option


class ApplyTree(Changing):
    """Apply a declaration of provider trees.

    The file is a provider or a list of providers, as YAML or JSON: name, and optionally uuid,
    inventories, traits, aggregates, children. The command sets what the file names and leaves
    everything else alone, but with --prune. Before it writes anything, it refuses to delete an
    inventory in use. It needs --reparent to make a root a child, or to move a provider in use to
    another tree. The traits COMPUTE_* of an existing provider are Nova's, and stay as they are.
    A provider configuration file of Nova adds to the present state.
    """

    examples = ('trees.yaml --dry-run',)
    options = (
        Option('file', help='The declaration; - for stdin'),
        Flag('--prune', help='Delete providers of the trees that are not named and not in use'),
        Flag('--reparent', help='Let roots become children, and used providers change their tree'),
        Option(
            '--previous <file>',
            help='The configuration file of Nova that was applied before: remove what it added',
        ),
        Option(
            '--compute-node <name>...',
            help='A provider for which $COMPUTE_NODE of a configuration file of Nova stands',
        ),
        *changing.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.producers.declarations import parse
        from placementclient.producers.declare import Declaring

        paths = [path for path in (self.args.file, self.args.previous) if path]
        nodes = self.args.compute_node or ()
        declarations, *previous = (parse(disk.read_text(path), path, nodes) for path in paths)
        return self.change(
            Declaring(
                self.client,
                declarations,
                prune=self.args.prune,
                reparent=self.args.reparent,
                previous=previous[0] if previous else (),
            )
        )


class ExportTree(base.PlacementCommand):
    """Export provider trees in the form that "tree apply" reads.

    Applied to an empty Placement, the file creates the same trees.
    """

    examples = ('--tree compute1 -o compute1.yaml',)
    auth_required = False
    options = (*selectors.TREES, reading.SNAPSHOT, option.OUTPUT)

    def execute(self) -> None:
        from placementclient.files import disk
        from placementclient.producers.declarations import document

        trees = document(reading.part(self))
        disk.write_document(self.args.output, trees)
