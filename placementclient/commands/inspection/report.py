# SPDX-License-Identifier: Apache-2.0
"""A whole cloud on one page."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from placementclient import get_name_and_version
from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.basis.wording import join_names
from placementclient.commands.framework import base, cloud_options
from placementclient.commands.framework.option import Option
from placementclient.commands.inspection import audit, audit_lists

if TYPE_CHECKING:
    from placementclient.commands.inspection.audit_lists import AuditedCloud
    from placementclient.model.plans import Plan
    from placementclient.model.snapshots import Snapshot

_UNUSABLE = 'a list cannot be used, and the page is written without it'


class WriteReport(base.PlacementCommand):
    """Write a report for people: one file of HTML that needs no network.

    It begins with the result, the worst first: the worst finding of the audit in large letters or,
    if nothing is wrong, "Nothing found: 44 checks of 300 trees". It has the capacity of each class,
    the fill of each host, and the findings of the audit. Lists can be searched, filtered, and saved
    as CSV. With --plan it has each host before and after, and the place of each server with the
    reason. Use it for a change request, or for the morning meeting.

    Leaked allocations, and the names of servers, need the lists of servers and migrations. To
    compare two days, use resource provider snapshot diff.
    """

    examples = (
        '--servers servers.json --migrations migrations.json -o report.html',
        '--snapshot cloud.json --plan plan.json -o report.html',
    )
    auth_required = False
    statuses = ((ExitStatus.DIFFERS, _UNUSABLE),)
    options = (
        *cloud_options.OPTIONS,
        Option('--plan <file>', help='Show the effect of this plan file'),
        Option(
            '--drain <file>',
            help='Show this file of drain plan -o: the hosts before and after, and the waves',
        ),
        *audit_lists.LISTS,
        Option(
            '--title <text>',
            default='',
            help='The title of the page (default: "Capacity report", or with --plan "Reshape plan '
            'and capacity")',
        ),
        Option(
            '-o',
            '--output <file>',
            default='-',
            help='Write the page to this file; default: standard output, unless that is a terminal',
            output='a page',
        ),
    )

    def execute(self) -> None:
        from placementclient.files import disk, kinds
        from placementclient.insight.audit import checks
        from placementclient.render.report import page
        from placementclient.render.report.contents import Report, add_planned_rows
        from placementclient.render.report.drain import make_drain_section
        from placementclient.runs import storage

        if self.args.output == disk.STANDARD and self.app.stdout.isatty():
            self.exit_with_usage('the following arguments are required: -o')
        # A missing template is an error before the cloud is read, which takes long.
        template = page.load_template()
        plan = storage.read_plan(self.args.plan) if self.args.plan else None
        if plan is not None and plan.recipe is None:
            plan = add_planned_rows(plan)
        audited = audit_lists.read_and_audit(self, checks.audit)
        cloud, result, lists = audited
        if plan is not None:
            _refuse_trees_missing_in_snapshot(plan, cloud.snapshot)
        drain = self.args.drain and make_drain_section(
            disk.read_document(self.args.drain, kinds.DRAIN_PLAN), self.args.drain, cloud.snapshot
        )
        self._warn_of_missing_lists(audited)
        report = Report(
            cloud,
            result,
            plan,
            os.path.basename(self.args.snapshot or ''),
            made_at=datetime.now(UTC).isoformat(timespec='seconds'),
            made_by=get_name_and_version(),
            invocation=audit.make_audit_invocation(self, cloud.servers),
            assuming=tuple(map(os.path.basename, self.args.assume)),
            drain=drain,
            title=self.args.title,
            cloud_name='' if self.args.snapshot else self._get_cloud_name(),
        )
        disk.write_text(self.args.output, page.render_page(template, report))
        if lists.refused or cloud.hosts_of_cells_down:
            is_wrong = any(finding.is_error_or_warning for finding in result.findings)
            self.exit_status = ExitStatus.DIFFERS if is_wrong else ExitStatus.ERROR

    def _warn_of_missing_lists(self, audited: AuditedCloud) -> None:
        """Warn of lists that are missing or refused, and of servers that audit could not judge."""
        from placementclient.render import findings

        cloud, result, lists = audited
        self.warn(
            (
                *findings.describe_unread_lists(lists.failures),
                *lists.faults,
                *findings.describe_unjudged_servers(result),
            )
        )
        self.warn(findings.describe_cells_down(cloud.hosts_of_cells_down))
        missing = [name for name in audit_lists.NEEDED_LISTS if name not in lists.records]
        if missing and not lists.failures and not lists.faults and self.app.stderr.isatty():
            files = ', '.join(f'--{name} FILE' for name in missing)
            self.log_hint(f'Names of servers and leaked allocations: add {files}')

    def _get_cloud_name(self) -> str:
        """Return the cloud in ``clouds.yaml`` and its region; an empty text without one."""
        options = self.app.options
        # OpenStackClient calls the option ``cloud``.
        name = getattr(options, 'os_cloud', None) or getattr(options, 'cloud', None)
        region = getattr(self.app.client_manager, 'region_name', None)
        return ', '.join(map(str, filter(None, (name, region))))


def _refuse_trees_missing_in_snapshot(plan: Plan, snapshot: Snapshot) -> None:
    missing = [
        name
        for tree in plan.changes
        for uuid, name in tree.roots.items()
        if uuid not in snapshot.providers
        and uuid not in {change.uuid for change in tree.list_created_providers()}
    ]
    if missing:
        raise errors.BadArgument(
            f'The plan changes providers that do not exist: {join_names(missing, 8)}'
        )
