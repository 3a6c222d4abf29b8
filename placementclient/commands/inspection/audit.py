# SPDX-License-Identifier: Apache-2.0
"""Faults of a cloud, and commands that fix them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.commands.framework import (
    base,
    change_command,
    cloud_options,
    consumer_options,
    progress,
    selection_options,
    server_options,
    service_lists,
)
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.inspection import audit_lists
from placementclient.commands.inspection.audit_lists import NEEDED_LISTS
from placementclient.model.catalog import NOVA
from placementclient.model.providers import is_uuid

if TYPE_CHECKING:
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.findings import Finding
    from placementclient.model.outcomes import TreeResult
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova.ratios import ConfiguredRatio
    from placementclient.producers.proof import FreeingProof
    from placementclient.producers.repair import RepairProducer
    from placementclient.render.repairs import Invocation


#: The last sentence of an audit without a compute service in the catalog.
_NOT_LOOKED_FOR = 'Leaked allocations were not looked for: the catalog has no compute service'
#: The next step if consumers have changed between the snapshot and their repair.
_RUN_AGAIN = 'Run the audit again; if you gave files, with a new snapshot and new lists'


class AuditCloud(ChangeCommand):
    """Find leaked allocations and other faults, with the evidence and the command that fixes each.

    Audit compares Placement with Nova, Keystone, Ironic and Neutron. It asks the services of the
    catalog, or reads the files that you name. Make the files after the snapshot:

      openstack server list --all-projects --long -f json > servers.json
      openstack server migration list -f json > migrations.json
      openstack compute service list -f json > services.json

    The files may also have the answers of the APIs. With GET /servers/detail, which has flavors,
    audit knows the amounts that a server should hold. A check without its list is left out.
    Standard error has the number of these checks, and with -v their names.

    On a terminal each finding is a paragraph, elsewhere a row of a table. The column command has a
    command that is safe to run as it is. If it is empty, the column reason says why. --explain
    prints what a check finds, why it matters, and if the fix is safe.

    --fix carries out the safe commands: no server loses an allocation that it needs. It frees a
    consumer only by a record of its server: that it is deleted, or settled on another host. If the
    catalog has Nova, it asks for that record just before. Otherwise the lists must have it:

      openstack server list --all-projects --deleted --long -f json > deleted.json

    That a list lacks a server frees nothing. For a consumer that no record has, --gone is your own
    word that it is gone.

    --plan writes the changes that --fix would make as a plan, and exits with 0.
    """

    examples = ('--servers servers.json --migrations migrations.json', '--explain orphan')
    auth_required = False
    column_names = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    statuses = (
        base.WOULD_CHANGE,
        (errors.ExitStatus.DIFFERS, 'Problems found; nothing was fixed'),
        (errors.ExitStatus.PARTIAL, 'some findings are fixed, some are not'),
    )
    options = (
        *cloud_options.OPTIONS,
        *audit_lists.LISTS,
        *server_options.CLOUD_OPTIONS,
        server_options.IMAGES,
        *selection_options.TREES,
        consumer_options.GONE,
        consumer_options.IGNORED,
        Option(
            '--explain <id>',
            help='Print what this check finds, why it matters and if the fix is safe; read nothing',
        ),
        Option(
            '--compute-conf <host>=<file>...',
            help='Compare the allocation ratios of a host with the nova.conf of its nova-compute',
        ),
        Option('--ignore <id>...', help='Leave out this check'),
        Option('--id <id>...', help='Make only this check'),
        Option(
            '--subject <subject>...',
            help='Show and fix only findings of this subject, as in the column subject',
        ),
        Flag('--fix', help='Carry out the fixes that are safe'),
        *change_command.OPTIONS,
    )

    def shows_changes(self) -> bool:
        return bool(self.args.dry_run)

    def list_column_names(self) -> Sequence[str]:
        from placementclient.render import audit_checks

        return audit_checks.COLUMNS if self.args.explain else super().list_column_names()

    @property
    def _is_fixing(self) -> bool:
        """Return whether the command carries out, plans or shows repairs."""
        return bool(self.args.fix or self.args.plan or self.args.dry_run)

    def check_options(self) -> None:
        """Refuse wrong options; choose text in place of a table for ``--explain``."""
        if self.args.assume and self._is_fixing:
            raise errors.UsageError(
                '--assume changes nothing: leave out --fix, --dry-run and --plan'
            )
        super().check_options()
        if self.args.explain and self.args.formatter == 'table':
            self.args.formatter = 'text'

    def can_print_text(self) -> bool:
        return not self.args.dry_run or super().can_print_text()

    def format_lines(
        self, names: Sequence[str], rows: Iterable[Sequence[object]], width: int
    ) -> Iterable[str]:
        """Return the lines of findings, changes or one check for ``-f text``."""
        from placementclient.insight.audit.checks import CHECKS
        from placementclient.render import audit_checks, findings

        if self.args.explain:
            [check] = (check for check in CHECKS if check.id == self.args.explain)
            return audit_checks.format_check(check, width, self.program)
        if self.args.dry_run:
            return super().format_lines(names, rows, width)
        return findings.format_findings(names, rows, width, self.program)

    def execute(self) -> base.Output:
        from placementclient.insight.audit import checks
        from placementclient.producers import repair
        from placementclient.render import audit_checks
        from placementclient.render import findings as tables

        by_id = {check.id: check for check in checks.CHECKS}
        self._refuse_unknown_check_ids(by_id)
        if self.args.explain:
            return audit_checks.list_checks([by_id[self.args.explain]], self.program)
        chosen = set(self.args.id or by_id).difference(self.args.ignore)

        def audit_cloud(cloud: Cloud, earlier: Cloud | None = None) -> Audit:
            roots = self._select_root_uuids(cloud.snapshot)
            return checks.audit(cloud, earlier, roots, by_id.keys() - chosen, self.args.subject)

        facts = self._read_operator_facts()
        cloud, audit, lists = audit_lists.read_and_audit(
            self, audit_cloud, chosen, facts, is_steady=self._is_fixing
        )
        self._warn_of_gaps(cloud, audit, lists, len(chosen))
        self._refuse_unknown_subjects(cloud, audit.findings)
        self.warn(tables.describe_waiting_subjects(cloud, self.args.subject, audit.findings))
        if not self.shows_changes():
            self.empty_message = tables.describe_clean_audit(
                len(chosen) - len(audit.left_out), cloud, self._select_root_uuids(cloud.snapshot)
            )
            self.explanation = (_NOT_LOOKED_FOR,) if 'servers' in lists.absent else ()
        is_incomplete = bool(lists.refused or cloud.hosts_of_cells_down)
        if not self._is_fixing:
            return self._conclude_audit(cloud, audit.findings, None, is_incomplete=is_incomplete)
        proof = self._make_freeing_proof(cloud, facts)
        findings, unproved = self._prove_repairs(proof, cloud, audit.findings)
        safe = {n: finding.repair for n, finding in enumerate(findings) if finding.repair}
        repairing = repair.RepairProducer(
            self.client, cloud.snapshot, safe, is_current=not self.args.snapshot
        )
        if self.args.dry_run:
            repairing.note_failures(findings, unproved)
            return self.plan_and_apply(repairing)
        results = self._fix_findings(repairing) | unproved
        return self._conclude_audit(
            cloud, findings, results, is_incomplete=is_incomplete or proof.is_unasked
        )

    def _conclude_audit(
        self,
        cloud: Cloud,
        findings: Sequence[Finding],
        results: Mapping[int, str] | None,
        *,
        is_incomplete: bool,
    ) -> base.Output:
        """Set the exit status and the next step, and return the table of findings.

        :param results: those of repairs by the position of the finding; None: none was made
        :param is_incomplete: whether an answer of a service is missing
        """
        from placementclient.insight.evidence import CHANGED
        from placementclient.render import findings as tables

        if any(CHANGED in result for result in (results or {}).values()):
            self.next_steps = (_RUN_AGAIN,)
        # A plan repairs nothing, and an interruption stays the status of the command.
        if not self.args.plan and self.exit_status != errors.ExitStatus.INTERRUPTED:
            self._set_status(findings, results, is_incomplete=is_incomplete)
        return tables.list_findings(findings, make_audit_invocation(self, cloud.servers), results)

    def _select_root_uuids(self, snapshot: Snapshot) -> set[str]:
        return set(snapshot.root_uuids(selection_options.select_trees(self, snapshot)))

    def _set_status(
        self, findings: Sequence[Finding], results: Mapping[int, str] | None, *, is_incomplete: bool
    ) -> None:
        """Set the exit status by the first line that is true.

        * ERROR: an answer is missing; without repairs, only if nothing is found wrong.
        * PARTIAL: something is fixed, and something is still wrong.
        * DIFFERS: something is wrong, and nothing is fixed.
        * DONE: nothing is wrong, or everything is fixed.

        :param results: those of repairs by the position of the finding; None: none was made
        :param is_incomplete: whether an answer is missing
        """
        from placementclient.producers import repair

        fixed = {number for number, result in (results or {}).items() if result == repair.DONE}
        is_wrong = any(
            f.is_error_or_warning for number, f in enumerate(findings) if number not in fixed
        )
        self.exit_status = errors.ExitStatus.DONE
        if is_incomplete and (results is not None or not is_wrong):
            self.exit_status = errors.ExitStatus.ERROR
        elif is_wrong and fixed:
            self.exit_status = errors.ExitStatus.PARTIAL
            self.ending = f'{len(fixed)} fixed; other problems were not fixed'
        elif is_wrong:
            self.exit_status = errors.ExitStatus.DIFFERS
        elif fixed:
            self.ending = f'{len(fixed)} fixed'

    def _read_operator_facts(self) -> audit_lists.OperatorFacts:
        from placementclient.nova import service

        gone = consumer_options.read_consumer_uuids(consumer_options.GONE, self.args.gone)
        ignored = consumer_options.read_consumer_uuids(
            consumer_options.IGNORED, self.args.ignore_consumer
        )
        if both := sorted(gone & ignored):
            raise errors.UsageError(f'--gone and --ignore-consumer both name {both[0]}')
        is_nova_asked = self._is_fixing and service.has_nova(self.client)
        return audit_lists.OperatorFacts(gone, ignored, is_nova_asked, self._read_ratios())

    def _read_ratios(self) -> dict[str, dict[str, ConfiguredRatio]]:
        """Return the allocation ratios in the files of ``--compute-conf``, by host and class."""
        from placementclient.files import disk, kinds
        from placementclient.nova import ratios

        files: dict[str, str] = {}
        for argument in self.args.compute_conf:
            host, _, path = argument.partition('=')
            if not (host and path):
                raise errors.UsageError(f'--compute-conf: {argument!r} is not <host>=<file>')
            if host in files:
                raise errors.UsageError(f'--compute-conf: two files for {host}')
            files[host] = path
        return {
            host: ratios.parse_ratios(disk.read_text(path, kinds.CONFIGURATION), path)
            for host, path in files.items()
        }

    def _make_freeing_proof(self, cloud: Cloud, facts: audit_lists.OperatorFacts) -> FreeingProof:
        """Return the proof for freeing consumers; refuse what ``--gone`` names and may exist."""
        from placementclient.producers.proof import FreeingProof

        proof = FreeingProof(
            self.client,
            cloud.topology,
            cloud.lists.servers or {},
            cloud.nova_records,
            is_nova_asked=facts.is_nova_asked,
        )
        proof.refuse_existing_consumers(sorted(facts.gone))
        return proof

    def _prove_repairs(
        self, proof: FreeingProof, cloud: Cloud, findings: Sequence[Finding]
    ) -> tuple[list[Finding], dict[int, str]]:
        """Ask Nova for the record of each consumer that a repair would free.

        :return: the findings, without unproved repairs, and the reasons by position of the finding
        """
        from placementclient.producers import repair
        from placementclient.render import findings as tables

        self.warn(tables.describe_known_consumers(cloud, findings))
        with progress.show_progress(self, repair.count_freeing_findings(findings)) as show:
            return repair.prove_findings(proof, findings, show)

    def _refuse_unknown_check_ids(self, known_ids: Collection[str]) -> None:
        for id in (*self.args.ignore, *self.args.id, *filter(None, [self.args.explain])):
            if id not in known_ids:
                near = suggest_similar(id, known_ids) or f'. Choose from {", ".join(known_ids)}'
                raise errors.UsageError(f'There is no check {id!r}{near}')

    def _warn_of_gaps(
        self, cloud: Cloud, audit: Audit, lists: audit_lists.ServiceLists, check_count: int
    ) -> None:
        """Warn of missing lists, of checks that were not made, and of unjudged servers."""
        from placementclient.render import findings as tables

        self.warn(tables.describe_unread_lists(lists.failures))
        self.warn(lists.faults)
        self._log_left_out_checks(audit)
        self.warn(tables.describe_unjudged_servers(audit))
        self.warn(tables.describe_cells_down(cloud.hosts_of_cells_down))
        if refused := sum(not lists.refused.isdisjoint(n) for n in audit.left_out.values()):
            self.log.warning(f'Incomplete: {refused} of {check_count} checks not made')

    def _log_left_out_checks(self, audit: Audit) -> None:
        """Log how many checks lack a list, with ``-v`` also which; refuse them with ``--id``."""
        from placementclient.render import findings

        groups = findings.list_omitted_checks(audit)
        if self.args.id and audit.left_out.keys() - {finding.kind for finding in audit.findings}:
            raise errors.PlacementError(f'--id needs more lists: {"; ".join(groups)}')
        if groups:
            self.log.warning(findings.summarize_omitted_checks(audit))
        for group in groups:
            self.log.info(f'  {group}')

    def _refuse_unknown_subjects(self, cloud: Cloud, findings: Sequence[Finding]) -> None:
        """Refuse a ``--subject`` that does not exist; warn with ``--fix``, which may delete it."""
        subjects = cloud.list_subjects() if self.args.subject else set()
        for subject in self.args.subject:
            if subject not in subjects and all(f.subject != subject for f in findings):
                uuids = [u for u, server in cloud.servers.items() if server.name == subject]
                near = f'. Servers have UUIDs: --subject {" or ".join(uuids)}' if uuids else ''
                near = near or suggest_similar(subject, subjects)
                message = (
                    f'--subject: no provider, consumer, aggregate, server or flavor is "{subject}"'
                    f'{near or ". Give a name of a provider, or a UUID of a consumer"}'
                )
                if not self.args.fix:
                    raise errors.BadArgument(message)
                self.log.warning(message)

    def _fix_findings(self, producer: RepairProducer) -> dict[int, str]:
        """Apply or plan the safe repairs; return the results by the positions of their findings."""
        try:
            plan = producer.plan()
        except errors.PlacementError as failure:
            if self.args.plan:
                raise
            return producer.describe_failure(failure)
        if self.args.plan:
            self.write_plan(plan)
            return producer.describe_results((), (), 'planned')
        results: Sequence[TreeResult] = ()
        if plan.changes:
            self.confirm_plan(plan)
            results = self.apply_plan(plan, producer)
        return producer.describe_results(plan.changes, results)


def make_audit_invocation(
    command: base.PlacementCommand, servers: Mapping[str, Server]
) -> Invocation:
    """Return the options of this audit that the commands in its table need too."""
    from placementclient.render.repairs import Invocation

    named = ('snapshot', *NEEDED_LISTS, 'hypervisors', 'gone', 'ignore_consumer')
    options = {f'--{name.replace("_", "-")}': getattr(command.args, name, None) for name in named}
    sources = [
        (o, path)
        for o, option in options.items()
        for path in service_lists.list_named_sources(option)
    ]
    is_lasting = all(path == NOVA or is_uuid(path) or os.path.isfile(path) for _, path in sources)
    # "allocation heal" needs the details of servers too.
    is_detailed = all(server.is_detailed for server in servers.values())
    heal = [(o, path) for o, path in sources if o.strip('-') in NEEDED_LISTS and path != NOVA]
    return Invocation(
        command.program,
        sources=sources if is_lasting else None,
        heal=heal if is_detailed else (),
        is_assumed=bool(command.args.assume),
        servers=servers,
    )
