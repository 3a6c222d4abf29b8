"""The largest number of servers that fit if the parts of a server compete for inventory.

For a part that all sites have by themselves that is a sum, for one from pools a flow. Where several
run short together, or depend on each other within one server, it is a search, by OR-tools' CP-SAT.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from placementclient.client import errors
from placementclient.optimize import cpsat

#: How long to search, in the solver's deterministic unit (about a second).
EFFORT = 60.0
#: Each combination of choices that has the traits is a variable at each site.
MOST_WAYS = 100_000

#: The UUID of a sharing provider or the number of one of the site's own, and what of it.
Stock = tuple[int | str, str]


class Use(NamedTuple):
    """The amount of something that a choice uses.

    :param most: how much of it one server may take in all of its parts; ``None``: as much as is
    """

    stock: Stock
    amount: int = 1
    most: int | None = None


class Choice(NamedTuple):
    """A source for one part of a server.

    :param uses: first of the provider itself
    :param traits: which of the traits that the parts must have between them, by number
    """

    uses: tuple[Use, ...]
    traits: frozenset[int] = frozenset()


#: The sources of each part of the servers at one site.
Choices = tuple[tuple[Choice, ...], ...]


class Rules(NamedTuple):
    """The conditions between the parts of a server.

    :param apart: parts, by number, that come from different providers
    :param covering: those that have the traits between them
    :param traits: how many traits
    """

    apart: frozenset[int] = frozenset()
    covering: tuple[int, ...] = ()
    traits: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site for servers: a tree, and the sharing providers that serve it; alike ones are one.

    All that is said of each part is in the order of the labels of the supply.

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


def most(demands: Iterable[tuple[Site, int]], pools: Mapping[Stock, int], rules: Rules) -> int:
    """Return how many servers fit on all sites together.

    :param demands: the sites with choices, and the most servers of each
    :param pools: what there is that several sites use
    :raises errors.PlacementError: if OR-tools is not installed, or has no answer in time
    """
    model = cpsat.load(
        'What is asked for is shared or grouped, and runs short together, which'
    ).CpModel()
    counts, taken = [], dict[Stock, list[Any]]()
    for site, limit in demands:
        # With one choice for all parts, the conditions between them hold already.
        is_whole = len(site.choices) < len(site.local)
        servers = _SiteVariables(model, site.choices, limit, Rules() if is_whole else rules)
        amounts = dict(site.amounts)
        counts.append(servers.count)
        for stock, terms in servers.taken.items():
            if stock in amounts:
                model.add(sum(terms) <= amounts[stock])
            else:
                taken.setdefault(stock, []).extend(terms)
    for stock, terms in taken.items():
        model.add(sum(terms) <= pools[stock])
    model.maximize(sum(counts))
    solved = cpsat.solve(model, EFFORT)
    if solved.status != 'OPTIMAL':
        raise errors.PlacementError(
            'How many fit was not found out in time: ask for fewer trees, or for one class'
        )
    return int(solved.solver.objective_value + 0.5)


class _SiteVariables:
    """The servers at one site, as variables of a model: how many come from which choice."""

    def __init__(self, model: Any, parts: Choices, limit: int, rules: Rules) -> None:
        self._model, self._limit = model, limit
        self.count = self._variable()
        self._shares = [[(choice, self._variable()) for choice in choices] for choices in parts]
        for shares in self._shares:
            model.add(sum(share for _, share in shares) == self.count)
        self.taken = self._take()
        self._keep_apart(rules.apart)
        self._cover(rules)

    def _variable(self) -> Any:
        return self._model.new_int_var(0, self._limit, '')

    def _take(self) -> dict[Stock, list[Any]]:
        taken: dict[Stock, list[Any]] = {}
        bounded: dict[tuple[Stock, int], list[tuple[int, Any]]] = {}
        for choice, share in self._all(range(len(self._shares))):
            for use in choice.uses:
                taken.setdefault(use.stock, []).append(use.amount * share)
                if use.most is not None:
                    bounded.setdefault((use.stock, use.most), []).append((use.amount, share))
        for (_, limit), terms in bounded.items():
            # Parts of equal amounts can be dealt out so that no server has more than this from one
            # provider whenever there is no more on average (balanced colourings of the edges of a
            # bipartite graph: de Werra 1971).
            limit -= limit % math.gcd(*(amount for amount, _ in terms))
            self._model.add(sum(amount * share for amount, share in terms) <= limit * self.count)
        return taken

    def _keep_apart(self, parts: Iterable[int]) -> None:
        by_provider: dict[int | str, list[Any]] = {}
        for choice, share in self._all(parts):
            by_provider.setdefault(choice.uses[0].stock[0], []).append(share)
        for shares in by_provider.values():
            # As many matchings as the largest degree cover a bipartite graph (König 1916): each is
            # a server.
            self._model.add(sum(shares) <= self.count)

    def _cover(self, rules: Rules) -> None:
        parts = [self._shares[part] for part in rules.covering]
        sorts = [{choice.traits for choice, _ in shares} for shares in parts]
        if math.prod(map(len, sorts)) > MOST_WAYS:
            raise errors.PlacementError(
                f'There are more than {MOST_WAYS:,} ways to have the traits: ask for fewer classes'
                ' or traits'
            )
        every = list(product(*sorts))
        right = [ways for ways in every if len(frozenset().union(*ways)) == rules.traits]
        if len(right) == len(every):
            return
        servers = [(ways, self._variable()) for ways in right]
        for place, of_part in enumerate(parts):
            for traits in sorts[place]:
                shares = [share for choice, share in of_part if choice.traits == traits]
                having = [number for ways, number in servers if ways[place] == traits]
                self._model.add(sum(shares) == sum(having))

    def _all(self, parts: Iterable[int]) -> Iterable[tuple[Choice, Any]]:
        return (pair for part in parts for pair in self._shares[part])
