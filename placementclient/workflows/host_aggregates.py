"""Put the providers of hosts into the aggregates that Nova has them in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from placementclient import errors
from placementclient.api import aggregate, resource_provider
from placementclient.api.conflict import edited
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.model.host_aggregates import HostAggregate
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.requests import Filter
from placementclient.model.servers import same_host

#: The states of a change.
ADD, REMOVE, UNKNOWN = 'would add', 'would remove', 'not known'
ADDED, REMOVED, FAILED = 'added', 'removed', 'failed'
_DONE = {ADD: ADDED, REMOVE: REMOVED}


@dataclass(frozen=True, slots=True)
class Change:
    """A host that is put into an aggregate, or taken out.

    :param provider_uuid: empty where Placement does not know the host
    :param state: one of the constants of this module
    :param reason: why it has failed, or is not known
    """

    aggregate: HostAggregate
    host: str
    provider_uuid: str
    state: str
    reason: str = ''


def exit_status(changes: Sequence[Change]) -> ExitStatus:
    """1: nothing of what is to be done is done; 6: some."""
    states = {change.state for change in changes}
    if not states & {FAILED, UNKNOWN}:
        return ExitStatus.DONE
    return ExitStatus.PARTIAL if states & {ADDED, REMOVED} else ExitStatus.ERROR


def plan(
    client: Client, aggregates: Iterable[HostAggregate], *, remove: bool = False
) -> Iterator[Change]:
    """What would be done.

    An aggregate that Nova does not have is left alone: it may tie hosts to what is shared.

    :param remove: whether hosts are taken out of Nova's aggregates in which Nova does not have them
    """
    roots = [each for each in resource_provider.list(client) if each.uuid == _root_of(each)]
    for each in aggregates:
        # Who shares what it has with the hosts of an aggregate is in it, and no host of Nova.
        selection = Filter(member_of=(each.uuid,), forbidden=(SHARING_TRAIT,))
        there = {provider.uuid for provider in resource_provider.list(client, matching=selection)}
        named = set()
        for host in each.hosts:
            found = _of_host(roots, host)
            named |= {provider.uuid for provider in found}
            if len(found) != 1:
                reason = f'{len(found)} resource providers have the name of the host'
                yield Change(each, host, '', UNKNOWN, reason)
            elif found[0].uuid not in there:
                yield Change(each, host, found[0].uuid, ADD)
        if remove:
            for provider in roots:
                if provider.uuid in there - named:
                    yield Change(each, provider.name, provider.uuid, REMOVE)


def carry_out(client: Client, changes: Iterable[Change]) -> Iterator[Change]:
    """Do it, and go on where one fails.

    :return: how each has ended, in order
    """
    for change in changes:
        if change.state not in _DONE:
            yield change
            continue
        try:
            _write(client, change)
        except errors.PlacementError as failure:
            yield replace(change, state=FAILED, reason=str(failure))
        else:
            yield replace(change, state=_DONE[change.state])


def _write(client: Client, change: Change) -> None:
    uuid = change.aggregate.uuid

    def wanted(there: list[str]) -> list[str]:
        if change.state == REMOVE:
            return [each for each in there if each != uuid]
        return there if uuid in there else [*there, uuid]

    edited(
        lambda: aggregate.list(client, change.provider_uuid),
        wanted,
        lambda given, generation: aggregate.set(client, change.provider_uuid, given, generation),
        max_retries=client.max_retries,
    )


def _root_of(provider: Provider) -> str:
    return provider.root_provider_uuid or provider.uuid


def _of_host(roots: Iterable[Provider], host: str) -> list[Provider]:
    """The provider of that very name, or those of the short or the full name of the host."""
    found = [provider for provider in roots if same_host(provider.name, host)]
    return [provider for provider in found if provider.name == host] or found
