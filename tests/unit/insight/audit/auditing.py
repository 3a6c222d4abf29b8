# SPDX-License-Identifier: Apache-2.0
"""An audit of clouds in a few words."""

from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.model.servers import Server, ServerMigration
from placementclient.render import repairs
from placementclient.render.repairs import Invocation
from tests.unit.insight.clouds import cloud

PREFIX = 'openstack resource provider'


def audited(states, consumers=(), servers=None, migrations=None, **answers):
    """An audit with lists of other services; without the check of consumers without a type.

    :param servers: by UUID; a name is that of the host
    """
    if servers is not None:
        servers = {u: s if isinstance(s, Server) else settled(u, s) for u, s in servers.items()}
    unsettled, ignored = answers.pop('unsettled', ()), answers.pop('ignored', ['consumer-untyped'])
    told_apart = answers.pop('told_apart', ())
    lists = CloudLists(servers, migrations, ignored=told_apart, **answers)
    return audit(Cloud(cloud(states, consumers), lists, unsettled), ignored=ignored)


def findings(*args, **answers):
    return audited(*args, **answers).findings


def evidence(*args, **answers):
    return [dict(finding.facts) for finding in findings(*args, **answers)]


def ids(*args, **answers):
    return [(finding.kind, finding.subject) for finding in findings(*args, **answers)]


def only(*args, **answers):
    [finding] = findings(*args, **answers)
    return finding


def typed(finding):
    """The command against a finding."""
    return repairs.choose_command_or_reason(finding, Invocation('openstack'))[0]


def reason(finding):
    """The reason why there is no such command."""
    return repairs.choose_command_or_reason(finding, Invocation('openstack'))[1]


def listed(uuid, host):
    """A server as OpenStackClient lists it."""
    return Server(uuid, host or None)


def settled(uuid, host, *, status='ACTIVE'):
    """A server as Nova's API lists it, without its flavor."""
    return Server(uuid, host or None, host or None, None, status, '2026-11-02T09:00:00Z')


def migration(kind, status, source='a', server='s', target='b'):
    times = {'created_at': '2026-11-02T08:00:00', 'updated_at': '2026-11-02T08:05:00'}
    return ServerMigration(server, status, 'm', source, type=kind, dest_compute=target, **times)
