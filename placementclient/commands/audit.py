"""What is wrong."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from placementclient import errors
from placementclient.commands import base, compute, option
from placementclient.commands.compute import NOVA
from placementclient.commands.option import Option
from placementclient.commands.snapshot import SNAPSHOT, TREE, taken
from placementclient.wording import counted

if TYPE_CHECKING:
    from placementclient.http import Client
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.insight.audit.findings import Finding
    from placementclient.model.servers import Server, ServerMigration
    from placementclient.model.snapshots import Snapshot
    from placementclient.render.columns import Output

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


class AuditProvider(base.Lister):
    """Find what is inconsistent, with the evidence and the command that mends it.

    Ends with exit status 3 if there is anything but information. Who should hold nothing, or not
    there, is told by lists of servers and of migrations, made after the snapshot:

      openstack server list --all-projects --long -f json > servers.json
      openstack server migration list -f json > migrations.json

    Servers that hold nothing, though they are on a host, are found too; what they should hold is
    told where the list is what GET /servers/detail answers. The table is wide: --fit-width wraps
    it, -c command -f value prints the commands alone.

    Without files the compute service is asked, where the session's catalog has one. --fix runs what
    is safe: nobody loses anything that it uses, and what a migration holds is left alone.

    Example:

      openstack resource provider audit --servers servers.json --migrations migrations.json
    """

    auth_required = False
    prints = ('id', 'severity', 'subject', 'evidence', 'command', 'fix')
    statuses = ((errors.ExitStatus.DIFFERS, 'something is wrong, and is not mended'),)
    options = (
        SNAPSHOT,
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
        Option('--fix', action='store_true', help='Run the commands that are safe'),
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.insight.audit import checks
        from placementclient.render import findings as tables
        from placementclient.workflows import repair

        self._check_ids(parsed_args.ignore, [check.id for check in checks.CHECKS])
        cloud = read(self, parsed_args)
        roots = {self._root(cloud, name) for name in parsed_args.tree}
        findings = list(checks.audit(cloud, roots, parsed_args.ignore))
        made = len(checks.CHECKS) - len(set(parsed_args.ignore))
        self.nothing = tables.nothing(made, cloud, roots)
        done = self._fix(findings, parsed_args) if parsed_args.fix else None
        for line in tables.doubts(findings) if done is None else ():
            self.log.warning(line)
        mended = {place for place, end in (done or {}).items() if end == repair.DONE}
        if any(each.is_wrong and place not in mended for place, each in enumerate(findings)):
            self.exit_status = self.exit_status or errors.ExitStatus.DIFFERS
        return tables.rows(findings, self.program, done, heal_lists(parsed_args, cloud.servers))

    def _check_ids(self, given: Sequence[str], known: Sequence[str]) -> None:
        for id in given:
            if id not in known:
                raise errors.UsageError(f'There is no check {id!r}, but {", ".join(known)}')

    def _root(self, cloud: Cloud, name: str) -> str:
        state = cloud.snapshot.find(name)
        if state is None:
            raise errors.NoSuchProvider(f'No resource provider has the name or UUID {name!r}')
        return cloud.root_of(state)

    def _fix(self, findings: Sequence[Finding], parsed_args: argparse.Namespace) -> dict[int, str]:
        """Run what is safe; what came of it, by the finding's place."""
        from placementclient.render import repairs
        from placementclient.workflows import repair
        from placementclient.workflows.run import Run

        safe = {
            place: finding.fault.repair
            for place, finding in enumerate(findings)
            if finding.fault.repair is not None
        }
        if not safe:
            return {}
        commands = {place: repairs.command(fix, self.program) for place, fix in safe.items()}
        shown = '\n'.join(f'  {command}' for command in commands.values())
        self.confirm(f'Run {counted(len(safe), "command")}?\n{shown}\n', parsed_args)
        run, done = Run(), {}
        ends = repair.carry_out(self.client, safe.values(), run, _listed(parsed_args))
        for place, end in zip(safe, ends, strict=True):
            done[place] = end
            self.log.info(f'{commands[place]}: {end}')
        if run.is_interrupted:
            self.exit_status = errors.ExitStatus.INTERRUPTED
        return done


def read(command: base._Placement, parsed_args: argparse.Namespace) -> Cloud:
    """What is to be audited: the snapshot, and what the compute service says of its consumers."""
    from placementclient.insight.audit.cloud import Cloud

    snapshot = taken(command, parsed_args)
    # After the snapshot, so that a server that is new in it is in the list.
    servers, migrations = _known(command, parsed_args)
    return Cloud(snapshot, servers, migrations, _unsettled(snapshot, servers))


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


def heal_lists(
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
