"""The largest number of servers that fit if the parts of a server compete for inventory.

For a part that all sites have by themselves that is a sum, for one from pools a flow. Where several
run short together, or depend on each other within one server, it is a search, by OR-tools' CP-SAT.
"""

import math
from collections.abc import Iterable, Mapping
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

    :param provider: the provider, or whatever stands for several that are alike
    :param traits: which of the traits that the parts must have between them, by number
    """

    provider: int | str
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


class ShapeDemand(NamedTuple):
    """The servers at one site.

    :param most: at most so many
    :param amounts: what the site has of its own of what the choices use
    """

    most: int
    choices: Choices
    amounts: Mapping[Stock, int]


def most(demands: Iterable[ShapeDemand], pools: Mapping[Stock, int], rules: Rules) -> int:
    """Return how many servers fit on all sites together.

    :param pools: what there is that several sites use
    :raises errors.PlacementError: if OR-tools is not installed, or has no answer in time
    """
    model = cpsat.load(
        'What is asked for is shared or grouped, and runs short together, which'
    ).CpModel()
    counts, taken = [], dict[Stock, list[Any]]()
    for demand in demands:
        site = _SiteVariables(model, demand, rules)
        counts.append(site.count)
        for stock, terms in site.taken.items():
            if stock in demand.amounts:
                model.add(sum(terms) <= demand.amounts[stock])
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

    def __init__(self, model: Any, demand: ShapeDemand, rules: Rules) -> None:
        self._model, self._limit = model, demand.most
        self.count = self._variable()
        self._shares = [
            [(choice, self._variable()) for choice in choices] for choices in demand.choices
        ]
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
            by_provider.setdefault(choice.provider, []).append(share)
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
