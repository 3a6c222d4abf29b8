# SPDX-License-Identifier: Apache-2.0
"""A check of servers that hold a part of what they need on another root than their host's."""

from collections.abc import Iterator

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.consumers import make_unsafe_finding
from placementclient.model.findings import Finding
from placementclient.model.servers import is_same_host
from placementclient.placing.providers import is_sharing


def find_amounts_held_elsewhere(cloud: Cloud) -> Iterator[Finding]:
    """Yield the servers that hold a class on another root, and too little of it on their host."""
    for audited in cloud.consumers_by_check['held-elsewhere']:
        own = cloud.evidence.find_own_host(audited.server) if audited.server else None
        if own is None or audited.skip_reason:
            continue
        causes = {uuid: _guess_cause(cloud, uuid, own) for uuid in audited.verdict.held}
        likely = '; '.join(dict.fromkeys(filter(None, causes.values())))
        reason = likely or 'the server uses it, and holds less of it on its host'
        holds = cloud.name_amounts(audited.verdict.held)
        yield make_unsafe_finding(
            audited, reason, host=cloud.provider_name(own), holds=holds, likely=likely
        )


def _guess_cause(cloud: Cloud, provider_uuid: str, own: str) -> str:
    """Return the likely reason why a provider is not in the tree of a host, or an empty string."""
    state = cloud.snapshot.providers[provider_uuid]
    root, host = cloud.provider_name(state.provider.root_uuid), cloud.provider_name(own)
    if is_same_host(root.lower(), host.lower()):
        return f'{root} is the same host as {host}, which another service has created again'
    aggregates = {name for member in cloud.topology.trees[own] for name in member.aggregates}
    if is_sharing(state):
        return f'{state.name} shares with no aggregate of {host}'
    if state.aggregates & aggregates:
        return f'{state.name} lacks the trait MISC_SHARES_VIA_AGGREGATE'
    return ''
