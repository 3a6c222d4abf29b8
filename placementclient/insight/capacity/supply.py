"""The sites of servers of a shape, and the sources of each part there.

A part is what one provider serves alone: a class of the common group, or a whole group with a
suffix. The rules are Placement's own: those who serve the common group have its required traits
between them; an aggregate of the root counts for its tree there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.insight.capacity.search import Choice, Rules, Use
from placementclient.insight.capacity.totals import slots
from placementclient.insight.topology import Topology, has_each, is_sharing
from placementclient.model.consumers import Resources
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState


class RequestPart(NamedTuple):
    """The part of a request that one provider has to serve.

    :param asked: the conditions on that provider
    """

    label: str
    group: str
    resources: Resources
    asked: Filter


@dataclass(frozen=True, slots=True)
class Site:
    """A site of a server: a tree, and the providers that reach it.

    Of trees that are alike ``own`` and ``pools`` are the same objects, unless there are choices.

    :param own: of how many servers the tree serves a part itself, by the part's label
    :param pools: the sharing providers that can serve a part, and serve others too
    :param offers: the parts of which there is inventory at all
    :param choices: what each part can come from, where that depends on the other parts
    """

    name: str
    own: Mapping[str, int]
    pools: Mapping[str, frozenset[str]]
    offers: frozenset[str]
    choices: Mapping[str, tuple[Choice, ...]]

    @property
    def is_alone(self) -> bool:
        """Return whether no other site has to do with it."""
        return not any(self.pools.values())


class Supply:
    """All sites for servers of one shape, and what they have.

    :param trees: the UUIDs of the roots of the trees to look at; ``None``: all
    """

    def __init__(
        self, topology: Topology, request: CandidateRequest, trees: Collection[str] | None = None
    ) -> None:
        self._topology, self._request = topology, request
        self.parts = list(_parts(request))
        self.labels = [part.label for part in self.parts]
        classes = Counter(name for part in self.parts for name in part.resources)
        #: The classes that several parts of one server ask for.
        self._contested = {name for name, parts in classes.items() if parts > 1}
        groups = [part.label for part in self.parts if part.group]
        is_isolated = request.group_policy == 'isolate' and len(groups) > 1
        covering = tuple(part.label for part in self.parts if not part.group)
        self._traits = [set(each.split(',')) for each in request.common.required]
        self.rules = Rules(frozenset(groups if is_isolated else ()), covering, len(self._traits))
        #: Of how many servers each pool serves a part, by its label.
        self.stock: dict[str, dict[str, int]] = {label: {} for label in self.labels}
        #: How much there is of what choices use.
        self.amounts: dict[tuple[str, str], int] = {}
        roots = topology.trees if trees is None else trees
        sites = list(self._sites(roots))
        complete = [site for site in sites if self.is_complete(site)]
        #: The sites that have inventory for every part; where there is none, those with some.
        self.sites = complete or sites

    def is_complete(self, site: Site) -> bool:
        return len(site.offers) == len(self.labels)

    def _sites(self, roots: Iterable[str]) -> Iterator[Site]:
        # Which tree it is matters to these alone.
        is_local = any(part.asked.in_tree for part in self.parts)
        kinds = self._topology.kinds
        known: dict[object, Site | None] = {}
        for root in roots:
            kind = root if is_local else kinds[root]
            if kind in known:
                site = known[kind]
                if site is not None:
                    name = self._topology.trees[root][0].name
                    site = Site(name, site.own, site.pools, site.offers, site.choices)
            else:
                site = self._site(root)
                if site is None or not site.choices:
                    known[kind] = site
            if site is not None:
                yield site

    def _site(self, root_uuid: str) -> Site | None:
        states = self._topology.trees[root_uuid]
        root, request = states[0], self._request
        is_admitted = root.traits.isdisjoint(request.root_forbidden)
        if not (is_admitted and has_each(root.traits, request.root_required)):
            return None
        reached = self._topology.reached(root_uuid)
        serving = {
            part.label: [
                state
                for state in (*states, *reached)
                if part.resources.keys() <= state.inventories.keys()
                and self._admits(part, state, root)
            ]
            for part in self.parts
        }
        if self._lacks_traits(serving):
            return None
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        pools = {
            part.label: [state for state in serving[part.label] if is_sharing(state)]
            for part in self.parts
        }
        own: dict[str, int] = {}
        for part in self.parts:
            counts = {state.uuid: _servers(state, part) for state in serving[part.label]}
            shared = {state.uuid for state in pools[part.label]}
            self.stock[part.label] |= {uuid: counts[uuid] for uuid in shared}
            own[part.label] = sum(n for uuid, n in counts.items() if uuid not in shared)
        return Site(
            root.name,
            own,
            {label: frozenset(state.uuid for state in found) for label, found in pools.items()},
            frozenset(label for label, found in serving.items() if found),
            self._choices(serving) if self._depends(serving) else {},
        )

    def _admits(self, part: RequestPart, state: ProviderState, root: ProviderState) -> bool:
        asked = part.asked
        root_of = self._topology.root_of
        if asked.in_tree and root_of[state.uuid] != root_of.get(asked.in_tree):
            return False
        # What is shared from another tree has to be a member itself.
        is_inside = root_of[state.uuid] == root.uuid and not part.group
        around = state.aggregates | root.aggregates if is_inside else state.aggregates
        outside = state.aggregates if part.group else state.aggregates | root.aggregates
        return (
            state.traits.isdisjoint(asked.forbidden)
            and (not part.group or has_each(state.traits, asked.required))
            and has_each(around, asked.member_of)
            and not any(has_each(outside, [members]) for members in asked.forbidden_member_of)
        )

    def _lacks_traits(self, serving: Mapping[str, list[ProviderState]]) -> bool:
        """Return True if no provider that serves the common group has one of its traits."""
        everybody = [state for label in self.rules.covering for state in serving[label]]
        return any(all(one.isdisjoint(s.traits) for s in everybody) for one in self._traits)

    def _depends(self, serving: Mapping[str, list[ProviderState]]) -> bool:
        """Return whether what serves one part decides what can serve another."""
        if self._contested or self.rules.apart:
            return True
        return not all(
            any(
                serving[label] and all(not one.isdisjoint(s.traits) for s in serving[label])
                for label in self.rules.covering
            )
            for one in self._traits
        )

    def _choices(self, serving: Mapping[str, list[ProviderState]]) -> dict[str, tuple[Choice, ...]]:
        choices = {}
        for part in self.parts:
            choices[part.label] = tuple(
                Choice(
                    state.uuid,
                    tuple(self._uses(state, part)),
                    frozenset() if part.group else self._traits_of(state),
                )
                for state in serving[part.label]
                if _servers(state, part)
            )
        return choices

    def _uses(self, state: ProviderState, part: RequestPart) -> Iterator[Use]:
        """Return the uses of a provider by a part: one of the servers that it has room for, and
        amounts
        where another part takes of the same class."""
        key = state.uuid, part.label
        self.amounts[key] = _servers(state, part)
        yield Use(key)
        for name in self._contested & part.resources.keys():
            inventory, key = state.inventories[name], (state.uuid, f'class {name}')
            self.amounts[key] = max(0, state.free(name))
            yield Use(key, part.resources[name], inventory.max_unit)

    def _traits_of(self, state: ProviderState) -> frozenset[int]:
        return frozenset(
            number for number, one in enumerate(self._traits) if not one.isdisjoint(state.traits)
        )


def _parts(request: CandidateRequest) -> Iterator[RequestPart]:
    for name, amount in request.common.resources.items():
        yield RequestPart(name, '', {name: amount}, request.common)
    for suffix, group in request.groups.items():
        label = f'{"+".join(group.resources)} (group {suffix})'
        yield RequestPart(label, suffix, group.resources, group)


def _servers(state: ProviderState, part: RequestPart) -> int:
    """Of how many servers a provider can serve a part."""
    return min((slots(state, name, n) for name, n in part.resources.items()), default=0)
