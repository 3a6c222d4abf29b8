# SPDX-License-Identifier: Apache-2.0
"""The hosts that a server group leaves to one more member. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from placementclient.model.servers import Server, ServerGroup

#: The policies that Nova's scheduler enforces; the soft ones only weigh hosts.
_APART, _TOGETHER = 'anti-affinity', 'affinity'


class GroupRestriction(NamedTuple):
    """The hosts that a server group excludes or requires for one more member.

    :param is_excluded: whether the member may be on none of the hosts; else it must be on one
    """

    group: str
    policy: str
    hosts: tuple[str, ...]
    is_excluded: bool


def restrict_new_member(group: ServerGroup, servers: Iterable[Server]) -> GroupRestriction | None:
    """Return the hosts that a group requires or excludes; ``None`` if every host is allowed.

    :param servers: the members beside the new one, each with its host
    """
    counts = Counter(host for server in servers if (host := server.node or server.host))
    name = group.name or group.uuid
    if group.policy == _TOGETHER and counts:
        return GroupRestriction(name, group.policy, tuple(sorted(counts)), is_excluded=False)
    full = tuple(sorted(host for host, count in counts.items() if count >= group.most))
    if group.policy == _APART and full:
        return GroupRestriction(name, group.policy, full, is_excluded=True)
    return None
