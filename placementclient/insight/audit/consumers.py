# SPDX-License-Identifier: Apache-2.0
"""Checks of consumers: allocations that should be elsewhere, unknown owners and types."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from placementclient.insight.audit.cloud import AuditedConsumer, Cloud, MissingFields, make_finding
from placementclient.insight.evidence import explain_retained_allocations
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE
from placementclient.model.repairs import FreeAllocations, HealServer
from placementclient.model.servers import is_same_host
from placementclient.placing.providers import is_sharing

_NO_UUIDS = (
    'no migration of the list has a UUID: list them with compute API 2.59 or above, such as '
    'openstack --os-compute-api-version 2.59 server migration list -f json'
)
_LOOK = 'openstack server migration list --server {}'
#: Placement's default owner of consumers from before they had owners:
#: ``[placement]incomplete_consumer_project_id`` and ``incomplete_consumer_user_id``.
PLACEHOLDER = '00000000-0000-0000-0000-000000000000'
_UNTYPED = 'the service that owns the consumer sets its type with the next write'


def find_orphans(cloud: Cloud) -> Iterator[Finding]:
    """Yield the consumers with leaked allocations: Nova has no server or migration with the UUID.

    If the UUIDs of migrations are not known, yield only those whose server is gone by the word of
    Nova or of the operator: any other may be a migration.

    :raises MissingFields: after the last one, if the migrations or their UUIDs are missing
    """
    for audited in cloud.consumers_by_check['orphan']:
        uuid = audited.consumer.uuid
        is_gone = uuid in cloud.deleted or uuid in cloud.lists.gone
        if is_gone or cloud.has_migration_uuids:
            yield _make_needless_allocations_finding(audited, 'orphan')
    if not cloud.lists.has_list('migrations'):
        raise MissingFields('migrations')
    if not cloud.has_migration_uuids:
        raise MissingFields(_NO_UUIDS)


def make_needless_check(kind: str) -> Callable[[Cloud], Iterator[Finding]]:
    """Return the check with the ID ``kind``, which finds consumers with needless allocations."""

    def find_consumers(cloud: Cloud) -> Iterator[Finding]:
        for audited in cloud.consumers_by_check[kind]:
            yield _make_needless_allocations_finding(audited, kind)

    return find_consumers


def find_servers_in_migration(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers with allocations on several hosts and a migration in progress."""
    for audited in cloud.consumers_by_check['in-migration']:
        reason = f'it ends with the migration: {_LOOK.format(audited.consumer.uuid)}'
        yield _make_consumer_finding(audited, reason)


def find_consumers_on_several_trees(cloud: Cloud) -> Iterator[Finding]:
    """Yield the consumers with allocations on several hosts, if the lists do not say why."""
    for audited in cloud.consumers_by_check['on-several-trees']:
        reason = (
            'it is not known why: audit again with --servers and --migrations, and look for its '
            f'migrations: {_LOOK.format(audited.consumer.uuid)}'
        )
        yield _make_consumer_finding(audited, reason)


