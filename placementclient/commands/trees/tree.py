# SPDX-License-Identifier: Apache-2.0
"""Provider trees: list, show, graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.cli.help_formatter import get_line_width
from placementclient.commands.framework import base, cloud_options, option, selection_options
from placementclient.commands.framework.document_command import DocumentCommand, TextOutput
from placementclient.commands.framework.option import Flag, Option
from placementclient.render.style import Style

if TYPE_CHECKING:
    from placementclient.model.plans import Change
    from placementclient.model.snapshots import Snapshot
    from placementclient.model.trees import Tree

_DETAIL_OPTIONS = (
    Flag('--traits', help='Show the traits of each resource provider'),
    Flag('--allocations', help='Show the consumers and their allocations'),
    *cloud_options.OPTIONS,
    option.make_workers_option('trees to read'),
)

#: The format of a picture, by the end of the name of its file.
_FORMATS = {'': 'svg', '.svg': 'svg', '.dot': 'dot', '.gv': 'dot'}


class ShowTree(DocumentCommand):
    """Show the tree of a resource provider: used amount and capacity of each class.

    Sharing providers that serve the tree stand below it.
    """

    examples = ('compute1 --traits',)
    auth_required = False
    options = (option.PROVIDER, *_DETAIL_OPTIONS)

    def make_text(self) -> TextOutput:
        from placementclient.render import trees as render

        trees = list(_read_trees(self, traits=not self.prints_text))
        if not trees:
            raise errors.NoSuchProvider(f'{self.args.provider} was deleted in the meantime')
        if len(trees) > 1:
            raise errors.UsageError(
                f'{self.args.provider} matches {len(trees)} trees: '
                '"placement resource provider tree list --tree" shows several'
            )
        return _draw_trees(
            self, trees, render.make_tree_record(trees[0], allocations=self.args.allocations)
        )


class ListTree(DocumentCommand):
    """Show all provider trees, or some, each as soon as it has been read."""

    examples = ("--tree 'compute2*' --snapshot cloud.json.gz",)
    auth_required = False
    options = (*selection_options.TREES, *_DETAIL_OPTIONS)

    def make_text(self) -> TextOutput:
        from placementclient.render import trees as render

        trees = _read_trees(self, traits=not self.prints_text)
        if self.prints_text:
            return _draw_trees(self, trees, {})
        shown = {'allocations': self.args.allocations}
        return TextOutput({'trees': [render.make_tree_record(tree, **shown) for tree in trees]}, ())


class GraphTree(base.PlacementCommand):
    """Draw provider trees as a picture: dot for Graphviz, or svg for any browser.

    With --plan, each tree stands before and after the plan, and the changes have a color.
    """

    examples = ('--tree compute1 --format svg -o compute1.svg', '--plan plan.json -o plan.svg')
    auth_required = False
    options = (
        *selection_options.TREES,
        Option(
            '--format',
            choices=['dot', 'svg'],
            help='Format; default: from the end of the file name: .dot, .gv or .svg, else svg',
        ),
        Option('--plan <file>', help='Draw the trees of this plan before and after it'),
        *_DETAIL_OPTIONS,
        option.make_output_option('a picture'),
    )

    def execute(self) -> None:
        from placementclient.files import disk
        from placementclient.render import graphs, pictures

        suffix = os.path.splitext(self.args.output)[1].lower()
        picture_format = self.args.format or _FORMATS.get(suffix)
        if picture_format is None:
            raise errors.UsageError(
                f'{self.args.output}: does not end in .dot, .gv or .svg: give --format'
            )
        shown = {'traits': self.args.traits, 'allocations': self.args.allocations}
        if self.args.plan:
            picture = graphs.make_plan_picture(self._select_changes(), **shown)
        else:
            picture = graphs.make_tree_picture(list(_read_trees(self)), self.args.assume, **shown)
        text = {'dot': graphs.draw_dot, 'svg': pictures.draw_svg}[picture_format](picture)
        disk.write_text(self.args.output, text)

    def _select_changes(self) -> Sequence[Change]:
        """Return the changes of the plan of ``--plan`` for the trees that the options select."""
        from placementclient.runs import storage

        if self.args.snapshot or self.args.assume:
            raise errors.UsageError('--plan cannot be combined with --snapshot or --assume')
        plan = storage.read_plan(self.args.plan)
        return plan.select_changes(selection_options.select_planned_trees(plan, self))


def _read_trees(command: base.PlacementCommand, *, traits: bool = False) -> Iterator[Tree]:
    """Yield the trees that the options select, each as soon as it is read.

    :param traits: whether the traits are needed, also without ``--traits``
    """
    if command.args.snapshot or command.args.assume:
        return _read_trees_of_snapshot(command)
    from placementclient.reading import capture, tree_reader

    client, names = command.client, _select_tree_names(command)
    if not names and client.snapshot_reader and client.microversion >= capture.SINCE:
        # A database at hand: all trees are read from its tables at once, which is faster.
        return _make_trees(capture.capture(client))
    return tree_reader.read_trees(
        client,
        names,
        traits=traits or command.args.traits,
        allocations=command.args.allocations,
        workers=command.args.workers,
    )


def _read_trees_of_snapshot(command: base.PlacementCommand) -> Iterator[Tree]:
    """Yield the selected trees of ``--snapshot`` or Placement, changed by ``--assume``."""
    snapshot = cloud_options.read_cloud(command).snapshot
    try:
        roots = snapshot.root_uuids(_select_tree_names(command, snapshot))
    except errors.NoSuchProvider as reason:
        path = command.args.snapshot or ', '.join(command.args.assume)
        raise errors.NoSuchProvider(f'{path}: {reason}') from reason
    return _make_trees(snapshot, roots)


def _select_tree_names(
    command: base.PlacementCommand, snapshot: Snapshot | None = None
) -> Sequence[str]:
    """Return the provider of ``<provider>``, or the names or root UUIDs that the options select.

    :param snapshot: the providers to select from; None: those of Placement
    """
    if 'provider' in command.args:
        return [command.args.provider]
    return selection_options.select_trees(command, snapshot)


def _make_trees(snapshot: Snapshot, roots: Sequence[str] = ()) -> Iterator[Tree]:
    """Yield the trees of a snapshot with these UUIDs of roots; without roots, all trees."""
    from placementclient.model.trees import Tree
    from placementclient.placing.topology import Topology

    topology = Topology(snapshot)
    for root_uuid in roots or topology.trees:
        yield Tree(
            snapshot, snapshot.providers[root_uuid], topology.list_sharing_providers(root_uuid)
        )


def _draw_trees(
    command: DocumentCommand, trees: Iterable[Tree], data: Mapping[str, object]
) -> TextOutput:
    """Return trees as lines, with bars and colours on a terminal, beside data for ``-f json``."""
    from placementclient.render import trees as render
    from placementclient.render.lines import wrap_lines

    is_terminal = command.app.stdout.isatty() and os.environ.get('TERM') != 'dumb'
    style = Style(bars=is_terminal, colours=is_terminal and not os.environ.get('NO_COLOR'))
    shown = {'traits': command.args.traits, 'allocations': command.args.allocations}
    lines: Iterable[str] = (
        line for tree in trees for line in render.format_tree(tree, style, **shown)
    )
    if command.app.stdout.isatty():
        lines = wrap_lines(lines, get_line_width())
    return TextOutput(data, lines, has_colours=style.colours)
