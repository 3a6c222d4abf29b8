"""All hosts and their servers while servers move."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from placementclient.insight.drain.cloud import DrainCloud, MovingServer
from placementclient.insight.drain.exact import pack
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Filler, PackingProblem, Placed
from placementclient.insight.drain.plan import Packed, moved
from placementclient.model.consumers import Allocations
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request


@dataclass(frozen=True, slots=True)
class Trial:
    """New places for servers, while the old places are still in use.

    :param taken: the request of each place
    :param left: the servers that have no place
    """

    moves: list[ServerMove] = field(default_factory=list)
    taken: list[tuple[Request, Placed]] = field(default_factory=list)
    left: list[MovingServer] = field(default_factory=list)


class Fleet:
    """All hosts, and the present places of their servers.

    :param watched: the hosts whose servers may move
    """

    def __init__(self, cloud: DrainCloud, watched: Iterable[str]) -> None:
        self.cloud = cloud
        #: The servers on each host, by its UUID and theirs.
        self.on: dict[str, dict[str, MovingServer]] = {}
        self._requests: dict[str, Request] = {}
        for server in cloud.servers(watched)[0]:
            self._requests[server.uuid] = cloud.strict(server)
            self.on.setdefault(server.host, {})[server.uuid] = server
        self.problem: PackingProblem = cloud.problem(self._requests.values(), ())
        self._number = {host.uuid: number for number, host in enumerate(self.problem.hosts)}
        self._filler = Filler(self.problem)
        self._sharing = {
            uuid for uuid, state in cloud.snapshot.providers.items() if is_sharing(state)
        }
        self._distinct: dict[Request, Request] = {}

    def servers(self, hosts: Iterable[str]) -> list[MovingServer]:
        return [server for uuid in hosts for server in self.on.get(uuid, {}).values()]

    def take(self, hosts: Iterable[str]) -> None:
        """Exclude hosts as targets until :meth:`give`."""
        for uuid in hosts:
            if uuid in self._number:
                self._filler.take(self._number[uuid])

    def give(self, hosts: Iterable[str]) -> None:
        """Allow hosts as targets again."""
        for uuid in hosts:
            if uuid in self._number:
                self._filler.give(self._number[uuid])

    def attempt(self, servers: Sequence[MovingServer]) -> Trial:
        """Find places for servers on the hosts that are not excluded, by best-fit decreasing."""
        trial = Trial()
        kinds = sorted(self._kinds(servers), key=lambda kind: -self._filler.size(kind[0]))
        for request, group in kinds:
            placed = self._filler.fill(request, len(group))
            for server, place in zip(group, placed, strict=False):
                host = self.problem.hosts[place.host]
                trial.moves.append(moved(server, request, host, place.option))
                trial.taken.append((request, place))
            trial.left.extend(group[len(placed) :])
        return trial

    def without(self, hosts: Collection[str]) -> list[MovingServer]:
        """Return the servers of some hosts that find no place on the others; place none."""
        self.take(hosts)
        trial = self.attempt(self.servers(hosts))
        self.undo(trial)
        self.give(hosts)
        return trial.left

    def undo(self, trial: Trial) -> None:
        """Free the places of an attempt."""
        for request, place in trial.taken:
            self._filler.free(request, [place])

    def pack(
        self, servers: Sequence[MovingServer], emptied: Collection[str], effort: float
    ) -> Packed:
        """Return the best packing of servers that can be proved, without placing any.

        :param emptied: the hosts that receive nothing
        """
        now, out = self.problem, set(emptied)
        hosts = [host for host in now.hosts if host.uuid not in out]
        kinds = [(request, len(group)) for request, group in self._kinds(servers)]
        packing = pack(PackingProblem(kinds, hosts, now.pools, now.limits).copy(), effort)
        return Packed(servers, [self._requests[server.uuid] for server in servers], packing)

    def commit(self, moves: Iterable[ServerMove], *, is_taken: bool) -> None:
        """Move servers off excluded hosts: free their old places.

        :param is_taken: whether the room of their new places is taken already
        """
        for move in moves:
            request = self._requests.get(move.server, Request(()))
            before, after = self._shared(move.before), self._shared(move.after)
            self._enter(move.source, request, move.before, -1)
            self._add(before - after, 1)
            if move.target is None:
                continue
            if not is_taken:
                self.take([move.target])
                self._enter(move.target, request, move.after, 1)
                self.give([move.target])
                self._add(after - before, -1)
            if before != after:
                shared = tuple((uuid, name, n) for (uuid, name), n in sorted(after.items()))
                request = request._replace(shared=shared)
                self._requests[move.server] = self._distinct.setdefault(request, request)
            del self.on[move.source][move.server]
            servers = self.on.setdefault(move.target, {})
            servers[move.server] = MovingServer(move.server, move.target, move.after)

    def _kinds(self, servers: Iterable[MovingServer]) -> list[tuple[Request, list[MovingServer]]]:
        groups: dict[int, tuple[Request, list[MovingServer]]] = {}
        for server in servers:
            request = self._requests[server.uuid]
            groups.setdefault(id(request), (request, []))[1].append(server)
        return list(groups.values())

    def _shared(self, allocations: Allocations) -> Counter[tuple[str, str]]:
        return Counter(
            {
                (uuid, name): amount
                for uuid in self._sharing.intersection(allocations)
                for name, amount in allocations[uuid].items()
            }
        )

    def _add(self, amounts: Mapping[tuple[str, str], int], sign: int) -> None:
        for pool, amount in amounts.items():
            self.problem.pools[pool] += sign * amount

    def _enter(self, uuid: str, request: Request, allocations: Allocations, sign: int) -> None:
        """Take what a server holds of a host that is taken out; give it back, if the sign is -1."""
        if uuid not in self._number:
            return
        host = self.problem.hosts[self._number[uuid]]
        rooms, totals = host.shape.rooms, host.shape.totals
        for place, provider in enumerate(host.providers):
            for name, amount in allocations.get(provider, {}).items():
                if (place, name) in rooms:
                    for at in {rooms[place, name], totals[name]}:
                        host.room[at] -= sign * amount
        for name in request.limits:
            host.members[name] += sign
