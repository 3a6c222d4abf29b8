"""The sites of servers of a shape, and the sources of each part there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Rules, Use
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider, is_sharing, slots
from placementclient.placing.requests import Request, RequestPart, parsed
from placementclient.placing.shapes import admits, admits_root
from placementclient.placing.topology import Topology

#: Stands for a class, or a part, where all of them have to be in one place.
TOGETHER = '(together)'


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
        roots = topology.trees if trees is None else trees
        sites = list(self._sites(roots))
        complete = [site for site in sites if self.is_complete(site)]
        #: The sites that have inventory for every part; where there is none, those with some.
        self.sites = complete or sites

    def _rules(self) -> Rules:
        if self._request.subtrees:
            # All parts of a server are one choice.
            return Rules()
        groups = [label for label, part in self._parts.items() if part.group]
        is_isolated = self._request.is_isolated and len(groups) > 1
        covering = tuple(label for label, part in self._parts.items() if not part.group)
        apart = frozenset(groups if is_isolated else ())
        return Rules(apart, covering, len(self._request.covering))

    def is_complete(self, site: Site) -> bool:
        return len(site.offers) == len(self.labels)

    def _sites(self, roots: Iterable[str]) -> Iterator[Site]:
        # Which tree it is matters to these alone.
        is_local = bool(self._request.trees)
        kinds = self._topology.kinds
        by_kind: dict[object, Site | None] = {}
        for root in roots:
            kind = root if is_local else kinds[root]
            if kind in by_kind:
                site = by_kind[kind]
                if site is not None:
                    name = self._topology.trees[root][0].name
                    site = Site(name, site.own, site.pools, site.offers, site.choices)
            else:
                site = self._site(root)
                if site is None or not site.choices:
                    by_kind[kind] = site
            if site is not None:
                yield site

    def _site(self, root_uuid: str) -> Site | None:
        states = [*self._topology.trees[root_uuid], *self._topology.reached(root_uuid)]
        bins = self._topology.host(root_uuid, self._request.trees)
        if self._request.is_unserved or not admits_root(bins[0], self._request):
            return None
        suitable = [
            [
                number
                for number, state in enumerate(states)
                if all(name in state.inventories for name, _ in part.resources)
                and admits(bins[number], part, bins[0])
            ]
            for part in self._request.parts
        ]
        serving = {
            _label(part): [states[number] for number in numbers]
            for part, numbers in zip(self._request.parts, suitable, strict=True)
            if part.resources
        }
        if self._lacks_traits(serving):
            return None
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        pools = {
            label: [state for state in serving[label] if is_sharing(state)] for label in self.labels
        }
        local: dict[str, int] = {}
        for label, part in self._parts.items():
            counts = {state.uuid: _servers(state, part) for state in serving[label]}
            shared = {state.uuid for state in pools[label]}
            self.stock[label] |= {uuid: counts[uuid] for uuid in shared}
            local[label] = sum(n for uuid, n in counts.items() if uuid not in shared)
        if self._request.subtrees:
            choices = {TOGETHER: tuple(self._options(states, bins, suitable))}
        else:
            choices = self._choices(serving) if self._depends(serving) else {}
        return Site(
            states[0].name,
            local,
            {label: frozenset(state.uuid for state in able) for label, able in pools.items()},
            frozenset(label for label, able in serving.items() if able),
            choices,
        )

    def _options(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        suitable: Sequence[Sequence[int]],
    ) -> Iterator[Choice]:
        """Return a choice for each set of amounts that a whole server may take."""
        search = _SiteSearch(self._request, bins, suitable, states)
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

    def _lacks_traits(self, serving: Mapping[str, list[ProviderState]]) -> bool:
        """Return True if no provider that serves the common group has one of its traits."""
        common = [label for label, part in self._parts.items() if not part.group]
        everybody = [state for label in common for state in serving[label]]
        return any(
            all(alternatives.isdisjoint(state.traits) for state in everybody)
            for alternatives in self._request.covering
        )

    def _depends(self, serving: Mapping[str, list[ProviderState]]) -> bool:
        """Return whether what serves one part decides what can serve another."""
        if self._contested or self.rules.apart:
            return True
        return not all(
            any(
                serving[label] and all(not one.isdisjoint(s.traits) for s in serving[label])
                for label in self.rules.covering
            )
            for one in self._request.covering
        )

    def _choices(self, serving: Mapping[str, list[ProviderState]]) -> dict[str, tuple[Choice, ...]]:
        choices = {}
        for label, part in self._parts.items():
            choices[label] = tuple(
                Choice(
                    state.uuid,
                    tuple(self._uses(state, part)),
                    frozenset() if part.group else self._traits_of(state),
                )
                for state in serving[label]
                if _servers(state, part)
            )
        return choices

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


class _SiteSearch(PartSearch):
    """Looks for the ways to serve one server at a site."""

    def __init__(
        self,
        request: Request,
        bins: Sequence[HostProvider],
        suitable: Sequence[Sequence[int]],
        states: Sequence[ProviderState],
    ) -> None:
        super().__init__(request, bins, suitable)
        self._states = states

    def _grants(self, place: int, name: str, amount: int) -> bool:
        return slots(self._states[place], name, amount) > 0


def _label(part: RequestPart) -> str:
    """Return the class of a part of the common group; the classes and the suffix of a group."""
    names = '+'.join(name for name, _ in part.resources)
    return f'{names} (group {part.group})' if part.group else names


def _servers(state: ProviderState, part: RequestPart) -> int:
    """Of how many servers a provider can serve a part."""
    return min((slots(state, name, amount) for name, amount in part.resources), default=0)
