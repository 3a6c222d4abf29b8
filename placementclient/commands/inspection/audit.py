"""Faults of a cloud, and commands that fix them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from placementclient.client import errors
from placementclient.client.wording import counted, suggestion
from placementclient.commands.framework import (
    base,
    changing,
    document,
    reading,
    scheduling,
    selectors,
)
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.inspection import examination, lists

if TYPE_CHECKING:
    from placementclient.changes.results import ChangeResult
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.findings import Finding
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.producers.repair import Repairing
    from placementclient.render.repairs import Invocation


class AuditProvider(Changing):
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

    --fix carries out the safe commands: no server loses an allocation that it needs. It deletes
    nothing if the list of servers is not complete, and nothing of a migration under way. Before
    each deletion it reads and checks again. --dry-run prints the changes that --fix would make, and
    --plan writes them as a plan and exits with 0.

    Example:

      openstack resource provider audit --servers servers.json --migrations migrations.json
      openstack resource provider audit --explain orphan
    """

    auth_required = False
    prints = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    statuses = (base.WOULD_DO, (errors.ExitStatus.DIFFERS, 'something is wrong, and is not fixed'))
    options = (
        *reading.OPTIONS,
        *lists.OPTIONS,
        *scheduling.CLOUD,
        *selectors.TREES,
        Option(
            '--explain <id>',
            help='Print what this check finds, why it matters and if the fix is safe; read nothing',
        ),
        Option('--ignore <id>...', help='Leave out this check; may be repeated'),
        Option('--id <id>...', help='Make only this check; may be repeated'),
        Option(
            '--subject <subject>...',
            help='Show and fix only findings of this subject, as in the column subject; may be '
            'repeated',
        ),
        Flag('--fix', help='Carry out the fixes that are safe'),
        *changing.OPTIONS,
    )

    def printed(self) -> Sequence[str]:
        from placementclient.render import audit_checks

        if self.args.dry_run:
            return Changing.prints
        return audit_checks.COLUMNS if self.args.explain else self.prints

    def _check(self) -> None:
        is_asked_to_fix = self.args.fix or self.args.plan or self.args.dry_run
        if self.args.assume and is_asked_to_fix:
            raise errors.UsageError(
                '--assume is to look only: leave out --fix, --dry-run and --plan'
            )
        super()._check()

    def has_text(self) -> bool:
        return not self.args.dry_run or super().has_text()

    def execute(self) -> base.Output:
        from placementclient.insight.audit import checks
        from placementclient.producers import repair
        from placementclient.render import audit_checks
        from placementclient.render import findings as tables

        ids = [check.id for check in checks.CHECKS]
        self._check_ids([*self.args.ignore, *self.args.id], ids)
        if self.args.explain:
            self._check_ids([self.args.explain], ids)
            return audit_checks.rows([checks.CHECKS[ids.index(self.args.explain)]])
        ignored = {*self.args.ignore, *(set(ids).difference(self.args.id or ids))}

        def roots(cloud: Cloud) -> set[str]:
            trees = selectors.trees(self, cloud.snapshot)
            return set(cloud.snapshot.root_uuids(trees))

        def judged(cloud: Cloud, earlier: Cloud | None = None) -> Audit:
            return checks.audit(cloud, earlier, roots(cloud), ignored, self.args.subject)

        if not self.args.dry_run:
            self.args.lines = tables.paragraphs
        cloud, audit, known = examination.examine(self, judged, set(ids) - ignored)
        chosen = len(ids) - len(ignored)
        self.nothing = tables.nothing(chosen - len(audit.left_out), cloud, roots(cloud))
        refused = [id for id, names in audit.left_out.items() if known.refused & set(names)]
        self.warn(tables.failures(known.failures))
        self._name_left_out(audit)
        self.warn(tables.remarks(audit))
        if refused:
            self.warn([f'Not clean: {len(refused)} of {chosen} checks not made'])
        findings = audit.findings
        self._check_subjects(cloud, findings)
        done = None
        if self.args.fix or self.args.plan or self.args.dry_run:
            repairing = self._repairing(cloud.snapshot, findings)
            if self.args.dry_run:
                self.nothing = Changing.nothing
                return self.change(repairing)
            done = self._fix(repairing)
        fixed = {place for place, end in (done or {}).items() if end == repair.DONE}
        left = (finding for place, finding in enumerate(findings) if place not in fixed)
        is_wrong = any(finding.is_wrong for finding in left)
        if not self.args.plan and (is_wrong or refused):
            status = errors.ExitStatus.DIFFERS if is_wrong else errors.ExitStatus.ERROR
            self.exit_status = self.exit_status or status
            if fixed and self.exit_status == errors.ExitStatus.DIFFERS:
                self.ending = f'{len(fixed)} fixed; something else is wrong, and is not fixed'
        return tables.rows(findings, invocation(self, cloud.servers), done)

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], rows: Any
    ) -> int:
        """Print the findings, or the text about a check."""
        if not (parsed_args.explain and parsed_args.formatter in ('table', 'text')):
            return super().produce_output(parsed_args, names, rows)
        from placementclient.render import audit_checks

        with self._printing():
            for line in audit_checks.lines(dict(zip(names, *rows, strict=True)), document.width()):
                self.app.stdout.write(f'{line}\n')
        return 0

    def _name_left_out(self, audit: Audit) -> None:
        """Say how many checks were not made, and with -v which.

        :raises errors.PlacementError: if they were asked for by --id
        """
        from placementclient.render import findings

        groups = findings.left_out(audit)
        if groups and self.args.id:
            raise errors.PlacementError(f'--id needs more lists: {"; ".join(groups)}')
        if groups:
            left_out = counted(len(audit.left_out), 'check')
            self.log.warning(f'Left out: {left_out} that need more lists; -v names them')
        for group in groups:
            self.log.info(f'  {group}')

    def _check_ids(self, given: Sequence[str], known: Sequence[str]) -> None:
        for id in given:
            if id not in known:
                near = suggestion(id, known) or f', but {", ".join(known)}'
                raise errors.UsageError(f'There is no check {id!r}{near}')

    def _check_subjects(self, cloud: Cloud, findings: Sequence[Finding]) -> None:
        """Refuse a subject that nothing has; with --fix a fix may have deleted it."""
        known = cloud.subjects() if self.args.subject else set()
        for subject in self.args.subject:
            if subject not in known and all(each.subject != subject for each in findings):
                near = suggestion(subject, known)
                said = (
                    f'--subject: no provider, consumer, aggregate, server or flavor is "{subject}"'
                    f'{near or ". Give a name of a provider, or a UUID of a consumer"}'
                )
                if not self.args.fix:
                    raise errors.BadArgument(said)
                self.log.warning(said)

    def _repairing(self, snapshot: Snapshot, findings: Sequence[Finding]) -> Repairing:
        """Return the repairs that are safe, by the finding's place."""
        from placementclient.producers.repair import Repairing

        safe = {
            place: finding.repair
            for place, finding in enumerate(findings)
            if finding.repair is not None
        }
        return Repairing(
            self.client,
            snapshot,
            safe,
            is_current=not self.args.snapshot,
            listed=_listed(self.args),
        )

    def _fix(self, repairing: Repairing) -> dict[int, str]:
        """Carry out or plan what is safe; return what came of it, by the finding's place."""
        try:
            plan = repairing.plan()
        except errors.PlacementError as failure:
            if self.args.plan:
                raise
            return repairing.failed(failure)
        if self.args.plan:
            self.write(plan)
            return repairing.planned()
        results: Sequence[ChangeResult] = ()
        if plan.trees:
            self.ask(plan)
            results = self.carry_out(plan, repairing)
            if self.exit_status != errors.ExitStatus.INTERRUPTED:
                self.exit_status = errors.ExitStatus.DONE
        return repairing.ends(results)


