"""A cloud in which one provider has taken the place of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from placementclient.client import errors
from placementclient.client.wording import first
from placementclient.model.aside import original
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.purged import Unaccounted


class HeldTwice(errors.PlacementError):
    """Consumers hold the same classes on a provider and on the one that replaces it.

    :param facts: of each: consumer, resource class, and the names of the two providers
    """

    def __init__(self, facts: Sequence[tuple[str, str, str, str]]) -> None:
        self.facts = tuple(facts)
        shown = [
            f'consumer {who} holds {name} on {old} and on {new}' for who, name, old, new in facts
        ]
        super().__init__(
            f'{first(shown)}: it is not known which of the two is right. Take one away first with '
            '"resource provider allocation unset CONSUMER --provider PROVIDER"'
        )


class Smaller(errors.PlacementError):
    """A provider has less than the one that it is to replace.

    :param facts: of each: the provider that has less, the resource class, and the other provider
    """

    def __init__(self, facts: Sequence[tuple[str, str, str]]) -> None:
        self.facts = tuple(facts)
        shown = [f'{new} grants less {name} than {old}' for new, name, old in facts]
        new, name, _ = self.facts[0]
        super().__init__(
            f'{first(shown)}: compare capacity, min_unit, max_unit and step_size, and raise them '
            f'first with "resource provider inventory class set {new} {name}"'
        )


def replaced(snapshot: Snapshot, old_uuid: str, new_uuid: str, name: str | None = None) -> Snapshot:
    """Return the snapshot with one provider in the place of another, which is gone.

    The new one has the inventories, traits, aggregates, children and allocations of both; of a
    class that both have, its own inventory. The names of children that begin with the name of the
    provider and ``_`` follow it. Where a child of each then has the same name, that of the new one
    replaces the other in the same way.

    :param snapshot: has the whole trees of both, as far as they exist; also half way between
    :param new_uuid: of a provider that is there, or that is made where the old one is
    :param name: of the new one; ``None``: the name of the old one
    :raises errors.BadArgument: if the new one is below the old one
    :raises HeldTwice: if a consumer holds the same class on both
    :raises Smaller: if an inventory of the new one grants less
    :raises Unaccounted: if something is used that no consumer answers for
    """
    old = snapshot.providers[old_uuid]
    above = old.provider.parent_provider_uuid
    new = snapshot.providers.get(new_uuid) or ProviderState(Provider(new_uuid, '', 0, above))
    old_tree = list(snapshot.tree(old_uuid))
    if new in old_tree:
        raise errors.BadArgument(f'{new.name} is below {old.name}: it cannot replace it')
    states = {**snapshot.providers, new_uuid: new}
    new_tree = [
        state for state in Snapshot(states.values(), ()).tree(new_uuid) if state not in old_tree
    ]
    final = name or original(old.name, old_uuid)
    of_old = _names(old_tree, final)
    # Half way, some of the old one's are below the new one already, by either name.
    of_new = _names(new_tree, final, original(old.name, old_uuid), final)
    there = {name: uuid for uuid, name in of_new.items()}
    heirs = {uuid: there[name] for uuid, name in of_old.items() if name in there}
    for uuid in heirs:
        if unlisted := snapshot.unlisted(uuid):
            raise Unaccounted(states[uuid].provider, unlisted)
    states |= _merged(states, heirs)
    moved = (
        _moved(state, (of_old | of_new).get(uuid, state.name), heirs)
        for uuid, state in states.items()
        if uuid not in heirs
    )
    return Snapshot(moved, _consumers(snapshot, states, heirs), snapshot.origin)


def _names(tree: Sequence[ProviderState], final: str, *others: str) -> dict[str, str]:
    """Return the names that a provider and all below it get.

    :param tree: the provider, and all below it
    :param final: the name of the provider
    :param others: names beside its own that those below may begin with
    """
    top, *children = tree
    bases = sorted((original(top.name, top.uuid), *others), key=len, reverse=True)
    names = {top.uuid: final}
    for child in children:
        own = original(child.name, child.uuid)
        base = next((each for each in bases if own.startswith(f'{each}_')), None)
        names[child.uuid] = own if base is None else final + own.removeprefix(base)
    return names


def _merged(
    states: Mapping[str, ProviderState], heirs: Mapping[str, str]
) -> dict[str, ProviderState]:
    """Return each heir with all that it gets; its own inventories are those of today."""
    result: dict[str, ProviderState] = {}
    facts = []
    for gone, heir in ((states[uuid], states[heirs[uuid]]) for uuid in heirs):
        facts += [
            (heir.name, name, gone.name)
            for name in gone.inventories.keys() & heir.inventories.keys()
            if not heir.inventories[name].covers(gone.inventories[name])
        ]
        result[heir.uuid] = replace(
            heir,
            inventories={**gone.inventories, **heir.inventories},
            traits=gone.traits | heir.traits,
            aggregates=gone.aggregates | heir.aggregates,
        )
    if facts:
        raise Smaller(sorted(facts))
    return result


def _moved(state: ProviderState, name: str, heirs: Mapping[str, str]) -> ProviderState:
    above = state.provider.parent_provider_uuid
    parent = heirs.get(above, above) if above else None
    return replace(state, provider=state.provider._replace(name=name, parent_provider_uuid=parent))


def _consumers(
    snapshot: Snapshot, states: Mapping[str, ProviderState], heirs: Mapping[str, str]
) -> list[Consumer]:
    """Return all consumers, with what they held on a provider that goes on its heir."""
    result, twice = [], []
    for consumer in snapshot.consumers.values():
        held: dict[str, dict[str, int]] = {
            uuid: dict(resources)
            for uuid, resources in consumer.allocations.items()
            if uuid not in heirs
        }
        for uuid in consumer.allocations.keys() & heirs.keys():
            there = held.setdefault(heirs[uuid], {})
            sides = states[uuid].name, states[heirs[uuid]].name
            for name, amount in consumer.allocations[uuid].items():
                if name in there:
                    twice.append((consumer.uuid, name, *sides))
                there[name] = amount
        result.append(replace(consumer, allocations=held))
    if twice:
        raise HeldTwice(sorted(twice))
    return result
