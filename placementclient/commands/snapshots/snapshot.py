# SPDX-License-Identifier: Apache-2.0
"""Snapshots: save, show, compare, restore."""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import format_count
from placementclient.client.microversion import TYPED
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
from placementclient.model.catalog import NOVA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from placementclient.insight.diff import Difference
    from placementclient.model.plans import Plan
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.producers.restore import ExistingProviders

#: How many servers Nova is asked for at the same time.
_WORKERS = 8
_FILE = Option('file', help='The snapshot file')


class SaveSnapshot(base.ShowOne):
    """Save providers, inventories, traits, aggregates, allocations and consumers to a file.

    Each tree is consistent in itself: if a tree changes while it is read, it is read again. A file
    name that ends in .gz is compressed. An existing file is kept, unless you give --overwrite.

    A tree that others write to all the time ends the command: no file is written. With
    --keep-going, it is saved as it was read last, and marked as unsteady.
    """

    examples = ('cloud.json.gz --tree compute1',)
    auth_required = False
    column_names = ('file', 'trees', 'providers', 'consumers')
    statuses = ((errors.ExitStatus.PARTIAL, 'with --keep-going: a tree is marked as unsteady'),)
    options = (
        Option('file', help='The file to write', output='a snapshot'),
        *selection_options.TREES,
        Option('--snapshot <file>', help='Save trees of this snapshot; default: of the live cloud'),
        option.make_workers_option('trees to read'),
        option.OVERWRITE,
        Flag('--keep-going', help='Also save trees that change each time that they are read'),
    )

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.reading.capture import UnstableRead

        path = self.args.file
        if not self.args.overwrite and os.path.isfile(path):
            raise errors.BadFile(path, 'exists: give another name, or --overwrite')
        try:
            snapshot = cloud_options.read_selected_snapshot(
                self, self.args.workers, is_steady=not self.args.keep_going
            )
        except UnstableRead as unstable:
            raise errors.PlacementError(
                f'{unstable}; --keep-going saves such trees too, and marks them'
            ) from None
        disk.write_snapshot(path, snapshot)
        self.ending = f'wrote {path}'
        if snapshot.unsteady:
            self.ending += (
                f', with {format_count(len(snapshot.unsteady), "tree")} marked as unsteady'
            )
            self.exit_status = errors.ExitStatus.PARTIAL
        counts = len(snapshot.roots()), len(snapshot.providers), len(snapshot.consumers)
        return self.column_names, (path, *counts)


class ShowSnapshot(base.ShowOne):
    """Show the content of a snapshot in numbers."""

    examples = ('cloud.json.gz',)
    auth_required = False
    options = (_FILE, cloud_options.ASSUME)

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.insight import summary
        from placementclient.render.facts import Facts, format_figures

        snapshot = disk.read_snapshot(self.args.file)
        numbers = summary.summarize(cloud_options.apply_assumptions(self, snapshot).snapshot)
        shown = {
            name: Facts(value) if isinstance(value, dict | list) else value
            for name, value in numbers.items()
        } | {'resource_classes': Facts(numbers['resource_classes'], format_figures)}
        if self.args.assume:
            shown = {'assuming': self.args.assume} | shown
        return ('file', *shown), (self.args.file, *shown.values())


class DiffSnapshot(base.Lister):
    """Compare two snapshots, or a snapshot with the live cloud.

    Generations are not compared. "live" stands for the present state. --kind provider leaves out
    consumers, which come and go. --assume changes the second snapshot before it is compared.
    """

    examples = ('before.json live --kind provider',)
    formatter_namespace = base.LINES
    auth_required = False
    statuses = ((errors.ExitStatus.DIFFERS, 'there are differences'),)
    empty_message = 'No differences'
    spare_columns = ('uuid', 'kind')
    needed_columns = ('field',)
    options = (
        Option('before', help='The first snapshot: a file, or live for the live cloud'),
        Option('after', help='The second snapshot: a file, or live for the live cloud'),
        Option('--kind', choices=('provider', 'consumer'), help='Only of this kind; default: both'),
        cloud_options.ASSUME,
    )

    #: The differences as texts, from which the format text makes lines.
    _texts: Sequence[str] = ()

    def format_lines(
        self, names: Sequence[str], rows: Iterable[Sequence[object]], width: int
    ) -> Iterable[str]:
        """Return the differences as sentences for ``-f text``; the rows are not needed."""
        from placementclient.render.lines import wrap_lines

        return wrap_lines(self._texts, width)

    def execute(self) -> base.Output:
        from placementclient.insight import diff
        from placementclient.render import differences as render
        from placementclient.render.columns import DIFFERENCE

        before, after = (
            cloud_options.read_snapshot(self, path) for path in (self.args.before, self.args.after)
        )
        after = cloud_options.apply_assumptions(self, after).snapshot
        kind = self.args.kind
        found = diff.find_differences(before, after)
        differences = [item for item in found if kind in (None, item.kind)]
        self._texts = list(render.describe_differences(differences))
        if differences:
            self.exit_status = errors.ExitStatus.DIFFERS
            number = len(self._texts if self.args.formatter == 'text' else differences)
            self.ending = format_count(number, 'difference')
            self._set_restoring_step(differences)
        return DIFFERENCE.make_table(differences)

    def _set_restoring_step(self, differences: Iterable[Difference]) -> None:
        """Set the command that restores the consumers of a file which the live cloud lacks."""
        paths = [self.args.before, self.args.after]
        if self.args.assume or paths.count(cloud_options.LIVE) != 1:
            return
        is_first = paths[0] != cloud_options.LIVE
        missing = 'removed' if is_first else 'added'
        if any((d.kind, d.field, d.change_type) == ('consumer', '', missing) for d in differences):
            path = shlex.quote(paths[0] if is_first else paths[1])
            self.next_steps = (
                'If allocations were deleted by mistake: placement resource provider snapshot '
                f'restore {path} --missing --dry-run',
            )


