"""What is wrong."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from placementclient import errors
from placementclient.commands import base
from placementclient.commands.base import Option
from placementclient.commands.snapshot import SNAPSHOT, TREE, taken

if TYPE_CHECKING:
    from placementclient.insight.audit.findings import Finding
    from placementclient.model.servers import Server, ServerMigration
    from placementclient.render.columns import Output

T = TypeVar('T')

_FIXED = 'done'


class AuditProvider(base.Lister):
    """Find what is inconsistent, with the evidence and the command that mends it.

    Ends with exit status 3 if there is anything. Who should hold nothing, or not there, is told by
    lists of servers and of migrations, made after the snapshot:

      openstack server list --all-projects --long -f json > servers.json
      openstack server migration list -f json > migrations.json

    Without files the compute service is asked, where the session's catalog has one. --fix runs what
    is safe: nobody loses anything that it uses, and what a migration holds is left alone.

    Example:

      openstack resource provider audit --servers servers.json --migrations migrations.json
    """

    auth_required = False
    prints = ('id', 'severity', 'subject', 'evidence', 'command', 'fix')
    statuses = ((errors.ExitStatus.DIFFERS, 'something was found, and is not mended'),)
    options = (
        SNAPSHOT,
        Option('--servers', metavar='<file>', help='The list of all servers, as JSON'),
        Option('--migrations', metavar='<file>', help='The list of all migrations, as JSON'),
        TREE,
        Option(
            '--ignore',
            metavar='<id>',
            action='append',
            default=[],
            help='Leave out a check, by its id; may be repeated',
        ),
        Option('--fix', action='store_true', help='Run the commands that are safe'),
        base.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.insight.audit import checks
        from placementclient.insight.audit.cloud import Cloud
        from placementclient.render import findings as tables

        self._check_ids(parsed_args.ignore, [check.id for check in checks.CHECKS])
        snapshot = taken(self, parsed_args)
        # After the snapshot, so that a server that is new in it is in the list.
        cloud = Cloud(snapshot, *self._known(parsed_args))
        roots = {self._root(cloud, name) for name in parsed_args.tree}
        findings = list(checks.audit(cloud, roots, parsed_args.ignore))
        if not findings and parsed_args.formatter == self.formatter_default:
            made = len(checks.CHECKS) - len(set(parsed_args.ignore))
            self.log.warning(tables.nothing(made, cloud, roots))
        done = self._fix(findings, parsed_args) if parsed_args.fix else None
        if any((done or {}).get(place) != _FIXED for place in range(len(findings))):
            self.exit_status = errors.ExitStatus.DIFFERS
        return tables.rows(findings, self.program, done)

    def _check_ids(self, given: Sequence[str], known: Sequence[str]) -> None:
        for id in given:
            if id not in known:
                raise errors.UsageError(f'There is no check {id!r}, but {", ".join(known)}')

    def _root(self, cloud: Any, name: str) -> str:
        state = cloud.snapshot.find(name)
        if state is None:
            raise errors.NoSuchProvider(f'No resource provider has the name or UUID {name!r}')
        root: str = cloud.root_of(state)
        return root

    def _known(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Mapping[str, Server] | None, Sequence[ServerMigration] | None]:
        """The servers and the migrations, as far as somebody says which there are."""
        from placementclient.nova import records, service

        paths = parsed_args.servers, parsed_args.migrations
        if any(paths) or parsed_args.snapshot:
            return _read(paths[0], records.servers), _read(paths[1], records.migrations)
        try:
            listed = service.servers(self.client), service.migrations(self.client)
        except service.NoCompute as reason:
            self.log.warning(
                f'Without the compute service ({reason}) nothing is said of orphans; '
                'give --servers and --migrations'
            )
            return None, None
        source = 'the compute service'
        return records.servers(listed[0], source), records.migrations(listed[1], source)

    def _fix(self, findings: Sequence[Finding], parsed_args: argparse.Namespace) -> dict[int, str]:
        """Run what is safe; what came of it, by the finding's place."""
        from placementclient.render import repairs
        from placementclient.workflows import repair

        safe = {
            place: finding.fault.repair
            for place, finding in enumerate(findings)
            if finding.fault.repair is not None
        }
        if not safe:
            return {}
        commands = {place: repairs.command(fix, self.program) for place, fix in safe.items()}
        shown = '\n'.join(f'  {command}' for command in commands.values())
        self.confirm(f'Run these {len(safe)} commands?\n{shown}\n', parsed_args)
        listed = _listed(parsed_args)
        done = {}
        for place, fix in safe.items():
            try:
                repair.apply(self.client, fix, listed)
                done[place] = _FIXED
            except errors.PlacementError as failure:
                done[place] = f'failed: {failure}'
            self.log.info(f'{commands[place]}: {done[place]}')
        return done


def _read(path: str | None, parse: Callable[[Any, str], T]) -> T | None:
    from placementclient import files

    return parse(files.read_document(path), path) if path else None


def _listed(parsed_args: argparse.Namespace) -> datetime | None:
    """When the older of the lists was finished; ``None`` if they are younger than the snapshot."""
    lists = [path for path in (parsed_args.servers, parsed_args.migrations) if path]
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
