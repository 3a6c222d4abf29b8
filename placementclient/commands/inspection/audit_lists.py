# SPDX-License-Identifier: Apache-2.0
"""The clouds that an audit compares: a snapshot, and lists of other services."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import errors
from placementclient.commands.framework import base, cloud_options, server_options, service_lists
from placementclient.commands.framework.aggregate_names import AggregateNames
from placementclient.commands.framework.option import Option, group_options
from placementclient.model.catalog import IRONIC, KEYSTONE, NEUTRON, NOVA

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.audit.checks import Audit
    from placementclient.insight.audit.cloud import Cloud
    from placementclient.model.findings import Finding
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova import schema, service
    from placementclient.nova.ratios import ConfiguredRatio


#: The options for the lists.
LISTS = group_options(
    server_options.LISTS_HEADING,
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
_NAMES = tuple(option.dest for option in LISTS)
#: The lists of every audit, which tell the right allocations of each server.
NEEDED_LISTS = ('servers', 'migrations')


@dataclass(slots=True)
class ServiceLists:
    """The lists of Nova and other services for an audit, each by the name of its option.

    :param records: the records of each list that was read
    :param failures: the reason why a service has not answered, for each list without an answer
    :param faults: the errors in files, as sentences
    :param refused: the names of the lists that were requested and cannot be used
    :param absent: the names of the lists whose service is not in the catalog
    """

    records: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


class OperatorFacts(NamedTuple):
    """The facts about consumers and hosts that the operator gives to the audit.

    :param gone: the UUIDs of consumers that no longer exist
    :param ignored: the UUIDs of consumers that are not servers of Nova
    :param is_nova_asked: whether the command asks Nova for each consumer before it frees it
    :param ratios: the allocation ratios in the files of nova-compute, by host and class
    """

    gone: Collection[str] = ()
    ignored: Collection[str] = ()
    is_nova_asked: bool = False
    ratios: Mapping[str, Mapping[str, ConfiguredRatio]] = MappingProxyType({})


class AuditedCloud(NamedTuple):
    """A cloud with its audit, and the lists that the audit has used."""

    cloud: Cloud
    audit: Audit
    lists: ServiceLists


class _ListReader:
    """Reads lists; asks no service again after a timeout, and with no retries after an error."""

    def __init__(self, command: base.PlacementCommand) -> None:
        self.lists = ServiceLists()
        self._command = command
        self._silent: dict[str, errors.PlacementError] = {}
        self._failing = set[str]()

    def read(self, name: str, source: service_lists.ListSource[Any], places: Sequence[str]) -> None:
        """Read a list into ``lists``, or note there the reason why it cannot be used.

        :param name: the name of its option
        :param places: the word for the service to ask, or the paths of files
        """
        from placementclient.nova import schema, service

        is_file = source.service not in places
        try:
            if not is_file and source.service in self._silent:
                raise self._silent[source.service]
            client = None if is_file else self._get_client(source.service)
            self.lists.records[name] = source.read(self._command, *places, client=client)
        except service.NoService as absence:
            if getattr(self._command.args, name):
                raise
            self._note_absence(name, source.service, absence)
        except schema.BadList as fault:
            self._record_fault(name, fault, is_file=is_file)
        except service.ServiceError as failure:
            self._note_failure(name, source.service, failure)

    def _note_absence(self, name: str, service_name: str, absence: service.NoService) -> None:
        """Note that the catalog lacks the service of a list, or that there is no catalog."""
        from placementclient.nova.service import NoCatalog

        self._silent[service_name] = absence
        if not isinstance(absence, NoCatalog):
            self.lists.failures[name] = str(absence)
            self.lists.absent.add(name)

    def _record_fault(self, name: str, fault: schema.BadList, *, is_file: bool) -> None:
        """Record that a list has the wrong form; unless it only lacks a field, it is not used.

        :param name: of the option of the list
        :param is_file: whether the list is of a file: its fault goes to ``faults``, that of a
            service to ``failures``
        """
        from placementclient.nova.schema import MissingField

        if is_file:
            self.lists.faults.append(f'{fault}. The checks that need it are left out')
        else:
            self.lists.failures[name] = str(fault)
        if not isinstance(fault, MissingField):
            self.lists.refused.add(name)

    def _note_failure(self, name: str, service_name: str, failure: service.ServiceError) -> None:
        """Note that a service has not given a list; after a timeout, ask it no more."""
        from placementclient.nova.service import ServiceFailure, ServiceRefusal

        self.lists.failures[name] = str(failure)
        self.lists.refused.add(name)
        if isinstance(failure, ServiceFailure):
            self._failing.add(service_name)
        if not isinstance(failure, ServiceRefusal):
            # It would cost the timeout for each of its lists.
            self._silent[service_name] = failure

    def _get_client(self, service_name: str) -> Client:
        """Return a client for a service, without retries if another of its lists has failed."""
        client = self._command.client
        if service_name in self._failing:
            client = client.copy_without_history()
            client.max_retries = 0
        return client


def _read_lists(command: base.PlacementCommand, needed: Collection[str]) -> ServiceLists:
    """Read the lists of the options; without options and snapshot, ask the services.

    :param needed: the names of the lists that the checks use
    """
    options = {
        name: service_lists.list_named_sources(getattr(command.args, name)) for name in _NAMES
    }
    # The services tell which cells do not answer: other lists do not.
    default = (*NEEDED_LISTS, 'services', *needed)
    if any(options.values()) or command.args.snapshot:
        default = ()
    reader, sources = _ListReader(command), service_lists.get_sources()._asdict()
    for name, option in options.items():
        places = option or ([sources[name].service] if name in default else [])
        if places:
            reader.read(name, sources[name], places)
    return reader.lists


def read_and_audit(
    command: base.PlacementCommand,
    audit_cloud: Callable[[Cloud, Cloud | None], Audit],
    ids: Collection[str] = (),
    facts: OperatorFacts | None = None,
    *,
    is_steady: bool = False,
) -> AuditedCloud:
    """Read and audit the cloud; read it again if a finding may come from a change meanwhile.

    :param audit_cloud: audits a cloud; its second argument is the earlier reading, if there is one
    :param ids: the IDs of the checks; none: all
    :param is_steady: whether a tree that changes during each reading is an error
    :param facts: what the operator says of consumers
    """
    read = functools.partial(
        _read_cloud_and_lists, command, ids, facts or OperatorFacts(), is_steady=is_steady
    )
    cloud, lists = read()
    audit = audit_cloud(cloud, None)
    sources = {
        source
        for name in _NAMES
        for source in service_lists.list_named_sources(getattr(command.args, name))
    }
    # Files would be the same a second time.
    is_live = not sources or not sources.isdisjoint((NOVA, KEYSTONE, IRONIC, NEUTRON))
    if audit.has_comparison_findings and is_live and not command.args.snapshot:
        earlier = cloud
        cloud, lists = read(is_reversed=True)
        audit = audit_cloud(cloud, earlier)
    named = [*_add_aggregate_names(command, cloud, audit.findings)]
    return AuditedCloud(cloud, audit._replace(findings=named), lists)


def _add_aggregate_names(
    command: base.PlacementCommand, cloud: Cloud, findings: Sequence[Finding]
) -> Iterator[Finding]:
    """Yield findings; if they are about aggregates, with the names that a list or Nova has."""
    aggregate_names = AggregateNames(command, cloud.lists.scheduling.sources.aggregates)
    for finding in findings:
        aggregate, aggregates = (finding.facts.get(key) for key in ('aggregate', 'aggregates'))
        uuids = {finding.subject, aggregate, *(aggregates or ())} & cloud.topology.members.keys()
        if uuids and (names := aggregate_names.find_aggregate_names(uuids)):
            yield replace(finding, facts={**finding.facts, 'aggregate_names': names})
        else:
            yield finding


def _read_cloud_and_lists(
    command: base.PlacementCommand,
    ids: Collection[str],
    facts: OperatorFacts,
    *,
    is_steady: bool,
    is_reversed: bool = False,
) -> tuple[Cloud, ServiceLists]:
    """Read the snapshot, and the lists that some checks need.

    :param ids: the IDs of the checks; empty: of all
    :param is_steady: whether a tree that changes during each reading is an error
    :param is_reversed: whether to read the lists before the snapshot, not after it
    """
    from placementclient.insight.audit.checks import CHECKS
    from placementclient.insight.audit.cloud import Cloud, CloudLists
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
    _add_images(command, lists, assumption.snapshot)
    unsettled = _find_unsettled_servers(assumption.snapshot, servers or {})
    if servers is not None:
        # Nova does not know the former, and has the latter where they are no more.
        assumed_servers = assumption.placed | (assumption.lost & servers.keys())
        lists.records['servers'] = servers | {uuid: Server(uuid) for uuid in assumed_servers}
    ratios = {
        assumption.snapshot.find_existing(host).provider.root_uuid: by_class
        for host, by_class in facts.ratios.items()
    }
    cloud_lists = CloudLists(
        **lists.records,
        scheduling=server_options.read_scheduling_options(command),
        gone=facts.gone,
        ignored=facts.ignored,
        ratios=ratios,
        is_nova_asked=facts.is_nova_asked or _has_live_servers(command, lists),
    )
    return Cloud(assumption.snapshot, cloud_lists, unsettled), lists


def _has_live_servers(command: base.PlacementCommand, lists: ServiceLists) -> bool:
    """Return whether the list of servers is from Nova, not from a file."""
    places = service_lists.list_named_sources(command.args.servers)
    return NOVA in places or ('servers' in lists.records and not places)


def _add_images(command: base.PlacementCommand, lists: ServiceLists, snapshot: Snapshot) -> None:
    """Add the images of servers with allocations to the lists, if ``--images`` is given."""
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
    except service.ServiceError as failure:
        lists.failures['images'] = str(failure)
        lists.refused.add('images')


def _find_unsettled_servers(snapshot: Snapshot, servers: Mapping[str, Server]) -> set[str]:
    """Return the UUIDs of servers that Nova has changed after the snapshot or just before it."""
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
    """Return the time in UTC of a text in ISO 8601; ``None`` for other texts."""
    try:
        moment = datetime.fromisoformat(text or '')
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