class RestoreSnapshot(ChangeCommand):
    """Restore a Placement from a snapshot: classes, traits, providers, allocations.

    The command only creates objects, so --yes changes nothing. It refuses if a provider with a name
    or UUID of the snapshot exists. --missing completes a restore that was killed, and creates
    deleted objects again. It writes nothing if a provider has changed. --tree restores only some
    trees with their allocations. --allocations restores only allocations, if the service has the
    providers again. Consumers that have moved or changed since the snapshot are
    left alone.
    """

    examples = ('cloud.json.gz --missing', 'cloud.json.gz --tree compute1 --servers nova')
    writes = True
    # Consumers that are left alone are no error, even if nothing else was to be restored.
    status_if_all_undone = errors.ExitStatus.PARTIAL
    options = (
        _FILE,
        Flag('--missing', help='Complete a restore: create only missing objects'),
        *selection_options.TREES,
        Flag(
            '--allocations',
            help='Only allocations, on providers that exist, by UUID or else by name',
        ),
        service_lists.SERVERS,
        Flag('--other-service', help='Go on although the snapshot is of another service'),
        *change_command.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.producers.restore import ExistingProviders, RestoreProducer

        snapshot = disk.read_snapshot(self.args.file)
        roots = snapshot.root_uuids(selection_options.select_trees(self, snapshot))
        cloud_options.refuse_unsteady_trees(snapshot, self.args.file, roots or None)
        make_producer = partial(
            RestoreProducer,
            self.client,
            snapshot,
            trees=roots,
            only_allocations=self.args.allocations,
            servers=self._read_servers(snapshot.select_trees(roots)),
        )
        restoring = make_producer(only_missing=self.args.missing)
        self._refuse_other_service(snapshot)
        if restoring.untyped_count:
            self.log.warning(
                'Not restored: the types of '
                f'{format_count(restoring.untyped_count, "consumer")}, which services from '
                f'microversion {TYPED} on store, not {self.client.microversion}'
            )
        try:
            return self.plan_and_apply(restoring)
        except ExistingProviders as existing:
            refusal = existing
        try:
            if not refusal.is_altered:
                # Else the step to a restore with --missing would be refused, too.
                make_producer(only_missing=True).plan()
        except ExistingProviders as existing:
            refusal = existing
        refusal.next_steps = self._list_other_restores(refusal)
        raise refusal

    def confirm_plan(self, plan: Plan) -> None:
        """Do not ask: the command only creates objects."""

    def _list_other_restores(self, existing: ExistingProviders) -> Sequence[str]:
        """Return commands that restore although some providers exist already."""
        prefix, path = 'placement resource provider', shlex.quote(self.args.file)
        if not existing.is_altered:
            return (f'{prefix} snapshot restore {path} --missing',)
        trees = [name for name in existing.names if not name.startswith('consumer ')]
        options = ''.join(f' --tree {shlex.quote(name)}' for name in trees)
        return (
            f'See what has changed: {prefix} snapshot diff {path} live',
            'Write the saved providers to a file: '
            f'{prefix} tree export --snapshot {path}{options} -o saved.yaml',
            f'Bring their values back: {prefix} tree apply saved.yaml --dry-run',
            f'Or restore only allocations: {prefix} snapshot restore {path} --allocations',
        )

    def _read_servers(self, snapshot: Snapshot) -> Mapping[str, Server] | None:
        """Return the servers of ``--servers`` by UUID; None without the option.

        If Nova gives the list, it is also asked for each consumer that the list lacks.
        """
        from placementclient.api.parallel import call_in_parallel
        from placementclient.nova import service

        listed = service_lists.get_sources().servers.read_option(self, self.args.servers)
        if listed is None or NOVA not in service_lists.list_named_sources(self.args.servers):
            return listed
        lacking = sorted(snapshot.consumers.keys() - listed.keys())
        found = call_in_parallel(
            partial(service.read_server_record, self.client), lacking, _WORKERS
        )
        return {**listed, **{server.uuid: server for server in found if server}}

    def _refuse_other_service(self, snapshot: Snapshot) -> None:
        from placementclient.api import resource_provider
        from placementclient.model.snapshots import is_of_other_service

        if self.args.other_service:
            return
        here = self.client.service_label
        if not is_of_other_service(snapshot.origin, here):
            return
        present = {provider.uuid for provider in resource_provider.list(self.client)}
        if others := len(present - snapshot.providers.keys()):
            made = snapshot.origin and snapshot.origin.service
            raise errors.PlacementError(
                f'{here} has {format_count(others, "other resource provider")}, '
                f'and the snapshot is of {made}. Nothing was sent. Connect to the service of '
                'the snapshot; if this is the right one, give --other-service'
            )
