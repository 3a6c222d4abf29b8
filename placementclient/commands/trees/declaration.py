# SPDX-License-Identifier: Apache-2.0
"""Provider trees declared in files: apply, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.commands.framework import (
    base,
    change_command,
    cloud_options,
    option,
    selection_options,
    service_lists,
)
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.reshapes.reshape_plan import (
    describe_hosts_running_nova_compute,
    find_hosts_running_nova_compute,
)

if TYPE_CHECKING:
    from placementclient.model.specifications import Spec


class ApplyTree(ChangeCommand):
    """Apply a declaration of provider trees.

    The file is a provider or a list of providers, as YAML or JSON: name, and optionally uuid,
    inventories, traits, aggregates, children. The command sets what the file names and leaves
    everything else alone, but with --prune. Before it writes anything, it refuses to delete an
    inventory in use: with moves, the file is the specification of a reshape, and inventory moves
    with its allocations. The command needs --reparent to make a root a child, or to move a provider
    in use to another tree. The traits COMPUTE_* of an existing provider are Nova's, and stay as
    they are. A provider configuration file of Nova adds to the present state.
    """

    examples = ('trees.yaml --dry-run',)
    statuses = (
        *ChangeCommand.statuses,
        (errors.ExitStatus.INFEASIBLE, 'no assignment satisfies the moves'),
        (errors.ExitStatus.UNDECIDED, 'several assignments are possible'),
    )
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
        service_lists.make_migrations_option(
            'to be warned of those under way, if the file has moves'
        ),
        *change_command.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.files import cursors, disk, kinds, specifications
        from placementclient.producers.declarations import read_declarations
        from placementclient.producers.declare import DeclarationProducer

        paths = [path for path in (self.args.file, self.args.previous) if path]
        allowed = kinds.TREES, kinds.NOVA_PROVIDERS
        contents = [disk.read_text(path, *allowed, kinds.SPECIFICATION) for path in paths]
        documents = list(map(cursors.parse_document, contents, paths))
        if specifications.is_specification(documents[0]):
            return self._apply_specification(specifications.read_specification(documents[0]))
        for content, path in zip(contents, paths, strict=True):
            kinds.refuse_other_kind(content.encode(), path, *allowed)
        nodes = self.args.compute_node or ()
        declarations, *previous = (read_declarations(document, nodes) for document in documents)
        return self.plan_and_apply(
            DeclarationProducer(
                self.client,
                declarations,
                prune=self.args.prune,
                reparent=self.args.reparent,
                previous=previous[0] if previous else (),
            )
        )

    def _apply_specification(self, spec: Spec) -> base.Output:
        from placementclient.producers.reshaped import ReshapeProducer
        from placementclient.render import plans
        from placementclient.runs import storage

        if self.args.prune or self.args.reparent or self.args.previous or self.args.compute_node:
            raise errors.UsageError(
                '--prune, --reparent, --previous and --compute-node are for files without moves'
            )
        spec, rows = storage.read_rows_of_spec(spec, self.args.file)
        migrations = service_lists.get_sources().migrations.read_option(self, self.args.migrations)
        reshaping = ReshapeProducer(self.client, spec, rows, migrations)
        plan = self.make_plan(reshaping)
        self.warn(plans.list_warnings(plan.changes))
        is_applied = plan.changes and not (self.args.plan or self.args.dry_run)
        if is_applied and (hosts := find_hosts_running_nova_compute(self, plan.changes)):
            raise errors.PlacementError(
                f'{describe_hosts_running_nova_compute(hosts)} there, or write a plan with '
                '--plan, and apply it with "placement resource provider reshape apply '
                '--compute-is-up"'
            )
        return self.show_or_apply_plan(plan, reshaping)


class ExportTree(base.PlacementCommand):
    """Export provider trees in the form that "tree apply" reads.

    Applied to an empty Placement, the file creates the same trees.
    """

    examples = ('--tree compute1 -o compute1.yaml',)
    auth_required = False
    options = (
        *selection_options.TREES,
        cloud_options.SNAPSHOT,
        option.make_output_option('a tree of providers'),
    )

    def execute(self) -> None:
        from placementclient.files import disk
        from placementclient.producers.declarations import make_declaration

        trees = make_declaration(cloud_options.read_selected_snapshot(self))
        disk.write_document(self.args.output, trees)
