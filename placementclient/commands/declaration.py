"""Provider trees declared in files: apply, export.

What the commands call is loaded when they run: OpenStackClient loads the module of every command
before it runs one.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base, ending, option
from placementclient.commands.option import Option
from placementclient.commands.snapshot import SNAPSHOT, TREE, taken
from placementclient.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placementclient.declaration.changes import Change
    from placementclient.render.columns import Output


class ApplyTree(base.Lister):
    """Make provider trees as a file declares them.

    The file is a provider or a list of them, as YAML or JSON: name, and where they are given uuid,
    inventories, traits, aggregates, children. What is given is made so, what is not given is left.
    Providers below that are not named stay; with --prune they go, if nobody uses them. Also reads
    the provider configuration files of Nova, which add to what is there.

    Each change is printed, also where one fails: the exit status is 6 then, if some are made. Where
    there is nothing to do nothing is written; --dry-run ends with exit status 3 if there is
    something. Inventory that is used and would go is refused before
    anything is written.

    Example:

      openstack resource provider tree apply trees.yaml --dry-run
    """

    options = (
        Option('file', metavar='<file>', help='The declaration; - for stdin'),
        option.DRY_RUN,
        Option(
            '--prune',
            action='store_true',
            help='Delete providers below that are not declared and that nobody uses',
        ),
        option.YES,
    )
    prints = ('provider', 'change', 'before', 'after')
    statuses = (
        base.WOULD_DO,
        (errors.ExitStatus.PARTIAL, 'some changes are made, some could not be'),
    )
    nothing = 'Nothing to change'

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient import files
        from placementclient.declaration import declared
        from placementclient.workflows import declare

        path = parsed_args.file
        wanted = declared.parse(files.read_text(path), path)
        planned = declare.plan(self.client, wanted, prune=parsed_args.prune)
        if parsed_args.dry_run:
            self.end_dry_run(bool(planned))
            return _rows(planned)
        if planned:
            providers = counted(len({change.provider for change in planned}), 'provider')
            self.confirm(f'Change {providers} as {path} declares?', parsed_args)
        made: list[Change] = []
        with ending.telling(self, made):
            declare.carry_out(self.client, wanted, prune=parsed_args.prune, report=made.append)
        return _rows(made)


class ExportTree(base.Command):
    """Write provider trees in the form that "tree apply" reads.

    Applied to where it came from it changes nothing; applied to an empty Placement it makes the
    same trees.

    Example:

      openstack resource provider tree export --tree compute1 -o compute1.yaml
    """

    auth_required = False
    options = (
        TREE,
        SNAPSHOT,
        Option(
            '-o', '--output', metavar='<file>', default='-', help='The file; without it, stdout'
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from placementclient import files
        from placementclient.declaration import export

        trees = parsed_args.tree
        found = export.document(taken(self, parsed_args, trees).only(trees))
        files.write_document(parsed_args.output, found)


def _rows(found: Iterable[Change]) -> Output:
    from placementclient.render.facts import Facts

    rows = []
    for change in found:
        what, before, after = change.row()
        rows.append((change.provider, what, Facts(before), Facts(after)))
    return ApplyTree.prints, rows
