"""Hosts in the aggregates that Nova has them in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from placementclient.changes.results import Note
from placementclient.client.wording import listed
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing


def synced(
    snapshot: Snapshot, aggregates: Iterable[HostAggregate], *, remove: bool = False
) -> tuple[Snapshot, list[Note]]:
    """Return the snapshot with each host in its aggregates, and notes on hosts left as they are.

    Aggregates that Nova does not have stay: they may tie hosts to sharing providers. No host leaves
    an aggregate of which one host is not known: it may be that very provider.

    :param snapshot: has all roots, and whether they are in the aggregates of Nova and share
    :param remove: take hosts out of the aggregates of Nova in which Nova does not have them
    """
    hosts = _Hosts(state.provider for state in snapshot.roots())
    gained, lost = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    notes: list[Note] = []
    for each in aggregates:
        named, unknown = set[str](), list[str]()
        for host in each.hosts:
            found = hosts.called(host)
            named |= {provider.uuid for provider in found}
            if len(found) == 1:
                gained[found[0].uuid].add(each.uuid)
                continue
            having = f'{len(found)} resource providers have' if found else 'no provider has'
            unknown.append(host)
            notes.append(Note(host, 'not known', f'{each.name}: {having} the name of the host'))
        surplus = [
            state
            for state in snapshot.roots()
            if each.uuid in state.aggregates and state.uuid not in named and not is_sharing(state)
        ]
        for state in surplus if remove else ():
            if unknown:
                first = f'{each.name}: every host of the aggregate has to be known first'
                notes.append(Note(state.name, 'left alone', f'{first}: {listed(unknown, 3)}'))
            else:
                lost[state.uuid].add(each.uuid)
    states = (
        replace(state, aggregates=(state.aggregates - lost[uuid]) | gained[uuid])
        for uuid, state in snapshot.providers.items()
    )
    return Snapshot(states, snapshot.consumers.values(), snapshot.origin), notes


class _Hosts:
    """The providers of hosts, by the names that these may go by."""

    def __init__(self, roots: Iterable[Provider]) -> None:
        self._by_name: dict[str, Provider] = {}
        self._by_short_name: dict[str, list[Provider]] = {}
        for provider in roots:
            self._by_name[provider.name] = provider
            self._by_short_name.setdefault(_short(provider.name), []).append(provider)

    def called(self, host: str) -> list[Provider]:
        """Return the provider of that very name, or those of the host's short or full name."""
        named = self._by_name.get(host) or self._by_name.get(_short(host))
        return [named] if named else self._by_short_name.get(host, [])


def _short(host: str) -> str:
    return host.partition('.')[0]
