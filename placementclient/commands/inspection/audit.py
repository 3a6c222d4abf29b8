"""Faults of a cloud, and the commands that fix them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from placementclient.client import errors
from placementclient.commands.framework import base, changing, compute, option
from placementclient.commands.framework.assuming import ASSUME, assumed
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Option
from placementclient.commands.snapshots.snapshot import SNAPSHOT, TREE, taken

if TYPE_CHECKING:
    from placementclient.changes.results import Carried
    from placementclient.client.http import Client
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.insight.audit.findings import Finding
    from placementclient.model.servers import Server, ServerMigration
    from placementclient.model.snapshots import Snapshot
    from placementclient.render.columns import Output
    from placementclient.render.repairs import Invocation

T = TypeVar('T')

SERVERS = Option(
    '--servers',
    metavar='<file>|nova',
    help='The list of all servers, as JSON, or nova: the compute service is asked',
)
MIGRATIONS = Option(
    '--migrations',
    metavar='<file>|nova',
    help='The list of all migrations, as JSON, or nova: the compute service is asked',
)


class AuditProvider(Changing):
    """Find leaked allocations and other faults, with the evidence and the command that fixes each.

    Exit status 3 means that there is anything but information. Audit needs the servers and
    migrations of Nova to find leaked allocations: it asks the compute service, or reads files that
    were made after the snapshot:

      openstack server list --all-projects --long -f json > servers.json
      openstack server migration list -f json > migrations.json

    What GET /servers/detail answers has flavors too: with it audit tells what a server should hold.

    --fix carries out what is safe: nobody loses anything that it uses. It deletes nothing by a list
    of servers that does not look complete, and nothing that a migration holds. The column command
    has what is safe to run as it is; where it is empty, the column reason says why. A command that
    deletes reads and judges all again, as --fix does. --plan writes the safe repairs as a plan, and
    fixes nothing: the exit status is 0 then.

    Example:

      openstack resource provider audit --servers servers.json --migrations migrations.json
    """

    auth_required = False
    prints = ('id', 'severity', 'subject', 'evidence', 'command', 'reason', 'fix')
    statuses = ((errors.ExitStatus.DIFFERS, 'something is wrong, and is not fixed'),)
    options = (
        SNAPSHOT,
        ASSUME,
        SERVERS,
        MIGRATIONS,
        TREE,
        Option(
            '--ignore',
            metavar='<id>',
            action='append',
            default=[],
            help='Leave out a check, by its id; may be repeated',
        ),
        Option(
            '--id',
            metavar='<id>',
            action='append',
            default=[],
            help='Make this check only, by its id; may be repeated',
        ),
        Option(
            '--subject',
            metavar='<subject>',
            action='append',
            default=[],
            help='Show and fix only what is found of this subject, as the column subject has it; '
            'may be repeated',
        ),
        Option('--fix', action='store_true', help='Fix what is safe to fix'),
        changing.PLAN,
        option.OVERWRITE,
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.insight.audit import checks
        from placementclient.render import findings as tables
        from placementclient.workflows import repair

        if parsed_args.assume and (parsed_args.fix or parsed_args.plan):
            raise errors.UsageError('--assume is to look only: leave out --fix and --plan')
        ids = [check.id for check in checks.CHECKS]
        self._check_ids([*parsed_args.ignore, *parsed_args.id], ids)
        left_out = {*parsed_args.ignore, *(set(ids).difference(parsed_args.id or ids))}
        cloud = read(self, parsed_args)
        roots = set(cloud.snapshot.root_uuids(parsed_args.tree))
        audit = checks.audit(cloud, roots, left_out, parsed_args.subject)
        self.nothing = tables.nothing(len(ids) - len(left_out), cloud, roots)
        for line in tables.remarks(audit):
            self.log.warning(line)
        findings = audit.findings
        is_asked_to_fix = parsed_args.fix or parsed_args.plan
        done = self._fix(cloud.snapshot, findings, parsed_args) if is_asked_to_fix else None
        fixed = {place for place, end in (done or {}).items() if end == repair.DONE}
        left = (each for place, each in enumerate(findings) if place not in fixed)
        if not parsed_args.plan and any(each.is_wrong for each in left):
            self.exit_status = self.exit_status or errors.ExitStatus.DIFFERS
        return tables.rows(findings, invocation(self, parsed_args, cloud.servers), done)

    def _check_ids(self, given: Sequence[str], known: Sequence[str]) -> None:
        for id in given:
            if id not in known:
                raise errors.UsageError(f'There is no check {id!r}, but {", ".join(known)}')

    def _fix(
        self, snapshot: Snapshot, findings: Sequence[Finding], parsed_args: argparse.Namespace
    ) -> dict[int, str]:
        """Carry out or plan what is safe; return what came of it, by the finding's place."""
        from placementclient.workflows.repair import Repairing

        safe = {
            place: finding.fault.repair
            for place, finding in enumerate(findings)
            if finding.fault.repair is not None
        }
        repairing = Repairing(
            self.client,
            snapshot,
            safe,
            is_current=not parsed_args.snapshot,
            listed=_listed(parsed_args),
        )
        try:
            plan = repairing.plan()
        except errors.PlacementError as failure:
            if parsed_args.plan:
                raise
            return dict.fromkeys(safe, f'failed: {failure}')
        if parsed_args.plan:
            self.write(plan, parsed_args)
            return repairing.planned()
        results: Sequence[Carried] = ()
        if plan.trees:
            self.ask(plan, parsed_args)
            results = self.carry_out(plan, repairing.plan)
            if self.exit_status != errors.ExitStatus.INTERRUPTED:
                self.exit_status = errors.ExitStatus.DONE
        return repairing.ends(results)


