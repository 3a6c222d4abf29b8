# SPDX-License-Identifier: Apache-2.0
"""The judgement of a command by the truth of a cloud; nothing of it is the product's."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.worlds.cloud import UNDER_WAY, Cloud, Holding, Host
from tests.worlds.lists import live_servers
from tests.worlds.stage import Held

#: What spoils no evidence; and what spoils that about servers that are gone, or has a list refused.
TRUE_LIES = frozenset({'pages', 'unmapped', 'drops soft-deleted'})
TRUE_DAMAGES = frozenset({'order', 'joined'})
SPOILING = frozenset({
    'page', 'migrations page', 'hypervisors page', 'no deleted', 'no migration uuids',
    'no migrations', 'older', 'older twice', 'twice',
})  # fmt: skip


@dataclass
class Case:
    """A command that has ended.

    :param chosen: the host that it is about
    :param moved: the new UUID of a host that was reinstalled, by the old one
    :param raced: the servers that began to move meanwhile
    :param misnamed: the servers that live, and that the operator calls gone
    :param names: of the providers that are left, by UUID
    """

    cloud: Cloud
    command: str
    chosen: Host
    moved: Mapping[str, str]
    is_live: bool
    damages: frozenset[str]
    argv: list[str] = field(default_factory=list)
    raced: set[str] = field(default_factory=set)
    misnamed: set[str] = field(default_factory=set)
    status: int = 0
    before: Held = field(default_factory=dict)
    after: Held = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_forced(self) -> bool:
        # Without a list of hypervisors, only the operator knows which hosts are one.
        is_unlisted = not self.is_live and '--hypervisors' not in self.argv
        return '--force' in self.argv or ('--merge' in self.argv and is_unlisted)

    @property
    def is_whole(self) -> bool:
        """True if nothing spoils the evidence."""
        return self.damages <= (TRUE_LIES if self.is_live else TRUE_DAMAGES)

    def harm(self) -> Iterator[str]:
        """Yield a sentence about each thing that must not have been done."""
        for holding in self._needed():
            # Of a host that was reinstalled, either provider will do.
            places = {holding.provider.uuid, self.moved.get(holding.provider.uuid)}
            for name, amount in self._required(holding).items():
                left = sum(self.after.get((holding.consumer, place, name), 0) for place in places)
                if left < amount:
                    where = f'{left} of {amount} {name} on {holding.provider.name}'
                    yield f'{self._story(holding.consumer)}: {where}'
        if not self.is_forced:
            yield from self._lost()
        if self.command == 'replace' and not self.is_forced:
            for host in self.cloud.hosts:
                if host.uuid not in self.names and not self.moved:
                    yield f'{host.name} is up, and has no provider any more'

    def _story(self, consumer: str) -> str:
        return f'{consumer} ({self.cloud.stories[consumer]})'

    def _needed(self) -> list[Holding]:
        every = [h for h in self.cloud.holdings if h.is_needed or h.consumer in self.raced]
        if not self.is_forced:
            return every
        # The word of the operator counts more than anything but a migration that is known.
        moving = [m for m in self.cloud.migrations if m.status in (*UNDER_WAY, 'finished')]
        known = {uuid for m in moving for uuid in (m.uuid, m.server.uuid) if not self.damages}
        return [holding for holding in every if holding.consumer in known]

    def _required(self, holding: Holding) -> Mapping[str, int]:
        server = self.cloud.lacking.get(holding.consumer)
        most = server.flavor.resources if server else holding.resources
        return {name: min(amount, most[name]) for name, amount in holding.resources.items()}

    def _lost(self) -> Iterator[str]:
        """Yield the classes of which a server that lives has less in all than it needs."""
        before, after = _totals(self.before), _totals(self.after)
        for server in live_servers(self.cloud):
            is_offloaded = server.status == 'SHELVED_OFFLOADED' and server.task is None
            for name, amount in server.flavor.resources.items():
                was, left = before[server.uuid, name], after[server.uuid, name]
                if left < min(was, amount) and not is_offloaded:
                    yield f'{self._story(server.uuid)}: {left} of {was} {name} in all'

    def promises(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the promises that hold in this world, about what, and whether they are kept."""
        yield from {
            'audit': self._of_audit, 'purge': self._of_purge, 'replace': self._of_replace,
            'heal': self._of_heal,
        }[self.command]()  # fmt: skip

    def _is_due(self, holding: Holding) -> bool:
        """Return whether something has to be freed."""
        # A word that is wrong has everything refused.
        is_refused = self.misnamed and '--gone' in self.argv
        if is_refused or holding.consumer in self.raced or not holding.promise:
            return False
        if holding.promise == 'gone':
            return self.is_whole and '--gone' in self.argv
        if holding.promise == 'deleted' and not self.is_live:
            return self.damages.isdisjoint(SPOILING)
        return self.is_whole

    def _of_audit(self) -> Iterator[tuple[str, str, bool]]:
        for h in filter(self._is_due, self.cloud.holdings):
            left = [k for k in h.resources if (h.consumer, h.provider.uuid, k) in self.after]
            yield h.promise, f'{self._story(h.consumer)} on {h.provider.name}', not left

    def _of_purge(self) -> Iterator[tuple[str, str, bool]]:
        on_it = [h for h in self.cloud.holdings if h.provider.root.uuid == self.chosen.uuid]
        if all(map(self._is_due, on_it)) and (on_it or self.is_whole):
            yield 'purge', self.chosen.name, self.chosen.uuid not in self.names

    def _of_replace(self) -> Iterator[tuple[str, str, bool]]:
        if self.moved and self.is_whole:
            yield 'replace', self.chosen.name, self.status == 0

    def _of_heal(self) -> Iterator[tuple[str, str, bool]]:
        for server in self.cloud.lacking.values() if self.is_whole else ():
            host, flavor = server.host, server.flavor
            # Heal guesses no devices, and no pools.
            if host and not (flavor.specs or flavor.devices or flavor.disk):
                names = ('VCPU', 'MEMORY_MB')
                has = {name: self.after.get((server.uuid, host.uuid, name)) for name in names}
                is_right = has == {name: flavor.resources[name] for name in names}
                if '--amounts' in self.argv or not self.cloud.of(server.uuid):
                    yield 'heal', self._story(server.uuid), is_right


def _totals(held: Held) -> Counter[tuple[str, str]]:
    totals = Counter[tuple[str, str]]()
    for (consumer, _, name), amount in held.items():
        totals[consumer, name] += amount
    return totals
