"""The clouds that an audit compares: a snapshot, and lists of other services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from placementclient.commands.framework import base, reading, scheduling
from placementclient.commands.inspection import lists

if TYPE_CHECKING:
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot


def examine(
    command: base.PlacementCommand,
    judged: Callable[[Cloud, Cloud | None], Audit],
    ids: Collection[str] = (),
) -> tuple[Cloud, Audit, lists.Lists]:
    """Read and audit the cloud; read it again if answers from different moments may contradict.

    :param judged: audits a cloud, with an earlier reading of it
    :param ids: of the checks that will be made; none: all
    """
    cloud, known = _read(command, ids)
    audit = judged(cloud, None)
    if audit.has_suspects and known.is_live and not command.args.snapshot:
        earlier = cloud
        cloud, known = _read(command, ids, is_reversed=True)
        audit = judged(cloud, earlier)
    return cloud, audit, known


def _read(
    command: base.PlacementCommand,
    ids: Collection[str],
    *,
    is_reversed: bool = False,
) -> tuple[Cloud, lists.Lists]:
    """Read the snapshot and then the lists: a server that is new in the one is in the others.

    :param is_reversed: read the lists first
    """
    from placementclient.insight.audit.checks import CHECKS
    from placementclient.insight.audit.cloud import Answers, Cloud
    from placementclient.model.servers import Server

    made = [check for check in CHECKS if not ids or check.id in ids]
    wanted = {name for check in made for name in (*check.needs, *check.also)}
    if command.args.assume:
        # The other services know the hosts as they are, not as they are assumed to be.
        wanted &= {'flavors', 'limits'}
    if is_reversed:
        found = lists.read(command, wanted)
    assumption = reading.cloud(command)
    if not is_reversed:
        found = lists.read(command, wanted)
    known = found.known
    servers, migrations = known.get('servers'), known.get('migrations')
    answers = Answers(
        **{name: known[name] for name in Answers._fields if name in known},
        scheduling=scheduling.scheduling(command),
    )
    unsettled = _unsettled(assumption.snapshot, servers)
    if servers is not None:
        # Nova does not know the former, and has the latter where they are no more.
        assumed_servers = assumption.placed | (assumption.lost & servers.keys())
        servers = {**servers, **{uuid: Server(uuid) for uuid in assumed_servers}}
    return Cloud(assumption.snapshot, servers, migrations, unsettled, answers), found


def _unsettled(snapshot: Snapshot, servers: Mapping[str, Server] | None) -> set[str]:
    """The servers that Nova has changed since the snapshot, or just before: some are new."""
    from placementclient.producers import repair

    captured = _moment(snapshot.origin.captured_at if snapshot.origin else None)
    if captured is None:
        return set()
    return {
        server.uuid
        for server in (servers or {}).values()
        if (changed := _moment(server.changed_at)) and changed > captured - repair.MARGIN
    }


def _moment(text: str | None) -> datetime | None:
    """Return the time of a text in ISO 8601, in UTC; ``None`` if it is none."""
    try:
        moment = datetime.fromisoformat(text or '')
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
