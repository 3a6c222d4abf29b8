# SPDX-License-Identifier: Apache-2.0
"""A request for candidates as single requirements, and requests for some of them."""

import enum
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from placementclient.model.requests import CandidateRequest, Filter


class RequirementKind(enum.Enum):
    """The subject of a requirement: an amount, a trait, an aggregate, the tree, or its groups."""

    RESOURCE = 'resource'
    TRAIT = 'trait'
    NOT_TRAIT = 'forbidden trait'
    AGGREGATE = 'aggregate'
    NOT_AGGREGATE = 'forbidden aggregate'
    IN_TREE = 'in tree'
    ROOT_TRAIT = 'trait of the root'
    NOT_ROOT_TRAIT = 'forbidden trait of the root'
    ISOLATE = 'isolate'
    SAME_SUBTREE = 'same subtree'


_WORDS = {
    RequirementKind.TRAIT: 'trait {}',
    RequirementKind.NOT_TRAIT: 'no trait {}',
    RequirementKind.AGGREGATE: 'member of {}',
    RequirementKind.NOT_AGGREGATE: 'not member of {}',
    RequirementKind.IN_TREE: 'in the tree of {}',
    RequirementKind.ROOT_TRAIT: 'trait {} on the root',
    RequirementKind.NOT_ROOT_TRAIT: 'no trait {} on the root',
    RequirementKind.ISOLATE: 'each group on a provider of its own',
    RequirementKind.SAME_SUBTREE: 'groups {} in one subtree',
}
#: The kinds of requirements that no group has, only the request as a whole.
_OF_THE_WHOLE = (
    RequirementKind.ROOT_TRAIT,
    RequirementKind.NOT_ROOT_TRAIT,
    RequirementKind.ISOLATE,
    RequirementKind.SAME_SUBTREE,
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A single requirement of a request.

    :param value: a resource class, a trait, an aggregate, a provider or suffixes; alternatives are
        joined by commas
    :param group: the suffix of its group; empty for the request as a whole
    """

    kind: RequirementKind
    value: str = ''
    group: str = ''
    amount: int = 0

    @property
    def is_resource(self) -> bool:
        """True if the requirement is an amount of a resource class."""
        return self.kind is RequirementKind.RESOURCE

    def __str__(self) -> str:
        if self.is_resource:
            text = f'{self.value}={self.amount}'
        else:
            is_joint = self.kind is RequirementKind.SAME_SUBTREE
            value = self.value if is_joint else self.value.replace(',', ' or ')
            text = _WORDS[self.kind].format(value)
        return f'{text} (group {self.group})' if self.group else text


def list_requirements(request: CandidateRequest) -> tuple[Requirement, ...]:
    """Return all requirements of a request, one by one."""
    parts = list(_list_group_requirements('', request.common))
    for suffix, group in request.groups.items():
        parts += _list_group_requirements(suffix, group)
    parts += [Requirement(RequirementKind.ROOT_TRAIT, trait) for trait in request.root_required]
    parts += [Requirement(RequirementKind.NOT_ROOT_TRAIT, name) for name in request.root_forbidden]
    if request.group_policy == 'isolate' and len(request.groups) > 1:
        parts.append(Requirement(RequirementKind.ISOLATE))
    parts += [
        Requirement(RequirementKind.SAME_SUBTREE, ','.join(suffixes))
        for suffixes in request.same_subtree
    ]
    return tuple(parts)


def _list_group_requirements(suffix: str, group: Filter) -> Iterator[Requirement]:
    for name, amount in group.resources.items():
        yield Requirement(RequirementKind.RESOURCE, name, suffix, amount)
    for kind, values in (
        (RequirementKind.TRAIT, group.required),
        (RequirementKind.NOT_TRAIT, group.forbidden),
        (RequirementKind.AGGREGATE, group.member_of),
        (RequirementKind.NOT_AGGREGATE, group.forbidden_member_of),
    ):
        for value in values:
            yield Requirement(kind, value, suffix)
    if group.in_tree:
        yield Requirement(RequirementKind.IN_TREE, group.in_tree, suffix)


def restrict_request(
    request: CandidateRequest, retained: Collection[Requirement]
) -> CandidateRequest | None:
    """Return a request with some of its requirements only, perhaps with changed amounts.

    :return: None where the service cannot be asked that: every group needs a resource
    """
    relaxed = assemble_request(request, request.groups, retained)
    groups, common = relaxed.groups, relaxed.common
    together = {suffix for suffixes in relaxed.same_subtree for suffix in suffixes}
    empty = {suffix for suffix, group in groups.items() if not group.resources}
    if empty - together or any(group == Filter() for group in groups.values()):
        return None
    if not common.resources and (common != Filter() or empty >= groups.keys()):
        return None
    return relaxed


def assemble_request(
    request: CandidateRequest, suffixes: Iterable[str], retained: Collection[Requirement]
) -> CandidateRequest:
    """Return a request with exactly the retained requirements, otherwise as ``request``.

    :param suffixes: those of the groups; a group without requirements is left out
    """
    by_group: dict[str, list[Requirement]] = {}
    for requirement in retained:
        by_group.setdefault(requirement.group, []).append(requirement)
    wide = by_group.get('', [])
    subtrees = [
        tuple(names.split(','))
        for names in _select_values_of_kind(wide, RequirementKind.SAME_SUBTREE)
    ]
    joint = set().union(*subtrees)
    groups = {
        suffix: _build_group_filter(by_group.get(suffix, ()))
        for suffix in suffixes
        if suffix in by_group or suffix in joint
    }
    isolated = any(requirement.kind is RequirementKind.ISOLATE for requirement in wide)
    policy = ('isolate' if isolated else 'none') if groups else None
    return request._replace(
        common=_build_group_filter(wide),
        groups=groups,
        group_policy=policy,
        same_subtree=tuple(subtrees),
        root_required=_select_values_of_kind(wide, RequirementKind.ROOT_TRAIT),
        root_forbidden=_select_values_of_kind(wide, RequirementKind.NOT_ROOT_TRAIT),
    )


def select_askable_requirements(retained: Collection[Requirement]) -> frozenset[Requirement]:
    """Return the requirements without those of groups that request no resource any more."""
    served = {need.group for need in retained if need.is_resource}
    askable = {need for need in retained if need.group in served or need.kind in _OF_THE_WHOLE}
    subtrees = {need for need in askable if need.kind is RequirementKind.SAME_SUBTREE}
    return frozenset(askable) - {
        need for need in subtrees if not served.issuperset(need.value.split(','))
    }


def _build_group_filter(group: Collection[Requirement]) -> Filter:
    return Filter(
        {need.value: need.amount for need in group if need.is_resource},
        required=_select_values_of_kind(group, RequirementKind.TRAIT),
        forbidden=_select_values_of_kind(group, RequirementKind.NOT_TRAIT),
        member_of=_select_values_of_kind(group, RequirementKind.AGGREGATE),
        forbidden_member_of=_select_values_of_kind(group, RequirementKind.NOT_AGGREGATE),
        in_tree=next(iter(_select_values_of_kind(group, RequirementKind.IN_TREE)), None),
    )


def _select_values_of_kind(
    group: Collection[Requirement], kind: RequirementKind
) -> tuple[str, ...]:
    return tuple(requirement.value for requirement in group if requirement.kind is kind)
