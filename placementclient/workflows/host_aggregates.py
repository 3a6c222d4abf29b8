"""Put the providers of hosts into the aggregates that Nova has them in."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from placementclient.api import aggregate, resource_provider
from placementclient.api.conflict import edited
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.requests import Filter
from placementclient.wording import listed
from placementclient.workflows.run import Run


class State(enum.StrEnum):
    """Where a change is."""

    ADD = 'would add'
    REMOVE = 'would remove'
    UNKNOWN = 'not known'
    LEFT_ALONE = 'left alone'
    ADDED = 'added'
    REMOVED = 'removed'
    FAILED = 'failed'
    NOT_STARTED = 'not started'


#: The changes that are to be made, and their state afterwards.
DONE = {State.ADD: State.ADDED, State.REMOVE: State.REMOVED}


@dataclass(frozen=True, slots=True)
class Change:
    """A host that is put into an aggregate, or taken out.

    :param provider_uuid: empty where Placement does not know the host
    :param reason: why it has failed, is not known, or is left alone
    """

    aggregate: HostAggregate
    host: str
    provider_uuid: str
    state: State
    reason: str = ''


def exit_status(changes: Sequence[Change], run: Run) -> ExitStatus:
    """1: nothing of what is to be done is done; 6: some."""
    states = {change.state for change in changes}
    return run.exit_status(
        is_failed=bool(states & {State.FAILED, State.UNKNOWN}),
        is_done=bool(states & {State.ADDED, State.REMOVED}),
    )


def plan(
    client: Client, aggregates: Iterable[HostAggregate], *, remove: bool = False
) -> Iterator[Change]:
    """What would be done.

    An aggregate that Nova does not have is left alone: it may tie hosts to what is shared. No host
    is taken out of an aggregate of which one host is not known: it may be that very provider.

    :param remove: whether hosts are taken out of Nova's aggregates in which Nova does not have them
    """
    roots = {
        each.uuid: each for each in resource_provider.list(client) if each.uuid == each.root_uuid
    }
    hosts = _Hosts(roots.values())
    for each in aggregates:
        # Who shares what it has with the hosts of an aggregate is in it, and no host of Nova.
        selection = Filter(member_of=(each.uuid,), forbidden=(SHARING_TRAIT,))
        there = [provider.uuid for provider in resource_provider.list(client, matching=selection)]
        within, named, unknown = set(there), set[str](), list[str]()
        for host in each.hosts:
            found = hosts.called(host)
            named |= {provider.uuid for provider in found}
            if len(found) != 1:
                having = f'{len(found)} resource providers have' if found else 'no provider has'
                reason = f'{having} the name of the host'
                unknown.append(host)
                yield Change(each, host, '', State.UNKNOWN, reason)
            elif found[0].uuid not in within:
                yield Change(each, host, found[0].uuid, State.ADD)
        if remove:
            # In the order of Placement, which is that of their making.
            surplus = [roots[uuid] for uuid in there if uuid in roots and uuid not in named]
            state = State.LEFT_ALONE if unknown else State.REMOVE
            first = 'every host of the aggregate has to be known first'
            reason = f'{first}: {listed(unknown, 3)}' if unknown else ''
            for provider in surplus:
                yield Change(each, provider.name, provider.uuid, state, reason)


def carry_out(client: Client, changes: Iterable[Change], run: Run) -> Iterator[Change]:
    """Do it, and go on where one fails.

    :return: how each has ended, in order; none is begun any more once the run is over
    """
    for change in changes:
        if change.state not in DONE:
            yield change
        elif run.is_over:
            yield replace(change, state=State.NOT_STARTED)
        else:
            reason = _failure(client, change, run)
            state = State.FAILED if reason else DONE[change.state]
            yield replace(change, state=state, reason=reason)


def _failure(client: Client, change: Change, run: Run) -> str:
    """Make a change: why that has failed; nothing if it has not."""
    uuid = change.aggregate.uuid

    def read() -> Read[list[str]]:
        return aggregate.list(client, change.provider_uuid)

    def wanted(there: list[str]) -> list[str]:
        if change.state is State.REMOVE:
            return [each for each in there if each != uuid]
        return there if uuid in there else [*there, uuid]

    def is_done() -> bool:
        there = read().value
        return wanted(there) == there

    def write(given: list[str], generation: int) -> Read[list[str]]:
        return aggregate.set(client, change.provider_uuid, given, generation)

    return run.failure(lambda: edited(read, wanted, write, max_retries=client.max_retries), is_done)


class _Hosts:
    """The providers of hosts, by the names that these may go by."""

    def __init__(self, roots: Iterable[Provider]) -> None:
        self._by_name: dict[str, Provider] = {}
        self._by_short_name: dict[str, list[Provider]] = {}
        for provider in roots:
            self._by_name[provider.name] = provider
            self._by_short_name.setdefault(_short(provider.name), []).append(provider)

    def called(self, host: str) -> list[Provider]:
        """The provider of that very name, or those of the short or the full name of the host."""
        named = self._by_name.get(host) or self._by_name.get(_short(host))
        if named:
            return [named]
        return self._by_short_name.get(host, [])


def _short(host: str) -> str:
    return host.partition('.')[0]
