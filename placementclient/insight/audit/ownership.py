"""Consumers whose owner or type is unknown to Placement."""

from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE
from placementclient.model.repairs import HealServer

#: What Placement gives consumers from before they had owners, unless it is configured otherwise:
#: ``[placement]incomplete_consumer_project_id`` and ``incomplete_consumer_user_id``.
PLACEHOLDER = '00000000-0000-0000-0000-000000000000'
_LEFT = 'the service that owns the consumer sets its type with the next write'


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
        server = cloud.listed.get(uuid)
        # Heal asks Nova for the server itself.
        may_be_server = server is not None or cloud.servers is None
        is_server = may_be_server and consumer.type in (None, INSTANCE)
        yield Finding(
            uuid,
            cloud.roots_of(consumer),
            {'project_id': consumer.project_id, 'user_id': consumer.user_id},
            HealServer(uuid) if is_server else None,
            '' if is_server else 'it is no server of Nova, and its owner is not known',
            cloud.passed_over(server) if server else '',
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
            yield Finding(consumer.uuid, roots, {'type': None, **counts}, None, _LEFT)
