"""Faults of consumers: allocations that should be elsewhere, unknown owners and types."""

from collections.abc import Iterable, Iterator
from typing import Any

from placementclient.insight.audit.cloud import Case, Cloud, fault
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE, MIGRATION
from placementclient.model.repairs import FreeAllocations, HealServer

#: Why something is not freed that seems to be superfluous.
_NEEDED = 'a migration may still need it: openstack server migration list --server has its state'
_LOOK = 'see openstack server migration list --server {}'
_MIGRATION = (
    'nothing is taken from a migration: see with openstack server migration list that it is over'
)

#: Placement's default owner of consumers from before they had owners:
#: ``[placement]incomplete_consumer_project_id`` and ``incomplete_consumer_user_id``.
PLACEHOLDER = '00000000-0000-0000-0000-000000000000'
_UNTYPED = 'the service that owns the consumer sets its type with the next write'


def orphan(cloud: Cloud) -> Iterator[Finding]:
    """A leaked allocation: Nova knows neither a server nor a migration of the consumer's UUID.

    Consumers of other types than ``INSTANCE`` and ``MIGRATION`` belong to other services. The check
    skips them.

    Why it matters: the resources are lost until you free them.

    Safe to fix: yes, if the lists of servers and migrations are complete and younger than the
    snapshot. ``--fix`` deletes the allocations of a consumer whose type is ``INSTANCE``. It deletes
    those of a consumer without a type only if the migrations are known too, and never those of a
    migration. It deletes nothing if a list does not look complete.

    Look yourself: ``openstack server show CONSUMER`` and ``openstack resource provider allocation
    show CONSUMER``; servers that can be restored (``reclaim_instance_interval``) are in no list of
    OpenStackClient

    Example: ``type INSTANCE, holds (compute1 (VCPU 4, MEMORY_MB 8192))``
    """
    for case in cloud.cases['orphan']:
        reason = _NEEDED if case.migrations else ''
        if case.consumer.type == MIGRATION:
            reason = _MIGRATION
        elif case.consumer.type is None and not cloud.has('migrations'):
            reason = 'it may be a migration: give the list of migrations too, with --migrations'
        yield _finding(case, case.consumer.allocations, reason)


def left_by_shelving(cloud: Cloud) -> Iterator[Finding]:
    """A server is shelved and on no host, and still has allocations on a host.

    Why it matters: the host seems fuller than it is, and the server gets a second allocation when
    it is unshelved.

    Safe to fix: yes, if Nova has the server on no host, and no migration of it is under way or has
    failed. ``--fix`` deletes its allocations.

    Look yourself: ``openstack server show SERVER -c status -c OS-EXT-SRV-ATTR:host`` and
    ``openstack resource provider allocation show SERVER``

    Example: ``type INSTANCE, holds (compute1 (VCPU 4))``
    """
    for case in cloud.cases['left-by-shelving']:
        passed_over = cloud.passed_over(case.consumer.uuid)
        yield _finding(case, case.consumer.allocations, _unsettled(case), passed_over)


def left_by_migration(cloud: Cloud) -> Iterator[Finding]:
    """A migration is over, and its consumer still has the allocations on the source.

    Why it matters: the source host seems fuller than it is.

    Safe to fix: not by ``--fix``, which frees no allocations of a migration. Make sure that the
    migration is over and that its server is well. Then delete the allocations of the consumer.

    Look yourself: ``openstack server migration list --server SERVER`` and ``openstack resource
    provider allocation show MIGRATION``

    Example: ``holds (compute1 (VCPU 4)), migrations ((type live-migration, status completed))``
    """
    for case in cloud.cases['left-by-migration']:
        yield _finding(case, (), _MIGRATION)


def in_migration(cloud: Cloud) -> Iterator[Finding]:
    """A server has allocations on several hosts while one of its migrations is under way.

    This is information: it is normal, and ends with the migration.

    Why it matters: a migration that never ends takes room on both hosts.

    Safe to fix: there is nothing to fix. Confirm or revert a resize that has waited for a long
    time.

    Look yourself: ``openstack server migration list --server SERVER``

    Example: ``migrations ((type evacuation, status pre-migrating))``
    """
    for case in cloud.cases['in-migration']:
        yield _finding(case, (), f'it ends with the migration: {_LOOK.format(case.consumer.uuid)}')


def left_by_evacuation(cloud: Cloud) -> Iterator[Finding]:
    """A server still has its allocations on the host that it was evacuated from.

    nova-compute of that host frees them when it starts again.

    Why it matters: a host that has come back seems fuller than it is. A host that never comes back
    cannot be deleted.

    Safe to fix: yes, if Nova says on which host the server is, and no migration of it is under way
    or has failed. ``--fix`` removes its allocations on the other hosts, and keeps those on sharing
    providers.

    Look yourself: ``openstack server migration list --server SERVER --type evacuation`` and
    ``openstack resource provider allocation show SERVER``

    Example: ``holds (compute1 (VCPU 4), compute2 (VCPU 4)), host compute2``
    """
    for case in cloud.cases['left-by-evacuation']:
        yield _finding(case, _elsewhere(case), _unsettled(case))


