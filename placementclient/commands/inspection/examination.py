"""The clouds that an audit compares: a snapshot, and lists of other services."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.client import errors
from placementclient.commands.framework import base, compute, reading, scheduling
from placementclient.commands.framework.compute import IRONIC, KEYSTONE, NEUTRON, NOVA
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot


def _list(name: str, what: str, service: str) -> Option:
    return Option(
        f'--{name}',
        metavar=f'<file>|{service}',
        help=f'The list of all {what}, as JSON; {service}: ask the service of the catalog',
    )


#: The options for the lists.
LISTS = (
    _list('servers', 'servers', NOVA),
    _list('migrations', 'migrations', NOVA),
    _list('services', 'nova-compute services', NOVA),
    _list('hypervisors', 'hypervisors with details, below compute API 2.88', NOVA),
    _list('flavors', 'flavors with extra specs', NOVA),
    _list('limits', 'registered limits', KEYSTONE),
    _list('nodes', 'bare metal nodes with details', IRONIC),
    _list('ports', 'ports with resource_request, as an administrator sees them', NEUTRON),
    _list('agents', 'agents of Neutron, as an administrator sees them', NEUTRON),
    _list('subnets', 'subnets, for the segments of routed networks', NEUTRON),
)
_NO_CATALOG = (
    'There is no service catalog (auth type none or placement_direct), so that no other service '
    'can be asked'
)
_NAMES = tuple(option.dest for option in LISTS)
#: Every audit needs these: they say which server should hold what.
ALWAYS = ('servers', 'migrations')


class Lists(NamedTuple):
    """The lists that the audit has.

    :param known: by the name of the option
    :param failures: why a service that no option names has not answered, by the name of the option
    :param refused: the names of those that a service of the catalog refused or did not answer
    :param is_live: True if a service was asked for one
    """

    known: Mapping[str, Any]
    failures: Mapping[str, str]
    refused: frozenset[str]
    is_live: bool


def _lists(command: base.PlacementCommand, wanted: Collection[str]) -> Lists:
    """Read the lists of the options; without options or a snapshot, ask for those wanted."""
    from placementclient.nova import service

    given = {name: getattr(command.args, name, None) for name in _NAMES}
    is_told = any(given.values()) or command.args.snapshot
    known: dict[str, Any] = {}
    failures: dict[str, str] = {}
    silent: dict[str, errors.PlacementError] = {}
    refused: set[str] = set()
    is_live = False
    sources = compute.sources()
    for name in _NAMES:
        source = sources[name]
        is_asked = not is_told and name in (*ALWAYS, *wanted)
        where = given[name] or (source.service if is_asked else None)
        if where is None:
            continue
        is_live = is_live or where == source.service
        reason = silent.get(source.service)
        if reason is None:
            try:
                known[name] = source.read(command, where)
                continue
            except (service.NoCompute, errors.BadFile) as failure:
                if given[name]:
                    raise
                reason = failure
        failures[name] = _NO_CATALOG if isinstance(reason, service.NoCatalog) else str(reason)
        if isinstance(reason, service.ServiceRefusal | service.ServiceSilence):
            refused.add(name)
        if not isinstance(reason, service.ServiceRefusal | errors.BadFile):
            # It would be waited for again for each of its lists.
            silent[source.service] = reason
    return Lists(known, failures, frozenset(refused), is_live)


def examine(
    command: base.PlacementCommand,
    judged: Callable[[Cloud, Cloud | None], Audit],
    ids: Collection[str] = (),
) -> tuple[Cloud, Audit, Lists]:
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
    command: base.PlacementCommand, ids: Collection[str], *, is_reversed: bool = False
) -> tuple[Cloud, Lists]:
    """Read the snapshot and then the lists: a server that is new in the one is in the others."""
    from placementclient.insight.audit.checks import CHECKS
    from placementclient.insight.audit.cloud import Answers, Cloud
    from placementclient.model.servers import Server

    made = [check for check in CHECKS if not ids or check.id in ids]
    wanted = {name for check in made for name in (*check.needs, *check.also)}
    if command.args.assume:
        # The other services know the hosts as they are, not as they are assumed to be.
        wanted &= {'flavors', 'limits'}
    lists = _lists(command, wanted) if is_reversed else None
    assumption = reading.cloud(command)
    lists = lists or _lists(command, wanted)
    known = lists.known
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
    return Cloud(assumption.snapshot, servers, migrations, unsettled, answers), lists


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
