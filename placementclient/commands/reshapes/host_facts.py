# SPDX-License-Identifier: Apache-2.0
"""Assignments and additions from facts of hosts and of Nova's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.commands.framework import base, server_options, service_lists
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from placementclient.hosts.assignments import Results
    from placementclient.hosts.balance import ExplainedScope
    from placementclient.model.findings import Finding
    from placementclient.model.snapshots import Snapshot

#: The contradictions beside the file with the certain rows.
_COLUMNS = ('subject', 'reason', 'file')
_NO_CONTRADICTION = 'Everything fits'
_STATUSES = ((errors.ExitStatus.DIFFERS, 'some consumers could not be placed, and were skipped'),)


class PrintCollector(base.PlacementCommand):
    """Print a shell script that collects the servers of a host and their devices.

    The script needs virsh, and mdevctl if there is one. It changes nothing, leaves secrets out, and
    writes a tar archive to its standard output: ssh gpu1 sh < collect.sh > facts/gpu1.tar
    """

    examples = ('',)
    auth_required = False

    def execute(self) -> None:
        from importlib import resources

        script = resources.files('placementclient.hosts') / 'collect.sh'
        self.app.stdout.write(script.read_text())


class WriteAssignments(base.Lister):
    """Write the assignments that host facts, or Nova, prove.

    From --host-facts: the physical GPU of each virtual GPU, by the mediated devices of servers;
    with --numa, the NUMA cell of each server. From --servers with --pinned: the servers with
    dedicated CPUs. The command writes the rows that are certain, and prints the contradictions.

    It ends with the consumers of each class, explained and unexplained. Unexplained ones are rows
    with the evidence "unexplained", and "reshape plan" refuses their trees: write the provider into
    each, or delete it to leave the allocation to the plan.
    """

    examples = ('--host-facts facts --snapshot cloud.json -o gpu-map.csv',)
    auth_required = False
    empty_message = _NO_CONTRADICTION
    column_names = _COLUMNS
    statuses = _STATUSES
    options = (
        Option(
            '--host-facts <file>',
            action='extend',
            nargs='+',
            default=[],
            help='Output of the collector: tar archives, their folders, or folders with many',
        ),
        Flag('--numa', help='With --host-facts: write the NUMA cells of servers'),
        Option(
            '--servers <file>|nova...',
            help='Answer of GET /servers/detail, from compute API 2.47 on; or nova: ask Nova',
        ),
        server_options.IMAGES,
        Flag('--pinned', help='With --servers: write the servers with dedicated CPUs'),
        Option('--migrations <file>|nova', help='With --pinned: the migrations; or nova: ask Nova'),
        Option('--snapshot <file>', help='Compare with the allocations of this snapshot'),
        Option(
            '--class <class>|<mdev type>=<class>...',
            dest='classes',
            help="Class of mediated devices, or of one type, as Nova's mdev_class; default: VGPU",
        ),
        Option(
            '-o',
            '--output <file>',
            required=True,
            help='The file of assignments',
            output='a file of assignments',
        ),
    )

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.hosts import assignments
        from placementclient.hosts.balance import add_unexplained_rows

        if bool(self.args.host_facts) == bool(self.args.servers):
            self.exit_with_usage('the following arguments are required: --host-facts or --servers')
        if bool(self.args.servers) != self.args.pinned:
            raise errors.UsageError('--servers and --pinned go together')
        if self.args.pinned and not self.args.snapshot:
            raise errors.UsageError('--pinned needs --snapshot, for where the servers hold VCPU')
        snapshot = _read_snapshot(self)
        if snapshot is not None and self.args.pinned:
            results, scope = self._assign_dedicated_cpus(snapshot)
        else:
            results, scope = self._assign_devices(snapshot)
        if snapshot is None:
            rows, contradictions = assignments.split_findings(results)
        else:
            rows, contradictions, lines = add_unexplained_rows(results, snapshot, scope)
            self.warn(lines)
        disk.write_text(self.args.output, assignments.format_assignments(rows))
        return _report_contradictions(self, contradictions, snapshot)

    def _assign_devices(self, snapshot: Snapshot | None) -> tuple[Results, ExplainedScope]:
        """Return the assignments that host facts prove, and the consumers that need assignments.

        :param snapshot: has the allocations to compare the facts with; None: they are not compared
        """
        from placementclient.hosts import archive, assignments
        from placementclient.hosts.balance import ExplainedScope

        hosts = archive.read_hosts(self.args.host_facts)
        names = {facts.hostname for facts in hosts}
        if self.args.numa:
            scope = ExplainedScope(assignments.CELL_CLASSES, names)
            return assignments.assign_numa_cells(hosts, snapshot), scope
        pairs = [text.rpartition('=') for text in self.args.classes]
        by_type = {mdev_type: name for mdev_type, _, name in pairs}
        # A class without a type is that of all other types.
        default = by_type.pop('', assignments.VGPU)
        scope = ExplainedScope({default, *by_type.values()}, names)
        return assignments.assign_mediated_devices(hosts, snapshot, by_type, default), scope

    def _assign_dedicated_cpus(self, snapshot: Snapshot) -> tuple[Results, ExplainedScope]:
        """Return the assignments of dedicated CPUs, and the consumers that need assignments."""
        from placementclient.hosts import pinned
        from placementclient.hosts.balance import ExplainedScope
        from placementclient.nova.images import Images

        sources = service_lists.get_sources()
        migrations = sources.migrations.read_option(self, self.args.migrations)
        servers = sources.servers_with_zones.read(self, *self.args.servers)
        images = Images()
        if self.args.images:
            images = server_options.read_images(self, self.args.images, list(servers.values()))
        path = ', '.join(self.args.servers)
        results = pinned.assign_pinned_servers(servers, path, snapshot, migrations or (), images)
        unlisted = 'it may be of another project, or deleted'
        if migrations is None:
            unlisted += ', or a migration (--migrations)'
        return results, ExplainedScope([pinned.SHARED], unlisted=unlisted)


class WriteDeviceAdditions(base.Lister):
    """Write the additions that bring Nova's PCI devices into Placement.

    The devices are rows of Nova's tables, and the device_spec is that of nova.conf. The rules are
    those of Nova's [pci] report_in_placement. The command prints the devices that it leaves out.
    """

    examples = ('--devices pci.csv --device-spec nova.conf --snapshot cloud.json -o pci.yaml',)
    auth_required = False
    empty_message = _NO_CONTRADICTION
    column_names = _COLUMNS
    statuses = _STATUSES
    options = (
        Option(
            '--devices <file>...',
            required=True,
            help='Rows of pci_devices: CSV, JSON, or the output of mysql --batch or --xml',
        ),
        Option(
            '--device-spec [<host>=]<file>...',
            required=True,
            help='A nova.conf, or the JSON objects of its device_spec; of one host or all others',
        ),
        Option('--snapshot <file>', help='Leave out instances without allocations in this file'),
        Option(
            '-o',
            '--output <file>',
            required=True,
            help='The specification',
            output='a specification of a reshape',
        ),
    )

    def execute(self) -> base.Output:
        from placementclient.files import disk, kinds
        from placementclient.hosts import additions, assignments, device_spec, devices

        rows = [
            device
            for path in self.args.devices
            for device in devices.parse_devices(
                disk.read_text(path, kinds.DEVICES, kinds.CSV), path
            )
        ]
        specs = {}
        for text in self.args.device_spec:
            host, _, path = text.rpartition('=')
            specs[host] = device_spec.parse_device_specs(
                disk.read_text(path, kinds.DEVICE_SPECS, kinds.CONFIGURATION), path
            )
        snapshot = _read_snapshot(self)
        results = additions.build_additions(rows, specs, snapshot)
        entries, contradictions = assignments.split_findings(results)
        disk.write_document(self.args.output, {'additions': entries})
        return _report_contradictions(self, contradictions, snapshot)


def _read_snapshot(command: base.Lister) -> Snapshot | None:
    """Return the snapshot of ``--snapshot``; warn if none is given."""
    from placementclient.files import disk

    if command.args.snapshot:
        return disk.read_snapshot(command.args.snapshot)
    command.log.warning('Without --snapshot nothing is compared with what is allocated')
    return None


def _report_contradictions(
    command: base.Lister, contradictions: Iterable[Finding], snapshot: Snapshot | None
) -> base.Output:
    """Return the table of contradictions; set the exit status, and the message without any.

    :param snapshot: the allocations to which the facts were compared; None: to none
    """
    if snapshot is None:
        command.empty_message = 'The facts do not contradict each other'
    rows = [(item.subject, item.reason, item.facts['file']) for item in contradictions]
    if rows:
        command.exit_status = errors.ExitStatus.DIFFERS
    return _COLUMNS, rows
