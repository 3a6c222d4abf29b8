# SPDX-License-Identifier: Apache-2.0
"""The largest number of servers that fit if the parts of a server compete for inventory.

For a part that all sites have by themselves that is a sum, for one from pools a flow. Where several
run short together, or depend on each other within one server, it is a search, by OR-tools' CP-SAT.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.basis import errors
from placementclient.optimize import cpsat

#: How long to search, in the solver's deterministic unit (about a second).
EFFORT = 60.0

#: The UUID of a sharing provider or the number of one of the site's own; and the class.
Stock = tuple[int | str, str]
#: The inventories that one choice uses, with the amounts.
Choice = tuple[tuple[Stock, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A tree with the sharing providers that serve it; one site stands for all equal trees.

    ``local`` and ``pools`` have one entry for each part of the request.

    :param local: the number of servers of which the tree itself serves each part
    :param pools: the sharing providers that can serve each part, and serve others too
    :param choices: if the parts of a server depend on each other: sets of choices (amounts of
        inventories); a server takes one of each set
    :param amounts: the amounts of the tree's inventories that choices use
    :param is_complete: whether the site has inventory for every part
    """

    local: tuple[int, ...]
    pools: tuple[frozenset[str], ...]
    is_complete: bool
    choices: tuple[tuple[Choice, ...], ...] = ()
    amounts: tuple[tuple[Stock, int], ...] = ()

    @property
    def is_alone(self) -> bool:
        """True if no sharing provider serves the tree."""
        return not any(self.pools)


def compute_most_servers(sites: Iterable[tuple[Site, int]], pools: Mapping[Stock, int]) -> int:
    """Return the most servers that fit on all sites together.

    :param sites: sites with choices, each with a limit for its servers
    :param pools: the free amounts of sharing providers, by their UUID and class
    :raises errors.PlacementError: if OR-tools is not installed, or has no answer in time
    """
    model = cpsat.load_cp_model(
        'What is asked for is shared or grouped, and runs short together, which'
    ).CpModel()
    counts, shared = [], dict[Stock, list[Any]]()
    for site, limit in sites:
        count, local = model.new_int_var(0, limit, ''), dict[Stock, list[Any]]()
        counts.append(count)
        amounts = dict(site.amounts)
        for choices in site.choices:
            numbers = [model.new_int_var(0, limit, '') for _ in choices]
            model.add(sum(numbers) == count)
            for choice, number in zip(choices, numbers, strict=True):
                for stock, amount in choice:
                    taken = local if stock in amounts else shared
                    taken.setdefault(stock, []).append(amount * number)
        for stock, terms in local.items():
            model.add(sum(terms) <= amounts[stock])
    for stock, terms in shared.items():
        model.add(sum(terms) <= pools[stock])
    model.maximize(sum(counts))
    solved = cpsat.solve(model, EFFORT)
    if solved.status != 'OPTIMAL':
        raise errors.PlacementError(
            'How many fit was not found out in time: ask for fewer trees, or for one class'
        )
    return int(solved.solver.objective_value + 0.5)