def read(command: base._Placement, parsed_args: argparse.Namespace) -> Cloud:
    """What is to be audited: the snapshot, and what the compute service says of its consumers."""
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.servers import Server

    wanted = assumed(command, parsed_args, taken(command, parsed_args))
    snapshot = wanted.snapshot
    # After the snapshot, so that a server that is new in it is in the list.
    servers, migrations = _known(command, parsed_args)
    unsettled = _unsettled(snapshot, servers)
    if servers is not None:
        # Nova does not know the former, and has the latter where they are no more.
        assumed_servers = wanted.placed | (wanted.lost & servers.keys())
        servers = {**servers, **{uuid: Server(uuid) for uuid in assumed_servers}}
    return Cloud(snapshot, servers, migrations, unsettled)


def _known(
    command: base._Placement, parsed_args: argparse.Namespace
) -> tuple[Mapping[str, Server] | None, Sequence[ServerMigration] | None]:
    """The servers and the migrations, as far as somebody says which there are."""
    from placementclient.nova import records, service

    def listed(
        source: str | None, ask: Callable[[Client], list[Any]], parse: Callable[[Any, str], T]
    ) -> T | None:
        return parse(*compute.document(command, source, ask)) if source else None

    sources = parsed_args.servers, parsed_args.migrations
    is_told = any(sources) or parsed_args.snapshot
    servers, migrations = sources if is_told else (NOVA, NOVA)
    try:
        return (
            listed(servers, service.servers, records.servers),
            listed(migrations, service.migrations, records.migrations),
        )
    except service.NoCompute as reason:
        if is_told:
            raise
        command.log.warning(
            f'Without the compute service ({reason}) nothing is said of orphans, nor of '
            'servers that hold nothing; give --servers and --migrations'
        )
        return None, None


def _unsettled(snapshot: Snapshot, servers: Mapping[str, Server] | None) -> set[str]:
    """The servers that Nova has changed since the snapshot, or just before: some are new."""
    from placementclient.workflows import repair

    captured = _moment(snapshot.origin.captured_at if snapshot.origin else None)
    if captured is None:
        return set()
    return {
        server.uuid
        for server in (servers or {}).values()
        if (changed := _moment(server.changed_at)) and changed > captured - repair.MARGIN
    }


def _moment(text: str | None) -> datetime | None:
    """A time of a file, UTC where it does not say so; ``None`` for what is none."""
    try:
        moment = datetime.fromisoformat(text or '')
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def invocation(
    command: base._Placement,
    parsed_args: argparse.Namespace,
    servers: Mapping[str, Server] | None,
) -> Invocation:
    """Return what the commands that fix something repeat of the audit that is running."""
    from placementclient.render.repairs import Invocation

    given = {
        f'--{name}': path
        for name in ('snapshot', 'servers', 'migrations')
        if (path := getattr(parsed_args, name))
    }
    is_lasting = all(path == NOVA or os.path.isfile(path) for path in given.values())
    heal = _heal_lists(parsed_args, servers)
    sources = given if is_lasting else None
    return Invocation(command.program, sources, heal, is_assumed=bool(parsed_args.assume))


def _heal_lists(
    parsed_args: argparse.Namespace, servers: Mapping[str, Server] | None
) -> dict[str, str]:
    """The files that ``allocation heal`` can read too, by its option for each."""
    if not all(server.detail for server in (servers or {}).values()):
        return {}
    given = {'--servers': parsed_args.servers, '--migrations': parsed_args.migrations}
    return {option: path for option, path in given.items() if path and path != NOVA}


def _listed(parsed_args: argparse.Namespace) -> datetime | None:
    """When the older of the lists was finished; ``None`` if they are younger than the snapshot."""
    given = parsed_args.servers, parsed_args.migrations
    lists = [path for path in given if path and path != NOVA]
    if not lists:
        # Asked of the service itself, after the snapshot was taken.
        return None
    listed = min(map(_written, lists))
    if parsed_args.snapshot and _written(parsed_args.snapshot) < listed:
        return None
    return listed


def _written(path: str) -> datetime:
    """When a file was written; now, for what comes through a pipe."""
    try:
        return datetime.fromtimestamp(os.path.getmtime(path), UTC)
    except OSError:
        return datetime.now(UTC)