def invocation(
    command: base.PlacementCommand,
    servers: Mapping[str, Server] | None,
) -> Invocation:
    """Return the options of the running audit that commands which fix something need too."""
    from placementclient.render.repairs import Invocation

    given = {
        f'--{name}': path
        for name in ('snapshot', 'servers', 'migrations')
        if (path := getattr(command.args, name))
    }
    is_lasting = all(path == NOVA or os.path.isfile(path) for path in given.values())
    heal = _heal_lists(command.args, servers)
    sources = given if is_lasting else None
    return Invocation(command.program, sources, heal, is_assumed=bool(command.args.assume))


def _heal_lists(args: argparse.Namespace, servers: Mapping[str, Server] | None) -> dict[str, str]:
    """The files that ``allocation heal`` can read too, by its option for each."""
    if not all(server.is_detailed for server in (servers or {}).values()):
        return {}
    given = {'--servers': args.servers, '--migrations': args.migrations}
    return {option: path for option, path in given.items() if path and path != NOVA}


def _listed(args: argparse.Namespace) -> datetime | None:
    """Return the time of the older list; ``None`` if both are younger than the snapshot."""
    given = args.servers, args.migrations
    lists = [path for path in given if path and path != NOVA]
    if not lists:
        # Asked of the service itself, after the snapshot was taken.
        return None
    listed = min(map(_written, lists))
    if args.snapshot and _written(args.snapshot) < listed:
        return None
    return listed


def _written(path: str) -> datetime:
    """Return the time when a file was written; now, for a pipe."""
    try:
        return datetime.fromtimestamp(os.path.getmtime(path), UTC)
    except OSError:
        return datetime.now(UTC)
