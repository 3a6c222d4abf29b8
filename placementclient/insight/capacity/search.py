"""The largest number of servers that fit if the parts of a server compete for inventory.

For a part that all sites have by themselves that is a sum, for one from pools a flow. Where several
run short together, or depend on each other within one server, it is a search, by OR-tools' CP-SAT.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from placementclient.client import errors
from placementclient.optimize import cpsat

#: How long to search, in the solver's deterministic unit (about a second).
EFFORT = 60.0
#: Each combination of choices that has the traits is a variable at each site.
MOST_WAYS = 100_000


class Use(NamedTuple):
    """The amount of something that a choice uses.

    :param stock: what of
    :param most: how much of it one server may take in all of its parts; ``None``: as much as is
    """

    stock: tuple[str, str]
    amount: int = 1
    most: int | None = None


class Choice(NamedTuple):
    """A source for one part of a server.

    :param provider: its UUID, or whatever stands for several that are alike
    :param traits: which of the traits that the parts must have between them, by number
    """

    provider: str
    uses: tuple[Use, ...]
    traits: frozenset[int] = frozenset()


#: The sources of each part of the servers at one site, by the label of the part.
Choices = Mapping[str, Sequence[Choice]]


class Rules(NamedTuple):
    """The conditions between the parts of a server.

    :param apart: the labels of parts that come from different providers
    :param covering: the labels of those that have the traits between them
    :param traits: how many traits
    """

    apart: frozenset[str] = frozenset()
    covering: tuple[str, ...] = ()
    traits: int = 0


def most(
    sites: Sequence[tuple[int, Choices]], stock: Mapping[tuple[str, str], int], rules: Rules
) -> int:
    """Return how many servers fit on all sites together.

    :param sites: the most servers that can be at each, and their choices
    :param stock: the amounts that the choices take from
    :raises errors.PlacementError: if OR-tools is not installed, or has no answer in time
    """
    model = cpsat.load(
        'What is asked for is shared or grouped, and runs short together, which'
    ).CpModel()
    counts, taken = [], dict[tuple[str, str], list[Any]]()
    for limit, choices in sites:
        site = _SiteVariables(model, limit, choices, rules)
        counts.append(site.count)
        for key, terms in site.taken.items():
            taken.setdefault(key, []).extend(terms)
    for key, terms in taken.items():
        model.add(sum(terms) <= stock[key])
    model.maximize(sum(counts))
    solved = cpsat.solve(model, EFFORT)
    if solved.status != 'OPTIMAL':
        raise errors.PlacementError(
            'How many fit was not found out in time: ask for fewer trees, or for one class'
        )
    return int(solved.solver.objective_value + 0.5)


class _SiteVariables:
    """The servers at one site, as variables of a model: how many come from which choice."""

    def __init__(self, model: Any, limit: int, choices: Choices, rules: Rules) -> None:
        self._model, self._limit = model, limit
        self.count = self._variable()
        self._shares = {
            label: [(choice, self._variable()) for choice in of_part]
            for label, of_part in choices.items()
        }
        for shares in self._shares.values():
            model.add(sum(share for _, share in shares) == self.count)
        self.taken = self._take()
        self._keep_apart(rules.apart)
        self._cover(rules)

    def _variable(self) -> Any:
        return self._model.new_int_var(0, self._limit, '')

    def _take(self) -> dict[tuple[str, str], list[Any]]:
        taken: dict[tuple[str, str], list[Any]] = {}
        bounded: dict[tuple[tuple[str, str], int], list[tuple[int, Any]]] = {}
        for choice, share in self._all(self._shares):
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

    def _keep_apart(self, labels: frozenset[str]) -> None:
        by_provider: dict[str, list[Any]] = {}
        for choice, share in self._all(labels):
            by_provider.setdefault(choice.provider, []).append(share)
        for shares in by_provider.values():
            # As many matchings as the largest degree cover a bipartite graph (König 1916): each is
            # a server.
            self._model.add(sum(shares) <= self.count)

    def _cover(self, rules: Rules) -> None:
        labels = [label for label in rules.covering if label in self._shares]
        sorts = [{choice.traits for choice, _ in self._shares[label]} for label in labels]
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
        for place, label in enumerate(labels):
            for traits in sorts[place]:
                shares = [share for choice, share in self._shares[label] if choice.traits == traits]
                having = [number for ways, number in servers if ways[place] == traits]
                self._model.add(sum(shares) == sum(having))

    def _all(self, labels: Iterable[str]) -> Iterable[tuple[Choice, Any]]:
        return (pair for label in labels if label in self._shares for pair in self._shares[label])
