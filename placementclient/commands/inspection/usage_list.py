# SPDX-License-Identifier: Apache-2.0
"""Usage of the whole cloud, by project, user, host or consumer."""

from __future__ import annotations

from collections.abc import Mapping

from placementclient.basis import errors
from placementclient.commands.framework import base, cloud_options, service_lists
from placementclient.commands.framework.option import Option

#: The option for the names of the subjects, by what the lines are grouped by.
_NAME_OPTIONS = {'project': 'projects', 'user': 'users', 'consumer': 'servers'}


class ListUsage(base.Lister):
    """List the projects, users, hosts or consumers that use resources, the largest first.

    The rows of a class are together. The column percent is the part of the capacity of all
    providers. A host is the root of a provider tree; a shared pool is a root of its own.
    """

    examples = (
        '--by project --class VCPU --top 20 --projects keystone',
        '--by user --users keystone',
        '--by host --class VCPU',
        '--by consumer --class VGPU --snapshot cloud.json --servers servers.json',
    )
    auth_required = False
    empty_message = 'No consumer has allocations'
    needed_columns = ('used', 'host')
    options = (
        Option(
            '--by',
            choices=('project', 'user', 'host', 'consumer'),
            default='project',
            help='Print a row for each project, user, host or consumer, and each class',
        ),
        Option(
            '--class <resource_class>...',
            dest='classes',
            help='Only this resource class',
        ),
        Option('--top <number>', help='Only so many rows of each class, the largest; default: all'),
        service_lists.PROJECTS,
        Option(
            '--users <file>|keystone',
            help='Add the names of users: a file with the output of openstack user list -f json, '
            'or keystone: ask Keystone',
        ),
        Option(
            '--servers <file>|nova...',
            help='Add the names of servers to their consumers: a list of servers as JSON, or nova: '
            'ask Nova',
        ),
        cloud_options.SNAPSHOT,
    )

    def execute(self) -> base.Output:
        from placementclient.basis.wording import suggest_similar
        from placementclient.insight import usage
        from placementclient.render import facts
        from placementclient.render import usage as tables

        by = self.args.by
        self._refuse_unused_name_lists()
        # Before the snapshot, whose reading takes long: a file may be wrong.
        names = {} if by == 'host' else self._read_names(by)
        projects = self._read_names('project') if by == 'consumer' else {}
        snapshot = cloud_options.read_snapshot(self, self.args.snapshot)
        if by == 'host':
            names = {root.uuid: root.name for root in snapshot.roots()}
        lines = usage.sum_by_subject(snapshot, by)
        if classes := set(self.args.classes):
            existing = usage.sum_capacities(snapshot).keys() | {
                line.resource_class for line in lines
            }
            if unknown := sorted(classes - existing):
                near = suggest_similar(unknown, sorted(existing))
                raise errors.BadArgument(f'No provider has inventory of {unknown[0]}{near}')
            lines = [line for line in lines if line.resource_class in classes]
        if self.args.top:
            every, lines = lines, [*usage.select_largest_lines(lines, self.args.top)]
            for name, more in usage.count_equal_lines(lines, every).items():
                self.log_hint(f'Left out: {more} with as much {name} as the last row')
        if unlisted := usage.sum_unlisted_usage(snapshot):
            self.log.warning(
                f'Not in the table: {facts.format_amounts_with_units(unlisted)}. Placement counts '
                'it as used, and no consumer has it'
            )
        self._explain_columns(by)
        self.spare_columns = (
            *(('resource_class',) if len(classes) == 1 else ()),
            *(('percent', 'project') if by == 'consumer' else ()),
        )
        return tables.list_usage(lines, snapshot, names, projects, of_consumers=by == 'consumer')

    def _refuse_unused_name_lists(self) -> None:
        """Refuse ``--projects``, ``--users`` or ``--servers`` if the table has no such column."""
        by = self.args.by
        for subject, option in _NAME_OPTIONS.items():
            has_column = subject in (by, 'project' if by == 'consumer' else by)
            if getattr(self.args, option) and not has_column:
                raise errors.UsageError(f'--{option} is for --by {subject}')

    def _explain_columns(self, subject: str) -> None:
        """Log a hint at the option that adds names, or at what the percentage of a host is.

        :param subject: the subject of the rows, such as ``project`` or ``consumer``
        """
        option = _NAME_OPTIONS.get(subject)
        if option and not getattr(self.args, option) and self.app.stderr.isatty():
            service = 'nova' if subject == 'consumer' else 'keystone'
            self.log_hint(f'Names of {option}: add --{option} {service}, or --{option} FILE')
        if subject == 'host' and self.app.stderr.isatty():
            self.log_hint('percent: of the capacity of all providers, not of the host')

    def _read_names(self, subject: str) -> Mapping[str, str]:
        """Return names by ID, from the list of ``--projects``, ``--users`` or ``--servers``.

        :param subject: ``project``, ``user`` or ``consumer``
        """
        sources, args = service_lists.get_sources(), self.args
        if subject == 'consumer':
            servers = sources.servers.read_option(self, args.servers) or {}
            return {uuid: server.name or '' for uuid, server in servers.items()}
        if subject == 'project':
            return sources.projects.read_option(self, args.projects) or {}
        return sources.users.read_option(self, args.users) or {}