def find_amounts_held_elsewhere(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers that hold a class on another root, and too little of it on their host."""
    for audited in cloud.consumers_by_check['held-elsewhere']:
        own = cloud.judge.find_own_host(audited.server) if audited.server else None
        if own is None or audited.skip_reason:
            continue
        causes = {uuid: _explain_separation(cloud, uuid, own) for uuid in audited.verdict.held}
        likely = '; '.join(dict.fromkeys(filter(None, causes.values())))
        reason = likely or 'the server uses it, and holds less of it on its host'
        holds = cloud.insert_provider_names(audited.verdict.held)
        facts = {'host': cloud.get_name(own), 'holds': holds, 'likely': likely}
        yield _make_consumer_finding(audited, reason, facts)


def _explain_separation(cloud: Cloud, provider_uuid: str, own_root: str) -> str:
    """Return the likely reason why a provider is not in the tree of a host; empty if none is known.

    :param own_root: the UUID of the root of the host
    """
    state = cloud.snapshot.providers[provider_uuid]
    root, host = cloud.get_name(state.provider.root_uuid), cloud.get_name(own_root)
    if is_same_host(root.lower(), host.lower()):
        return f'{root} is the same host as {host}, which another service has created again'
    aggregates = {name for member in cloud.topology.trees[own_root] for name in member.aggregates}
    if is_sharing(state):
        return f'{state.name} shares with no aggregate of {host}'
    if state.aggregates & aggregates:
        return f'{state.name} lacks the trait MISC_SHARES_VIA_AGGREGATE'
    return ''


def has_placeholder_owner(consumer: Consumer) -> bool:
    """Return True if the project or the user of a consumer is Placement's placeholder."""
    return PLACEHOLDER in (consumer.project_id, consumer.user_id)


def find_incomplete_consumers(cloud: Cloud) -> Iterator[Finding]:
    """Yield the consumers of Placement's placeholder project or user."""
    for uuid, consumer in sorted(cloud.snapshot.consumers.items()):
        if not has_placeholder_owner(consumer):
            continue
        # Heal asks Nova for the server itself.
        may_be_server = uuid in cloud.servers or not cloud.lists.has_list('servers')
        is_server = may_be_server and consumer.type in (None, INSTANCE)
        yield make_finding(
            uuid,
            {'project_id': consumer.project_id, 'user_id': consumer.user_id},
            cloud.find_roots(consumer),
            HealServer(uuid) if is_server else None,
            '' if is_server else 'it is no server of Nova, and its owner is not known',
            cloud.find_skip_reason(uuid),
        )


def find_untyped_consumers(cloud: Cloud) -> Iterator[Finding]:
    """Yield the consumers without a type, if most consumers have one."""
    every = cloud.snapshot.consumers
    untyped = [consumer for _, consumer in sorted(every.items()) if consumer.type is None]
    if 2 * len(untyped) < len(every):
        counts = {'typed': len(every) - len(untyped), 'of': len(every)}
        for consumer in untyped:
            roots = cloud.find_roots(consumer)
            yield make_finding(consumer.uuid, {'type': None, **counts}, roots, reason=_UNTYPED)


def _make_needless_allocations_finding(audited: AuditedConsumer, kind: str) -> Finding:
    """Return the finding on needless allocations of a consumer; its remedy frees those that may go.

    :param kind: the ID of the check
    """
    verdict, consumer, skipped = audited.verdict, audited.consumer, audited.skip_reason
    if verdict.freed:
        remedy = FreeAllocations(consumer, verdict.freed)
        return _make_consumer_finding(audited, '', remedy=remedy, passed_over=skipped)
    is_asked = audited.cloud.lists.is_nova_asked
    reason = explain_retained_allocations(verdict, consumer.uuid, kind, is_asked=is_asked)
    return _make_consumer_finding(audited, reason, passed_over=skipped)


def _make_consumer_finding(
    audited: AuditedConsumer,
    reason: str,
    facts: Mapping[str, object] = MappingProxyType({}),
    *,
    remedy: FreeAllocations | None = None,
    passed_over: str = '',
) -> Finding:
    """Return the finding about a consumer, with the facts on its allocations and migrations.

    :param reason: why its allocations are not freed
    :param facts: further facts
    :param passed_over: why the audit cannot judge the consumer now: it counts the consumer, and
        leaves the finding out; empty: it can
    """
    cloud, consumer = audited.cloud, audited.consumer
    common: dict[str, object] = {
        'type': consumer.type,
        'holds': cloud.insert_provider_names(consumer.allocations),
    }
    if audited.server and audited.server.host_names:
        common['host'] = audited.server.host_names[0]
    if involved := [audited.migration] if audited.migration else audited.migrations:
        common['migrations'] = [
            {'uuid': m.uuid, 'type': m.type, 'status': m.status} for m in involved
        ]
    roots = cloud.find_roots(consumer)
    return make_finding(consumer.uuid, {**common, **facts}, roots, remedy, reason, passed_over)
