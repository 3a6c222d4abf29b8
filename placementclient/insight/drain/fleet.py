# SPDX-License-Identifier: Apache-2.0
"""All hosts and their servers while servers move."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.exact import pack
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Filler, Load, Packing, PackingProblem, by_request
from placementclient.model.consumers import Allocations
from placementclient.placing.requests import Pool, Request


class Fleet:
    """All hosts, and the present places of the servers of watched ones."""

    def __init__(self, cloud: DrainCloud, watched: Iterable[str]) -> None:
        #: The servers on each host, by its UUID and theirs.
        self._on: dict[str, dict[str, ServerMove]] = {}
        self._requests: dict[str, Request] = {}
        servers, offloaded, self.unsettled = cloud.occupants(watched)
        #: The shelved servers on each host.
        self.offloaded: dict[str, list[ServerMove]] = {}
        for server in offloaded:
            self.offloaded.setdefault(server.source, []).append(server)
        for server in servers:
            self._requests[server.server] = cloud.strict(server)
            self._on.setdefault(server.source, {})[server.server] = server
        self._problem = cloud.problem(self._kinds(self.servers(self._on)), ())
        self._number = {host.uuid: number for number, host in enumerate(self._problem.hosts)}
        self._filler = Filler(self._problem)
        self._snapshot = cloud.snapshot
        self._distinct: dict[Request, Request] = {}

    def servers(self, hosts: Iterable[str]) -> list[ServerMove]:
        return [server for uuid in hosts for server in self._on.get(uuid, {}).values()]

    @contextmanager
    def excluding(self, hosts: Iterable[str]) -> Iterator[None]:
        """Exclude hosts as targets."""
        numbers = [self._number[uuid] for uuid in hosts if uuid in self._number]
        for number in numbers:
            self._filler.take(number)
        yield
        for number in numbers:
            self._filler.give(number)

    def attempt(self, servers: Sequence[ServerMove]) -> Packing:
        """Place servers, which keep their old places, on the other hosts by best-fit decreasing."""
        problem = self._problem.of(self._kinds(servers))
        placed = self._filler.fill(problem.kinds, problem.counts)
        return Packing(problem, placed, len(servers))

    def undo(self, packing: Packing) -> None:
        """Free the places of an attempt."""
        for request, placed in zip(packing.problem.kinds, packing.placed, strict=True):
            self._filler.free(request, placed)

    def without(self, hosts: Collection[str]) -> list[ServerMove]:
        """Return the servers of some hosts that find no place on the others; place none."""
        with self.excluding(hosts):
            packing = self.attempt(self.servers(hosts))
            self.undo(packing)
        return packing.left()

    def search(
        self, servers: Sequence[ServerMove], emptied: Collection[str], effort: float
    ) -> Packing:
        """Return the best packing of servers that can be proved, without placing any."""
        now, out = self._problem, set(emptied)
        hosts = [host for host in now.hosts if host.uuid not in out]
        problem = PackingProblem(self._kinds(servers), hosts, now.pools, now.limits)
        return pack(problem.copy(), effort)

    def commit(self, moves: Iterable[ServerMove], *, is_taken: bool) -> None:
        """Move servers off excluded hosts: free their old places.

        :param is_taken: whether the room of their new places is taken already
        """
        pools = self._problem.pools
        for move in moves:
            request = self._requests.get(move.server, Request(()))
            before, after = self._shared(move.before), self._shared(move.after)
            self._enter(move.source, request, move.before, -1)
            pools.update(before - after)
            if move.target is None:
                continue
            if not is_taken:
                number = self._number[move.target]
                self._filler.take(number)
                self._enter(move.target, request, move.after, 1)
                self._filler.give(number)
                pools.subtract(after - before)
            if before != after:
                request = request._replace(shared=tuple(after.items()))
                self._requests[move.server] = self._distinct.setdefault(request, request)
            del self._on[move.source][move.server]
            moved = ServerMove(move.server, move.target, move.after, {})
            self._on.setdefault(move.target, {})[move.server] = moved

    def _kinds(self, servers: Iterable[ServerMove]) -> list[Load]:
        return by_request(servers, lambda server: self._requests[server.server])

    def _shared(self, allocations: Allocations) -> Counter[Pool]:
        return Counter(dict(requests.shared(self._snapshot, allocations)))

    def _enter(self, uuid: str, request: Request, allocations: Allocations, sign: int) -> None:
        """Take a server's amounts off the room of an excluded host; -1 gives them back."""
        if uuid in self._number:
            host = self._problem.hosts[self._number[uuid]]
            rooms, totals = host.shape.rooms, host.shape.totals
            for place, provider in enumerate(host.providers):
                for name, amount in allocations.get(provider, {}).items():
                    if (place, name) in rooms:
                        for at in {rooms[place, name], totals[name]}:
                            host.room[at] -= sign * amount
            for name in request.limits:
                host.members[name] += sign
