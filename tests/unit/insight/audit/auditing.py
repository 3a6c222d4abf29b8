"""An audit of clouds in a few words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from placementclient.insight.audit.checks import Audit, audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.snapshots import ProviderState
from placementclient.nova import records
from placementclient.render import repairs
from placementclient.render.repairs import Invocation
from tests.unit.insight.clouds import cloud

States = list[ProviderState]
PREFIX = 'openstack resource provider'


def findings(
    states: States,
    consumers: list[Consumer] = [],  # noqa: B006 (read only)
    servers: dict[str, str] | None = None,
    migrations: list[dict[str, Any]] | None = None,
) -> list[Finding]:
    """What an audit finds.

    :param servers: their hosts by UUID
    """
    listed = None if servers is None else [{'ID': k, 'Host': v} for k, v in servers.items()]
    return audited(states, consumers, listed, migrations).findings


def audited(
    states: States,
    consumers: list[Consumer],
    servers: list[dict[str, Any]] | None = None,
    migrations: list[dict[str, Any]] | None = None,
    unsettled: Collection[str] = (),
) -> Audit:
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


def ids(*args: Any) -> list[tuple[str, str]]:
    return [(finding.kind, finding.subject) for finding in findings(*args)]


def only(*args: Any) -> Finding:
    [finding] = findings(*args)
    return finding


def typed(finding: Finding) -> str:
    """What an operator types against it."""
    return repairs.next_step(finding, Invocation('openstack')).command


def reason(finding: Finding) -> str:
    """Why there is no such command."""
    return repairs.next_step(finding, Invocation('openstack')).reason


def migration(kind: str, status: str, source: str = 'a', server: str = 's') -> dict[str, Any]:
    return {
        'UUID': 'm', 'Server UUID': server, 'Type': kind, 'Status': status, 'Source Compute': source
    }  # fmt: skip
