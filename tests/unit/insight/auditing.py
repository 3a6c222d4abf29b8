"""An audit of clouds in a few words."""

from __future__ import annotations

from typing import Any

from placementclient.insight import nova
from placementclient.insight.audit import audit
from placementclient.insight.cloud import Cloud
from placementclient.insight.findings import Finding
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import ProviderState
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
    return list(
        audit(
            Cloud(
                cloud(states, consumers),
                None if listed is None else nova.servers(listed, ''),
                None if migrations is None else nova.migrations(migrations, ''),
            )
        )
    )


def ids(*args: Any) -> list[tuple[str, str]]:
    return [(finding.id, finding.fault.subject) for finding in findings(*args)]


def only(*args: Any) -> Finding:
    [finding] = findings(*args)
    return finding


def migration(kind: str, status: str, source: str = 'a', server: str = 's') -> dict[str, Any]:
    return {
        'UUID': 'm', 'Server UUID': server, 'Type': kind, 'Status': status, 'Source Compute': source
    }  # fmt: skip
