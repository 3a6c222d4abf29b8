# SPDX-License-Identifier: Apache-2.0
"""Servers claimed one by one, until the service grants no more."""

from collections import Counter

from msgspec.structs import replace

from placementclient.api import allocation, allocation_candidate
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import Snapshot
from tests.functional import databases
from tests.functional.clouds import captured, uuid_of


def claim_all(client, request, clouds, count, cloud_of):
    """Claim servers in each cloud until none is granted there, and free them again.

    The clouds are in one Placement: each gets one server at a time, all with the same requests.

    :param clouds: the content of each, by a key
    :param count: returns how many servers fit in a cloud of a key with some content
    :param cloud_of: returns the key for a candidate's roots; None if it is not to be claimed
    :return: the allocations of the servers of each cloud, as many as were counted at first
    """
    claims = _Claims(count, clouds)
    with databases.restored(databases.sqlite_file(client.session)):
        # In one transaction: a connection for each request costs more than the request.
        with client.session.auth.transaction():
            while granted := _granted(client, request, cloud_of):
                servers = [claims.choose(key, candidates) for key, candidates in granted.items()]
                version = client.microversion
                allocation.replace(
                    client, {s.uuid: allocation.make_body(s, version) for s in servers}
                )
        claims.check(captured(client))
    return claims.allocations


class _Claims:
    """The servers of each cloud, and the state that they leave.

    :param count: as of :func:`claim_all`
    """

    def __init__(self, count, clouds):
        self._count, self._states = count, dict(clouds)
        self._expected = {key: count(key, cloud) for key, cloud in clouds.items()}
        self.allocations = {key: [] for key in clouds}

    def choose(self, key, candidates):
        """Return one more server, of a candidate that leaves as many as before for others."""
        claimed = self.allocations[key]
        left = self._expected[key] - len(claimed) - 1
        uuid = uuid_of(f'claim {len(claimed)} of {key}')
        for candidate in candidates:
            server = Consumer(uuid, candidate.allocations, 'p', 'u', None, 'INSTANCE')
            state = _with_server(self._states[key], server)
            if len(candidates) == 1 or self._count(key, state) == left:
                self._states[key] = state
                claimed.append(server.allocations)
                return server
        raise AssertionError(f'no candidate leaves room for {left} more: {key}')

    def check(self, snapshot):
        """Check that all that fit were granted, and that the service has their usages."""
        assert {key: len(claimed) for key, claimed in self.allocations.items()} == self._expected
        for key, cloud in self._states.items():
            for uuid, state in cloud.providers.items():
                assert Counter(snapshot.providers[uuid].usages) == Counter(state.usages), key


def _granted(client, request, cloud_of):
    """Return the candidates of each cloud that has some."""
    candidates, summaries = allocation_candidate.list(client, request)
    granted = {}
    for candidate in candidates:
        if (key := cloud_of(candidate.find_roots(summaries))) is not None:
            granted.setdefault(key, []).append(candidate)
    return granted


def _with_server(cloud, server):
    providers = dict(cloud.providers)
    for uuid, resources in server.allocations.items():
        usages = Counter(providers[uuid].usages) + Counter(resources)
        providers[uuid] = replace(providers[uuid], usages=dict(usages))
    return Snapshot(providers.values(), [*cloud.consumers.values(), server])
