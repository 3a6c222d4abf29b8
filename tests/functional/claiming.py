# SPDX-License-Identifier: Apache-2.0
"""Servers claimed one by one, until the service grants no more."""

from placementclient.api import allocation, allocation_candidate
from placementclient.model.consumers import Consumer
from tests.functional.clouds import uuid_of


def claim_all(client, request, count, case, root=None):
    """Claim what is granted until nothing is, free it again, and return how many there were.

    :param count: returns how many fit, in the present state
    :param root: the UUID of the root of the only tree to claim on
    """
    expected, servers = count(), list[str]()
    while candidates := _granted(client, request, root):
        # Not every candidate leaves as many for others.
        for candidate in candidates:
            servers.append(uuid_of(f'claim{len(servers)}'))
            server = Consumer(servers[-1], candidate.allocations, 'p', 'u', None, 'INSTANCE')
            allocation.set(client, server)
            if len(candidates) == 1 or count() == expected - len(servers):
                break
            allocation.delete(client, servers.pop())
        else:
            raise AssertionError(f'no candidate leaves room for the others: {case}')
    for server in servers:
        allocation.delete(client, server)
    assert len(servers) == expected, case
    return expected


def _granted(client, request, root):
    candidates, summaries = allocation_candidate.list(client, request)
    return [c for c in candidates if root is None or c.roots(summaries) == {root}]
