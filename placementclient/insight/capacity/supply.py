"""The sites for servers of a shape, and the sources of each part there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Rules, Use
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import StateSearch
from placementclient.placing.providers import HostProvider, is_sharing, slots
from placementclient.placing.requests import RequestPart, parsed
from placementclient.placing.shapes import serving
from placementclient.placing.topology import Topology

#: Stands for a class, or a part, where all of them have to be in one place.
TOGETHER = '(together)'


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site for servers: a tree, and the sharing providers that serve it.

    Trees that are alike have the same site, unless there are choices.

    :param name: of the tree, or of one of those that are alike
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
        """Return whether the site shares no source with another site."""
        return not any(self.pools.values())


class Supply:
    """All sites for servers of one shape, with their inventory.

    :param trees: the UUIDs of the roots of the trees to look at; ``None``: all
    """

    def __init__(
        self, topology: Topology, request: CandidateRequest, trees: Collection[str] | None = None
    ) -> None:
        self._topology, self._request = topology, parsed(request)
        #: The parts that take something, by their labels.
        self._parts = {_label(part): part for part in self._request.parts if part.resources}
        self.labels = list(self._parts)
        classes = Counter(name for part in self._request.parts for name, _ in part.resources)
        #: The classes that several parts of one server ask for.
        self._contested = {name for name, parts in classes.items() if parts > 1}
        self.rules = self._rules()
        #: Of how many servers each pool serves a part, by its label.
        self.stock: dict[str, dict[str, int]] = {label: {} for label in self.labels}
        #: How much there is of what choices use.
        self.amounts: dict[tuple[str, str], int] = {}
        sites = list(self._sites(topology.trees if trees is None else trees))
        #: The names of the trees that have inventory for every part, each with its site.
        self.complete = [pair for pair in sites if len(pair[1].offers) == len(self.labels)]
        #: The sites of these trees; where there is none, of those with inventory for some part.
        self.sites = [site for _, site in self.complete or sites]

    def _rules(self) -> Rules:
        if self._request.subtrees:
            # All parts of a server are one choice.
            return Rules()
        groups = [label for label, part in self._parts.items() if part.group]
        is_isolated = self._request.is_isolated and len(groups) > 1
        covering = tuple(label for label, part in self._parts.items() if not part.group)
        apart = frozenset(groups if is_isolated else ())
        return Rules(apart, covering, len(self._request.covering))

    def _sites(self, roots: Iterable[str]) -> Iterator[tuple[str, Site]]:
        topology, trees = self._topology, self._request.trees
        by_kind: dict[object, Site | None] = {}
        for root in roots:
            kind = topology.kind(root, trees)
            site = by_kind[kind] if kind in by_kind else self._site(root)
            if site is None or not site.choices:
                by_kind[kind] = site
            if site is not None:
                yield topology.trees[root][0].name, site

    def _site(self, root_uuid: str) -> Site | None:
        states = self._topology.serving(root_uuid)
        bins = self._topology.host(root_uuid, self._request.trees)

        def is_able(number: int, part: RequestPart) -> bool:
            return all(name in states[number].inventories for name, _ in part.resources)

        suitable = serving(self._request, bins, is_able)
        if suitable is None:
            return None
        able = {
            _label(part): [states[number] for number in numbers]
            for part, numbers in zip(self._request.parts, suitable, strict=True)
            if part.resources
        }
        if self._lacks_traits(able):
            return None
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        pools = {
            label: [state for state in able[label] if is_sharing(state)] for label in self.labels
        }
        local: dict[str, int] = {}
        for label, part in self._parts.items():
            counts = {state.uuid: _servers(state, part) for state in able[label]}
            shared = {state.uuid for state in pools[label]}
            self.stock[label] |= {uuid: counts[uuid] for uuid in shared}
            local[label] = sum(n for uuid, n in counts.items() if uuid not in shared)
        if self._request.subtrees:
            choices = {TOGETHER: tuple(self._options(states, bins, suitable))}
        else:
            choices = self._choices(able) if self._depends(able) else {}
        return Site(
            states[0].name,
            local,
            {label: frozenset(state.uuid for state in pool) for label, pool in pools.items()},
            frozenset(label for label, members in able.items() if members),
            choices,
        )

    def _options(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        suitable: Sequence[Sequence[int]],
    ) -> Iterator[Choice]:
        """Return a choice for each set of amounts that a whole server may take."""
        search = StateSearch(self._request, bins, suitable, states)
        seen = set()
        for _ in search.places():
            uses = tuple(
                Use((states[place].uuid, f'class {name}'), amount)
                for (place, name), amount in sorted(search.taken.items())
                if amount
            )
            if uses not in seen:
                seen.add(uses)
                self.amounts |= {
                    (states[place].uuid, f'class {name}'): max(0, states[place].free(name))
                    for place, name in search.taken
                }
                yield Choice(f'way {len(seen)}', uses)
        if search.left < 0:
            raise errors.PlacementError(
                'There are too many ways to serve groups in one subtree: ask for fewer groups'
            )

    def _lacks_traits(self, able: Mapping[str, list[ProviderState]]) -> bool:
        """Return True if no provider that serves the common group has one of its traits."""
        common = [label for label, part in self._parts.items() if not part.group]
        everybody = [state for label in common for state in able[label]]
        return any(
            all(alternatives.isdisjoint(state.traits) for state in everybody)
            for alternatives in self._request.covering
        )

    def _depends(self, able: Mapping[str, list[ProviderState]]) -> bool:
        """Return whether what serves one part decides what can serve another."""
        if self._contested or self.rules.apart:
            return True
        return not all(
            any(
                able[label] and all(not one.isdisjoint(state.traits) for state in able[label])
                for label in self.rules.covering
            )
            for one in self._request.covering
        )

    def _choices(self, able: Mapping[str, list[ProviderState]]) -> dict[str, tuple[Choice, ...]]:
        return {
            label: tuple(
                Choice(
                    state.uuid,
                    tuple(self._uses(state, part)),
                    frozenset() if part.group else self._traits_of(state),
                )
                for state in able[label]
                if _servers(state, part)
            )
            for label, part in self._parts.items()
        }

    def _uses(self, state: ProviderState, part: RequestPart) -> Iterator[Use]:
        """Return the uses of a provider by a part.

        They are one of the servers that it has room for, and amounts of the classes that another
        part takes too.
        """
        key = state.uuid, _label(part)
        self.amounts[key] = _servers(state, part)
        yield Use(key)
        for name, amount in part.resources:
            if name in self._contested:
                inventory, key = state.inventories[name], (state.uuid, f'class {name}')
                self.amounts[key] = max(0, state.free(name))
                yield Use(key, amount, inventory.max_unit)

    def _traits_of(self, state: ProviderState) -> frozenset[int]:
        return frozenset(
            number
            for number, alternatives in enumerate(self._request.covering)
            if not alternatives.isdisjoint(state.traits)
        )


def _label(part: RequestPart) -> str:
    """Return the class of a part of the common group; the classes and the suffix of a group."""
    names = '+'.join(name for name, _ in part.resources)
    return f'{names} (group {part.group})' if part.group else names


def _servers(state: ProviderState, part: RequestPart) -> int:
    """Of how many servers a provider can serve a part."""
    return min((slots(state, name, amount) for name, amount in part.resources), default=0)
