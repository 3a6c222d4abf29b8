# SPDX-License-Identifier: Apache-2.0
"""A request for candidates in parts; one provider serves each part.

The providers of the common group have its required traits between them; each class of it may come
from another one. A group with a suffix comes from one provider.
"""

from collections.abc import Iterable
from typing import NamedTuple

from placementclient.model.consumers import Resources, sum_resources
from placementclient.model.requests import CandidateRequest, Filter

_NONE: frozenset[str] = frozenset()
#: A sharing provider and a class.
Pool = tuple[str, str]
#: Conditions that nothing meets.
NOWHERE = (_NONE,)


class RequestPart(NamedTuple):
    """The resources and conditions of a request that one provider has to meet.

    :param required: of each set of traits the provider has one
    :param member_of: of each set of aggregates the provider is in one
    :param group: the suffix of its group; empty for the common group
    :param in_tree: the UUID of any provider of its tree; ``None``: any tree
    """

    resources: tuple[tuple[str, int], ...]
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = _NONE
    member_of: tuple[frozenset[str], ...] = ()
    forbidden_member_of: frozenset[str] = _NONE
    group: str = ''
    in_tree: str | None = None


class Request(NamedTuple):
    """The request of servers of one kind to a host. Equal requests can share results.

    :param parts: each has the resources that one provider has to serve; the other fields refer to
        a part by its index
    :param covering: the required traits of the common group: of each set, one of the providers that
        serve the group has one
    :param apart: the parts that must not share a provider (``group_policy=isolate``)
    :param subtrees: sets of parts (``same_subtree``): one of their providers is above the others
    :param ancestors: traits and parts: a provider with all of the traits, which is not
        the root, is above those of the parts
    :param shared: the present allocations of a server on sharing providers
    :param limits: the names of server groups that allow a host only so many of their servers
    :param is_lax: only the amounts count, which may be divided between the providers of a host
    """

    parts: tuple[RequestPart, ...]
    covering: tuple[frozenset[str], ...] = ()
    apart: frozenset[int] = frozenset()
    subtrees: tuple[frozenset[int], ...] = ()
    ancestors: tuple[tuple[frozenset[str], frozenset[int]], ...] = ()
    root_required: tuple[frozenset[str], ...] = ()
    root_forbidden: frozenset[str] = _NONE
    root_member_of: tuple[frozenset[str], ...] = ()
    shared: tuple[tuple[Pool, int], ...] = ()
    limits: tuple[str, ...] = ()
    is_lax: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """The sum of the amounts of all parts, by class."""
        return sum_resources(dict(part.resources) for part in self.parts)

    @property
    def trees(self) -> frozenset[str]:
        """The UUIDs of the trees to which the request limits its parts; empty: it names no tree."""
        return frozenset(part.in_tree for part in self.parts if part.in_tree)

    @property
    def named_conditions(self) -> frozenset[str]:
        """The traits and aggregates that the request names."""
        conditions = [
            *self.covering,
            *(traits for traits, _ in self.ancestors),
            *self.root_required,
            self.root_forbidden,
            *self.root_member_of,
        ]
        for part in self.parts:
            conditions += [
                *part.required,
                part.forbidden,
                *part.member_of,
                part.forbidden_member_of,
            ]
        return _NONE.union(*conditions)

    def find_excluded_parts(self, number: int) -> frozenset[int]:
        """Return the numbers of the parts that must not share the provider of a part."""
        return self.apart if number in self.apart else frozenset()


def parse_request(request: CandidateRequest) -> Request:
    """Return the parts of a request for candidates."""
    common = request.common._replace(required=())
    parts = (
        *(make_part({name: amount}, common) for name, amount in common.resources.items()),
        *(make_part(group.resources, group, suffix) for suffix, group in request.groups.items()),
    )
    numbers = {part.group: number for number, part in enumerate(parts)}
    # For a group that only forbids, the service looks for no provider.
    is_served = all(part.resources or part.required or part.member_of for part in parts)
    isolated = request.groups if request.group_policy == 'isolate' else ()
    return Request(
        parts,
        covering=split_alternatives(request.common.required),
        apart=frozenset(numbers[suffix] for suffix in isolated),
        subtrees=tuple(
            frozenset(numbers[suffix] for suffix in suffixes) for suffixes in request.same_subtree
        ),
        root_required=split_alternatives(request.root_required) + (() if is_served else NOWHERE),
        root_forbidden=frozenset(request.root_forbidden),
    )


def make_part(resources: Resources, conditions: Filter, group: str = '') -> RequestPart:
    """Return the part of a request for some resources, with the conditions of their group.

    Without resources, the service ignores the condition ``in_tree``.
    """
    return RequestPart(
        tuple(sorted(resources.items())),
        split_alternatives(conditions.required),
        frozenset(conditions.forbidden),
        split_alternatives(conditions.member_of),
        frozenset(name for names in conditions.forbidden_member_of for name in names.split(',')),
        group,
        conditions.in_tree if resources else None,
    )


def split_alternatives(names: Iterable[str]) -> tuple[frozenset[str], ...]:
    """Return the set of names in each text, where names have commas between them."""
    return tuple(frozenset(text.split(',')) for text in names)