def doubled(cloud: Cloud) -> Iterator[Finding]:
    """A server has allocations on several hosts, and no migration explains it.

    Why it matters: no server can use the resources on the other hosts.

    Safe to fix: yes, if Nova says on which host the server is, and no migration of it is under way
    or has failed. ``--fix`` removes its allocations on the other hosts, and keeps those on sharing
    providers.

    Look yourself: ``openstack server show SERVER -c OS-EXT-SRV-ATTR:host`` and ``openstack resource
    provider allocation show SERVER``

    Example: ``holds (compute1 (VCPU 4), compute2 (VCPU 4)), host compute2``
    """
    for case in cloud.cases['doubled']:
        yield _finding(case, _elsewhere(case), _unsettled(case))


def on_several_trees(cloud: Cloud) -> Iterator[Finding]:
    """A consumer has allocations on several hosts, and the reason is not known.

    The check needs neither servers nor migrations. With both lists, such a consumer is ``doubled``,
    ``left-by-evacuation`` or ``in-migration`` instead, or is no fault.

    Why it matters: on one of the hosts, the resources may be lost.

    Safe to fix: only when you know the reason. Audit again with ``--servers`` and ``--migrations``.

    Look yourself: ``openstack server migration list --server SERVER`` and ``openstack server show
    SERVER``

    Example: ``type INSTANCE, holds (compute1 (VCPU 2), compute2 (VCPU 1))``
    """
    for case in cloud.cases['on-several-trees']:
        reason = (
            f'it is not known why: {_LOOK.format(case.consumer.uuid)}, and audit again with the '
            'lists of servers and migrations'
        )
        yield _finding(case, (), reason)


def is_incomplete(consumer: Consumer) -> bool:
    """Return True if a consumer's project or user is a placeholder."""
    return PLACEHOLDER in (consumer.project_id, consumer.user_id)


def consumer_incomplete(cloud: Cloud) -> Iterator[Finding]:
    """A consumer belongs to Placement's placeholder project or user.

    Its allocations are from before consumers had owners (API 1.8, Ocata), and ``placement-manage db
    online_data_migrations`` has set the owner to ``00000000-0000-0000-0000-000000000000``. The
    check finds nothing if ``[placement]incomplete_consumer_project_id`` is set to another ID.

    Why it matters: its allocations count for no project, so quotas by usage and unified limits let
    its project have more.

    Safe to fix: yes, if Nova has the server. ``allocation heal`` asks Nova for the owner, and
    leaves the amounts alone.

    Look yourself: ``openstack resource provider allocation show CONSUMER`` and ``openstack server
    show CONSUMER -c project_id -c user_id``

    Example: ``project_id 00000000-0000-0000-0000-000000000000``
    """
    for uuid, consumer in sorted(cloud.snapshot.consumers.items()):
        if not is_incomplete(consumer):
            continue
        # Heal asks Nova for the server itself.
        may_be_server = uuid in cloud.servers or not cloud.has('servers')
        is_server = may_be_server and consumer.type in (None, INSTANCE)
        yield fault(
            uuid,
            {'project_id': consumer.project_id, 'user_id': consumer.user_id},
            cloud.roots_of(consumer),
            HealServer(uuid) if is_server else None,
            '' if is_server else 'it is no server of Nova, and its owner is not known',
            cloud.passed_over(uuid),
        )


def consumer_untyped(cloud: Cloud) -> Iterator[Finding]:
    """A consumer has no type, while most of the others have one.

    Nova sends no types (up to 34). If half of the consumers or more have none, this is normal and
    not a finding.

    Why it matters: usages by type (``openstack resource usage show --consumer-type INSTANCE``)
    leave the consumer out, and it looks like a migration.

    Safe to fix: a type changes nothing else, but Placement sets it only together with all
    allocations of the consumer. Leave it to the service that owns the consumer: its next write sets
    the type.

    Look yourself: ``openstack resource provider allocation show CONSUMER`` with API version 1.38

    Example: ``no type, typed 39, of 40``
    """
    every = cloud.snapshot.consumers
    untyped = [consumer for _, consumer in sorted(every.items()) if consumer.type is None]
    if 2 * len(untyped) < len(every):
        counts = {'typed': len(every) - len(untyped), 'of': len(every)}
        for consumer in untyped:
            roots = cloud.roots_of(consumer)
            yield fault(consumer.uuid, {'type': None, **counts}, roots, None, _UNTYPED)


def _elsewhere(case: Case) -> list[str]:
    return [uuid for root in case.elsewhere for uuid in case.hosts[root]]


def _unsettled(case: Case) -> str:
    """Return the reason why a migration may still need the server's other allocations."""
    return _NEEDED if any(m.has_failed or not m.is_over for m in case.migrations) else ''


def _finding(case: Case, superfluous: Iterable[str], reason: str, passed_over: str = '') -> Finding:
    """Return the finding about a consumer that should hold nothing of some providers."""
    cloud, consumer, providers = case.cloud, case.consumer, tuple(superfluous)
    if not providers and not reason:
        reason = f'its host is not known: {_LOOK.format(consumer.uuid)}'
    allocated = {
        cloud.name(uuid) if uuid in cloud.snapshot.providers else uuid: dict(resources)
        for uuid, resources in sorted(consumer.allocations.items())
    }
    facts: dict[str, Any] = {'type': consumer.type, 'holds': allocated}
    if case.server and case.server.hosts:
        facts['host'] = case.server.hosts[0]
    if involved := [case.migration] if case.migration else case.migrations:
        facts['migrations'] = [
            {'uuid': m.uuid, 'type': m.type, 'status': m.status} for m in involved
        ]
    remedy = FreeAllocations(consumer, providers) if providers else None
    return fault(consumer.uuid, facts, cloud.roots_of(consumer), remedy, reason, passed_over)
