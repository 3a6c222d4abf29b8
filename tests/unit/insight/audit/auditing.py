"""An audit of clouds in a few words."""

from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.snapshots import ProviderState
from placementclient.nova import records
from placementclient.render import repairs
from placementclient.render.repairs import Invocation
from tests.unit.insight.clouds import cloud

States = list[ProviderState]
PREFIX = 'openstack resource provider'


def findings(
    states,
    consumers=[],  # noqa: B006 (read only)
    servers=None,
    migrations=None,
):
    """What an audit finds.

    :param servers: their hosts by UUID
    """
    listed = None if servers is None else [{'ID': k, 'Host': v} for k, v in servers.items()]
    return audited(states, consumers, listed, migrations).findings


def audited(states, consumers, servers=None, migrations=None, unsettled=()):
    """An audit with lists as Nova has them; consumers without a type are not looked for."""
    return audit(
        Cloud(
            cloud(states, consumers),
            None if servers is None else records.servers(servers, ''),
            None if migrations is None else records.migrations(migrations, ''),
            unsettled,
        ),
        ignored=['consumer-untyped'],
    )


def ids(*args):
    return [(finding.kind, finding.subject) for finding in findings(*args)]


def only(*args):
    [finding] = findings(*args)
    return finding


def typed(finding):
    """What an operator types against it."""
    return repairs.next_step(finding, Invocation('openstack')).command


def reason(finding):
    """Why there is no such command."""
    return repairs.next_step(finding, Invocation('openstack')).reason


def migration(kind, status, source='a', server='s'):
    return {
        'UUID': 'm', 'Server UUID': server, 'Type': kind, 'Status': status, 'Source Compute': source
    }  # fmt: skip
