# SPDX-License-Identifier: Apache-2.0
"""The clouds that an audit compares: a snapshot, and lists of other services."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import errors
from placementclient.commands.framework import base, cloud_options, server_options, service_lists
from placementclient.commands.framework.option import Option, group_options
from placementclient.commands.framework.places import Places
from placementclient.model.catalog import IRONIC, KEYSTONE, NEUTRON, NOVA

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.findings import Finding
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova.ratios import ConfiguredRatio


#: The options for the lists.
LISTS = group_options(
    server_options.LISTS,
    service_lists.SERVERS,
    *(
        Option(
            f'--{name}',
            metavar=f'<file>|{service}',
            help=f'The list of all {content}, as JSON; {service}: ask the service of the catalog',
        )
        for name, content, service in (
            ('migrations', 'migrations', NOVA),
            ('services', 'nova-compute services', NOVA),
            ('hypervisors', 'hypervisors with details, below compute API 2.88', NOVA),
            ('flavors', 'flavors with extra specs', NOVA),
            ('limits', 'registered limits', KEYSTONE),
            ('nodes', 'bare metal nodes with details', IRONIC),
            ('ports', 'ports with resource_request, as an administrator sees them', NEUTRON),
            ('agents', 'agents of Neutron, as an administrator sees them', NEUTRON),
            ('subnets', 'subnets, for the segments of routed networks', NEUTRON),
        )
    ),
)
_NO_CATALOG = (
    'There is no service catalog (auth type none or placement_direct), so that no other service '
    'can be asked'
)
_NAMES = tuple(option.dest for option in LISTS)
#: Every audit needs these, to know the right allocations of each server.
ALWAYS = ('servers', 'migrations')


class Lists(NamedTuple):
    """The lists that the audit has.

    :param records: by the name of the option
    :param failures: why a list of a service is not there, by the name of the option
    :param faults: what is wrong in files
    :param refused: the names of those that were asked for, or given, and cannot be used
    :param absent: the names of those whose service the catalog does not have
    """

    records: dict[str, Any]
    failures: dict[str, str]
    faults: list[str]
    refused: set[str]
    absent: set[str]


class Told(NamedTuple):
    """The word of the operator about consumers and hosts.

    :param is_nova_asked: whether Nova will be asked for each consumer
    :param ratios: those of the files of nova-computes, by host and class
    """

    gone: Collection[str] = ()
    ignored: Collection[str] = ()
    is_nova_asked: bool = False
    ratios: Mapping[str, Mapping[str, ConfiguredRatio]] = MappingProxyType({})


def _is_live(command: base.PlacementCommand, lists: Lists) -> bool:
    """Return whether Nova itself has listed the servers."""
    places = service_lists.list_places(command.args.servers)
    return NOVA in places or ('servers' in lists.records and not places)


class _ListReader:
    """A reading of lists; it asks a silent service once, and repeats one list of one that fails."""

    def __init__(self, command: base.PlacementCommand) -> None:
        self.lists = Lists({}, {}, [], set(), set())
        self._command = command
        self._silent: dict[str, errors.PlacementError] = {}
        self._failing = set[str]()

    def read(self, name: str, source: service_lists.ListSource[Any], places: Sequence[str]) -> None:
        """Read a list; one that cannot be used leaves out its checks."""
        from placementclient.nova import schema, service

        is_file = source.service not in places
        try:
            if not is_file and source.service in self._silent:
                raise self._silent[source.service]
            client = None if is_file else self._patient(source.service)
            self.lists.records[name] = source.read(self._command, *places, client=client)
        except service.NoService as absence:
            if getattr(self._command.args, name):
                raise
            is_missing = isinstance(absence, service.NoCatalog)
            self.lists.failures[name] = _NO_CATALOG if is_missing else str(absence)
            self._silent[source.service] = absence
            self.lists.absent.update([] if is_missing else [name])
        except (service.NoCompute, schema.BadList) as failure:
            if is_file:
                self.lists.faults.append(f'{failure}. The checks that need it are left out')
            else:
                self.lists.failures[name] = str(failure)
            if not isinstance(failure, schema.MissingField):
                self.lists.refused.add(name)
            if isinstance(failure, service.ServiceFailure):
                self._failing.add(source.service)
            if not isinstance(failure, service.ServiceRefusal | schema.BadList):
                # A silent service would cost the timeout for each of its lists.
                self._silent[source.service] = failure

    def _patient(self, name: str) -> Client:
        """Return a client; without retries for a service on which a list has spent them."""
        client = self._command.client
        if name in self._failing:
            client = client.renewed()
            client.max_retries = 0
        return client


def _read_lists(command: base.PlacementCommand, needed: Collection[str]) -> Lists:
    """Read the lists of the options; without options or a snapshot, ask for those needed."""
    options = {name: service_lists.list_places(getattr(command.args, name)) for name in _NAMES}
    # The services tell which cells do not answer: other lists do not.
    default = (*ALWAYS, 'services', *needed)
    if any(options.values()) or command.args.snapshot:
        default = ()
    reader, sources = _ListReader(command), service_lists.make_sources()
    for name, option in options.items():
        if places := option or [sources[name].service] * (name in default):
            reader.read(name, sources[name], places)
    return reader.lists


def examine(
    command: base.PlacementCommand,
    judge: Callable[[Cloud, Cloud | None], Audit],
    ids: Collection[str] = (),
    told: Told | None = None,
    *,
    is_steady: bool = False,
) -> tuple[Cloud, Audit, Lists]:
    """Read and audit the cloud; read it again if answers from different moments may contradict.

    :param judge: audits a cloud, with an earlier reading of it
    :param ids: of the checks that will be made; none: all
    :param is_steady: whether a tree that is not steady is refused, as a fix would rest on it
    """
    read = functools.partial(_read, command, ids, told or Told(), is_steady=is_steady)
    cloud, lists = read()
    audit = judge(cloud, None)
    places = {
        place for n in _NAMES for place in service_lists.list_places(getattr(command.args, n))
    }
    is_live = not places or not places.isdisjoint((NOVA, KEYSTONE, IRONIC, NEUTRON))
    if audit.has_suspects and is_live and not command.args.snapshot:
        earlier = cloud
        cloud, lists = read(is_reversed=True)
        audit = judge(cloud, earlier)
    named = [*_name_aggregates(command, cloud, audit.findings)]
    return cloud, audit._replace(findings=named), lists


def _name_aggregates(
    command: base.PlacementCommand, cloud: Cloud, findings: Sequence[Finding]
) -> Iterator[Finding]:
    """Return findings; those about aggregates also with their names, if a list or Nova has them."""
    places = Places(command, cloud.answers.scheduling.sources.aggregates)
    for finding in findings:
        aggregate, aggregates = (finding.facts.get(key) for key in ('aggregate', 'aggregates'))
        uuids = {finding.subject, aggregate, *(aggregates or ())} & cloud.topology.members.keys()
        if uuids and (names := places.find_names(uuids)):
            yield replace(finding, facts={**finding.facts, 'aggregate_names': names})
        else:
            yield finding


def _read(
    command: base.PlacementCommand,
    ids: Collection[str],
    told: Told,
    *,
    is_steady: bool,
    is_reversed: bool = False,
) -> tuple[Cloud, Lists]:
    """Read the snapshot and then the lists: a server that is new in the one is in the others."""
    from placementclient.insight.audit.checks import CHECKS
    from placementclient.insight.audit.cloud import Answers, Cloud
    from placementclient.model.servers import Server

    checks = [check for check in CHECKS if not ids or check.id in ids]
    needed = {name for check in checks for name in (*check.needs, *check.also)}
    if command.args.assume:
        # The other services know the real hosts, not the assumed ones.
        needed &= {'flavors', 'limits'}
    lists = _read_lists(command, needed) if is_reversed else None
    assumption = cloud_options.read_cloud(command, is_steady=is_steady)
    lists = lists or _read_lists(command, needed)
    servers = lists.records.get('servers')
    _read_images(command, lists, assumption.snapshot)
    unsettled = _find_unsettled(assumption.snapshot, servers or {})
    if servers is not None:
        # Nova does not know the former, and has the latter where they are no more.
        assumed_servers = assumption.placed | (assumption.lost & servers.keys())
        lists.records['servers'] = servers | {uuid: Server(uuid) for uuid in assumed_servers}
    answers = Answers(
        **lists.records,
        scheduling=server_options.read_scheduling_options(command),
        gone=told.gone,
        ignored=told.ignored,
        ratios=_group_by_root(assumption.snapshot, told.ratios),
        is_nova_asked=told.is_nova_asked or _is_live(command, lists),
    )
    return Cloud(assumption.snapshot, answers, unsettled), lists


def _read_images(command: base.PlacementCommand, lists: Lists, snapshot: Snapshot) -> None:
    """Read the images of the servers that hold something, where the option names them."""
    from placementclient.nova import schema, service

    servers = lists.records.get('servers', {})
    source = vars(command.args).get('images')
    if not source or not servers:
        return
    try:
        placed = [server for uuid, server in servers.items() if uuid in snapshot.consumers]
        lists.records['images'] = server_options.read_images(command, source, placed)
    except schema.BadList as fault:
        lists.faults.append(f'{fault}. Only the flavors of servers count')
        lists.refused.add('images')
    except service.NoCompute as failure:
        lists.failures['images'] = str(failure)
        lists.refused.add('images')


def _group_by_root(
    snapshot: Snapshot, ratios: Mapping[str, Mapping[str, ConfiguredRatio]]
) -> dict[str, Mapping[str, ConfiguredRatio]]:
    """Return the ratios by the UUIDs of the roots; a host may have the name of any in its tree."""
    return {snapshot.existing(h).provider.root_uuid: named for h, named in ratios.items()}


def _find_unsettled(snapshot: Snapshot, servers: Mapping[str, Server]) -> set[str]:
    """The servers that Nova has changed since the snapshot, or just before: some are new."""
    from placementclient.producers import repair

    captured = _parse_moment(snapshot.origin.captured_at if snapshot.origin else None)
    if captured is None:
        return set()
    return {
        server.uuid
        for server in servers.values()
        if (changed := _parse_moment(server.updated)) and changed > captured - repair.MARGIN
    }


def _parse_moment(text: str | None) -> datetime | None:
    """Return the time of a text in ISO 8601, in UTC; ``None`` if it is none."""
    try:
        moment = datetime.fromisoformat(text or '')
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
