# SPDX-License-Identifier: Apache-2.0
"""Faults of servers that hold a part of what they need on another root than their host's."""

from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.consumers import unsafe
from placementclient.model.findings import Finding
from placementclient.model.servers import same_host
from placementclient.placing.providers import is_sharing


def held_elsewhere(cloud: Cloud) -> Iterator[Finding]:
    """A server holds a class on a root that is not its host, and holds less of it on its host."""
    for case in cloud.cases['held-elsewhere']:
        own = cloud.evidence.own_host(case.server) if case.server else None
        if own is None or case.passed_over:
            continue
        causes = {uuid: _cause(cloud, uuid, own) for uuid in case.verdict.held}
        likely = '; '.join(dict.fromkeys(filter(None, causes.values())))
        reason = likely or 'the server uses it: its host lacks it'
        holds = cloud.named_amounts(case.verdict.held)
        yield unsafe(case, reason, host=cloud.name(own), holds=holds, likely=likely)


def _cause(cloud: Cloud, provider_uuid: str, own: str) -> str:
    """Return the likely reason why a provider is not one of a host, or an empty string."""
    state = cloud.snapshot.providers[provider_uuid]
    root, host = cloud.name(state.provider.root_uuid), cloud.name(own)
    if same_host(root.lower(), host.lower()):
        return f'{root} is the same host as {host}, which another service has created again'
    aggregates = {name for member in cloud.topology.trees[own] for name in member.aggregates}
    if is_sharing(state):
        return f'{state.name} shares with no aggregate of {host}'
    if state.aggregates & aggregates:
        return f'{state.name} lacks the trait MISC_SHARES_VIA_AGGREGATE'
    return ''
