# SPDX-License-Identifier: Apache-2.0
"""Faults of Placement itself that a calculation does not show. Pure."""

from collections.abc import Iterator

from placementclient.basis.wording import join_names
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing

#: The newest release that was found to have them.
RELEASE = 'openstack-placement 16.0.0'


def list_service_faults(snapshot: Snapshot, request: CandidateRequest) -> Iterator[str]:
    """Yield sentences on why Placement may refuse a request although a tree has room."""
    sharing = [state for state in snapshot.providers.values() if is_sharing(state)]
    nested = [state.name for state in sharing if state.provider.parent_provider_uuid]
    if nested:
        yield (
            f'Placement may refuse what fits: {RELEASE} answers HTTP 500 where a provider shares '
            f'its inventory inside a tree, as {join_names(nested, 3)}'
        )
    elif sharing and request.groups:
        yield (
            f'Placement may refuse what fits: {RELEASE} may find no candidates for a group on a '
            'host of several providers beside shared inventory'
        )
