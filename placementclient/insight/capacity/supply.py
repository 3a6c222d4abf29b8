"""The sites for servers of a shape, and the sources of each part there."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from placementclient.client import errors
from placementclient.insight.capacity.search import Choice, Choices, Rules, Stock, Use
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider, granting, slots
from placementclient.placing.requests import RequestPart, parsed
from placementclient.placing.shapes import has_each, serving
from placementclient.placing.topology import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site for servers: a tree, and the sharing providers that serve it; alike ones are one.

    All that is said of each part is in the order of :attr:`Supply.labels`.

    :param local: of how many servers the tree serves each part itself
    :param pools: the sharing providers that can serve each part, and serve others too
    :param is_complete: whether there is inventory for every part
    :param choices: what each part can come from, where that depends on the other parts
    :param amounts: how much there is of what choices use of the tree
    """

    local: tuple[int, ...]
    pools: tuple[frozenset[str], ...]
    is_complete: bool
    choices: Choices = ()
    amounts: tuple[tuple[Stock, int], ...] = ()

    @property
    def is_alone(self) -> bool:
        """Return whether the site shares no source with another site."""
        return not any(self.pools)


class Supply:
    """All sites for servers of one shape, with their inventory.

    :param trees: the UUIDs of the roots of the trees to look at; ``None``: all
    """

    def __init__(
        self, topology: Topology, request: CandidateRequest, trees: Collection[str] | None = None
    ) -> None:
        self._topology, self._request = topology, parsed(request)
        #: The parts that take something.
        self._parts = [part for part in self._request.parts if part.resources]
        self.labels = list(map(_label, self._parts))
        classes = Counter(name for part in self._parts for name, _ in part.resources)
        #: The classes that several parts of one server ask for.
        self._contested = {name for name, parts in classes.items() if parts > 1}
        groups = [number for number, part in enumerate(self._parts) if part.group]
        is_isolated = self._request.apart and len(groups) > 1
        self._common = [number for number, part in enumerate(self._parts) if not part.group]
        self.rules = Rules()
        # In subtrees, all parts of a server are one choice.
        if not self._request.subtrees:
            apart = frozenset(groups if is_isolated else ())
            self.rules = Rules(apart, tuple(self._common), len(self._request.covering))
        #: How much there is of each pool, and of how many servers it serves a part, by its label.
        self.stock: dict[Stock, int] = {}
        self._distinct: dict[object, Site] = {}
        sites = list(self._sites(topology.trees if trees is None else trees))
        #: The names of the trees that have inventory for every part, each with its site.
        self.complete = [pair for pair in sites if pair[1].is_complete]
        #: The sites of these trees; where there is none, of those with inventory for some part.
        self.sites = [site for _, site in self.complete or sites]

    def _sites(self, roots: Iterable[str]) -> Iterator[tuple[str, Site]]:
        topology, trees = self._topology, self._request.trees
        by_kind: dict[object, Site | None] = {}
        for root in roots:
            kind = topology.kind(root, trees)
            if kind not in by_kind:
                by_kind[kind] = self._site(root)
            if (site := by_kind[kind]) is not None:
                yield topology.trees[root][0].name, site

    def _site(self, root_uuid: str) -> Site | None:
        states = self._topology.serving(root_uuid)
        bins = self._topology.host(root_uuid, self._request.trees)
        suitable = serving(
            self._request, bins, lambda number, name, _: name in states[number].inventories
        )
        if suitable is None:
            return None
        pairs = zip(self._request.parts, suitable, strict=True)
        able = [places for part, places in pairs if part.resources]
        common = {number for part in self._common for number in able[part]}
        traits = frozenset[str]().union(*(bins[number].traits for number in common))
        if not has_each(traits, self._request.covering):
            return None
        # Others draw on what a tree shares, so that it is a pool for the tree too.
        local, amounts = [], dict[Stock, int]()
        for label, part, places in zip(self.labels, self._parts, able, strict=True):
            counts = {number: _servers(states[number], part) for number in places}
            local.append(sum(n for number, n in counts.items() if bins[number].pool is None))
            amounts |= {(bins[n].pool or n, label): count for n, count in counts.items()}
        choices: Choices = ()
        if self._request.subtrees:
            choices = (tuple(self._options(states, bins, suitable, amounts)),)
        elif self._depends(bins, able):
            choices = tuple(self._choices(states, bins, able, amounts))
        used = {use.stock for part in choices for choice in part for use in choice.uses}
        self.stock |= {key: amount for key, amount in amounts.items() if isinstance(key[0], str)}
        content = (
            tuple(local),
            tuple(frozenset(bins[n].pool or '' for n in places) - {''} for places in able),
            all(able),
            choices,
            tuple((key, n) for key, n in amounts.items() if key in used - self.stock.keys()),
        )
        return self._distinct.setdefault(content, Site(*content))

    def _options(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        suitable: Sequence[Sequence[int]],
        amounts: dict[Stock, int],
    ) -> Iterator[Choice]:
        """Return a choice for each set of amounts that a whole server may take."""
        search = PartSearch(self._request, bins, suitable, granting(states))
        seen = set()
        for _ in search.places():
            taken = sorted((place, name, n) for (place, name), n in search.taken.items() if n)
            uses = tuple(Use((bins[at].pool or at, f'class {name}'), n) for at, name, n in taken)
            if uses not in seen:
                seen.add(uses)
                for (stock, _, _), (place, name, _) in zip(uses, taken, strict=True):
                    amounts[stock] = max(0, states[place].free(name))
                yield Choice(f'way {len(seen)}', uses)
        if search.left < 0:
            raise errors.PlacementError(
                'There are too many ways to serve groups in one subtree: ask for fewer groups'
            )

    def _depends(self, bins: Sequence[HostProvider], able: Sequence[Sequence[int]]) -> bool:
        """Return whether what serves one part decides what can serve another."""
        if self._contested or self.rules.apart:
            return True
        return not all(
            any(
                able[part] and all(not names.isdisjoint(bins[n].traits) for n in able[part])
                for part in self.rules.covering
            )
            for names in self._request.covering
        )

    def _choices(
        self,
        states: Sequence[ProviderState],
        bins: Sequence[HostProvider],
        able: Sequence[Sequence[int]],
        amounts: dict[Stock, int],
    ) -> Iterator[tuple[Choice, ...]]:
        """Return the choices of each part.

        They use one of the servers that a provider has room for, and amounts of the classes that
        another part takes too.
        """
        covering = self._request.covering
        for label, part, places in zip(self.labels, self._parts, able, strict=True):
            choices = []
            for number in places:
                source, state = bins[number].pool or number, states[number]
                if not amounts[source, label]:
                    continue
                uses = [Use((source, label))]
                for name, amount in part.resources:
                    if name in self._contested:
                        stock = source, f'class {name}'
                        amounts[stock] = max(0, state.free(name))
                        uses.append(Use(stock, amount, state.inventories[name].max_unit))
                traits = {n for n, names in enumerate(covering) if names & state.traits}
                choices.append(Choice(source, tuple(uses), frozenset(() if part.group else traits)))
            yield tuple(choices)


def _label(part: RequestPart) -> str:
    """Return the class of a part of the common group; the classes and the suffix of a group."""
    names = '+'.join(name for name, _ in part.resources)
    return f'{names} (group {part.group})' if part.group else names


def _servers(state: ProviderState, part: RequestPart) -> int:
    """Return of how many servers a provider can serve a part."""
    return min(slots(state, name, amount) for name, amount in part.resources)
