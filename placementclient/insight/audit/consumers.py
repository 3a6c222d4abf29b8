# SPDX-License-Identifier: Apache-2.0
"""Faults of consumers: allocations that should be elsewhere, unknown owners and types."""

from collections.abc import Iterator
from dataclasses import replace

from placementclient.insight.audit.cloud import Case, Cloud, MissingFields, make_finding
from placementclient.insight.evidence import advised
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE
from placementclient.model.repairs import FreeAllocations, HealServer

_NO_UUIDS = (
    'no migration of the list has a UUID: list them with compute API 2.59 or above, such as '
    'openstack --os-compute-api-version 2.59 server migration list -f json'
)
_LOOK = 'see openstack server migration list --server {}'
#: Placement's default owner of consumers from before they had owners:
#: ``[placement]incomplete_consumer_project_id`` and ``incomplete_consumer_user_id``.
PLACEHOLDER = '00000000-0000-0000-0000-000000000000'
_UNTYPED = 'the service that owns the consumer sets its type with the next write'


def orphan(cloud: Cloud) -> Iterator[Finding]:
    """A leaked allocation: Nova knows neither a server nor a migration of the consumer's UUID."""
    for case in cloud.cases['orphan']:
        is_known = case.consumer.uuid in cloud.deleted or case.consumer.uuid in cloud.answers.gone
        if is_known or cloud.has_migration_uuids:
            yield _finding(case, 'orphan')
    if not cloud.answers.has('migrations'):
        raise MissingFields('migrations')
    if not cloud.has_migration_uuids:
        raise MissingFields(_NO_UUIDS)


def left_by_shelving(cloud: Cloud) -> Iterator[Finding]:
    """A server is shelved and on no host, and still has allocations on a host."""
    yield from _findings(cloud, 'left-by-shelving')


def left_by_migration(cloud: Cloud) -> Iterator[Finding]:
    """A migration is over, and its consumer still has the allocations of its server on a host."""
    yield from _findings(cloud, 'left-by-migration')


def in_migration(cloud: Cloud) -> Iterator[Finding]:
    """A server has allocations on several hosts while one of its migrations is under way."""
    for case in cloud.cases['in-migration']:
        reason = f'it ends with the migration: {_LOOK.format(case.consumer.uuid)}'
        yield unsafe(case, reason)


def left_by_evacuation(cloud: Cloud) -> Iterator[Finding]:
    """A server still has its allocations on the host that it was evacuated from."""
    yield from _findings(cloud, 'left-by-evacuation')


def doubled(cloud: Cloud) -> Iterator[Finding]:
    """A server has allocations on several hosts, and no migration explains it."""
    yield from _findings(cloud, 'doubled')


def on_several_trees(cloud: Cloud) -> Iterator[Finding]:
    """A consumer has allocations on several hosts, and the reason is not known."""
    for case in cloud.cases['on-several-trees']:
        reason = (
            f'it is not known why: {_LOOK.format(case.consumer.uuid)}, and audit again with the '
            'lists of servers and migrations'
        )
        yield unsafe(case, reason)


def is_incomplete(consumer: Consumer) -> bool:
    """Return True if a consumer's project or user is a placeholder."""
    return PLACEHOLDER in (consumer.project_id, consumer.user_id)


def consumer_incomplete(cloud: Cloud) -> Iterator[Finding]:
    """A consumer belongs to Placement's placeholder project or user."""
    for uuid, consumer in sorted(cloud.snapshot.consumers.items()):
        if not is_incomplete(consumer):
            continue
        # Heal asks Nova for the server itself.
        may_be_server = uuid in cloud.servers or not cloud.answers.has('servers')
        is_server = may_be_server and consumer.type in (None, INSTANCE)
        yield make_finding(
            uuid,
            {'project_id': consumer.project_id, 'user_id': consumer.user_id},
            cloud.roots_of(consumer),
            HealServer(uuid) if is_server else None,
            '' if is_server else 'it is no server of Nova, and its owner is not known',
            cloud.passed_over(uuid),
        )


def consumer_untyped(cloud: Cloud) -> Iterator[Finding]:
    """A consumer has no type, while most of the others have one."""
    every = cloud.snapshot.consumers
    untyped = [consumer for _, consumer in sorted(every.items()) if consumer.type is None]
    if 2 * len(untyped) < len(every):
        counts = {'typed': len(every) - len(untyped), 'of': len(every)}
        for consumer in untyped:
            roots = cloud.roots_of(consumer)
            yield make_finding(consumer.uuid, {'type': None, **counts}, roots, None, _UNTYPED)


def _findings(cloud: Cloud, kind: str) -> Iterator[Finding]:
    for case in cloud.cases[kind]:
        yield _finding(case, kind)


def _finding(case: Case, kind: str) -> Finding:
    """Return the finding about a consumer, with what may be freed of it."""
    verdict, consumer = case.verdict, case.consumer
    remedy, reason = None, ''
    if verdict.freed:
        remedy = FreeAllocations(consumer, verdict.freed)
    else:
        is_asked = case.cloud.answers.is_nova_asked
        reason = advised(verdict, consumer.uuid, kind, is_asked=is_asked)
    return replace(unsafe(case, reason), remedy=remedy, passed_over=case.passed_over)


def unsafe(case: Case, reason: str, **more: object) -> Finding:
    """Return the finding about a consumer that keeps what it holds, for a reason.

    :param more: facts
    """
    cloud, consumer = case.cloud, case.consumer
    facts: dict[str, object] = {
        'type': consumer.type,
        'holds': cloud.named_amounts(consumer.allocations),
    }
    if case.server and case.server.hosts:
        facts['host'] = case.server.hosts[0]
    if involved := [case.migration] if case.migration else case.migrations:
        facts['migrations'] = [
            {'uuid': m.uuid, 'type': m.type, 'status': m.status} for m in involved
        ]
    return make_finding(consumer.uuid, facts | more, cloud.roots_of(consumer), None, reason)
