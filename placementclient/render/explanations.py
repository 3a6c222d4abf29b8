# SPDX-License-Identifier: Apache-2.0
"""The reasons for missing candidates, as text and as data."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.candidates.explanation import Explanation
from placementclient.insight.candidates.group_hosts import GroupRestriction
from placementclient.insight.candidates.nearest import NearTree
from placementclient.insight.candidates.relaxations import Relaxation, TreeCount
from placementclient.insight.candidates.requirements import Requirement, RequirementKind
from placementclient.insight.candidates.shortages import Shortage, ShortageReason
from placementclient.nova.server_request import FALLBACK
from placementclient.placing.candidate_count import CandidateCount

#: More candidates of one tree make the service slow.
_MANY = 1000
_LIMITS = {
    ShortageReason.FREE: '{amount} free on {provider}',
    ShortageReason.MIN_UNIT: 'min_unit is {amount} on {provider}',
    ShortageReason.MAX_UNIT: 'max_unit is {amount} on {provider}',
    ShortageReason.STEP_SIZE: 'step_size is {amount} on {provider}',
    ShortageReason.INVENTORY: 'no inventory of it',
}
_MISSING = {
    RequirementKind.TRAIT: 'no provider has it',
    RequirementKind.NOT_TRAIT: 'every provider has it',
    RequirementKind.AGGREGATE: 'no provider is in it',
    RequirementKind.NOT_AGGREGATE: 'every provider is in it',
    RequirementKind.IN_TREE: 'another tree',
    RequirementKind.ROOT_TRAIT: 'the root does not have it',
    RequirementKind.NOT_ROOT_TRAIT: 'the root has it',
}


def format_explanation(
    explanation: Explanation,
    most_trees: int = 5,
    fallback: TreeCount | None = None,
    filters: Sequence[str] = (),
    group_hosts: GroupRestriction | None = None,
) -> Iterator[str]:
    """Yield the lines that explain whether Placement can meet a request, and why not.

    :param most_trees: how many trees have a line with the number of their candidates
    :param fallback: the number of hosts without PCPU that have candidates for the second request of
        Nova
    :param filters: the conditions that filters of Nova's scheduler decide afterwards
    :param group_hosts: the condition of the server group on the host
    """
    # A requirement names a tree by its UUID, as the request does.
    names = explanation.names.items()
    for line in _format_lines_with_uuids(explanation, most_trees, fallback, filters, group_hosts):
        for uuid, name in names:
            line = line.replace(f'in the tree of {uuid}', f'in the tree of {name}')
        yield line


def _format_lines_with_uuids(
    explanation: Explanation,
    most_trees: int,
    fallback: TreeCount | None,
    filters: Sequence[str],
    group_hosts: GroupRestriction | None,
) -> Iterator[str]:
    """Yield the lines of an explanation; trees may stand in these lines by UUID, not by name.

    :param most_trees: how many trees have a line with the number of their candidates
    :param filters: the conditions that filters of Nova's scheduler decide afterwards
    :param fallback: the number of hosts without PCPU that have candidates for the second request of
        Nova
    :param group_hosts: the condition of the server group on the host
    """
    if explanation.has_candidates:
        yield f'Placement can meet it: candidates on {_describe_tree_count(explanation.offer)}.'
    else:
        yield 'The request cannot be met.'
    if fallback is not None:
        yield _describe_vcpu_fallback(fallback)
    if filters:
        yield f'Placement does not decide, but a filter of the scheduler: {", ".join(filters)}'
    if group_hosts is not None:
        where = 'not on' if group_hosts.is_excluded else 'only on'
        hosts = join_names(group_hosts.hosts, 10)
        yield f'Server group {group_hosts.group} ({group_hosts.policy}): {where} {hosts}'
    yield ''
    yield f'Each condition alone: hosts that meet it, of {explanation.tree_count}'
    width = len(str(explanation.tree_count))
    for requirement, count in explanation.alone.items():
        yield f'  {count:>{width}}  {requirement}'
    made = explanation.count
    # One candidate for each tree needs no line, unless some are lost.
    if made is not None and (made.total > len(made.trees) or made.least_lost_tree_count):
        yield from _describe_candidates(made, most_trees)
    if not explanation.has_candidates:
        yield from _describe_causes(explanation)


def describe_unknown_names(
    classes: Collection[str], traits: Collection[str], *, is_nova: bool
) -> Iterator[str]:
    """Yield a sentence for each class and trait that the service does not know.

    :param is_nova: whether they are from a request of Nova
    """
    cause = '. The likely cause is a PCI alias, or a setting in [pci] of nova.conf on the hosts'
    for kind, names in (('resource class', classes), ('trait', traits)):
        for name in sorted(names):
            sentence = f'Placement does not know the {kind} {name}: no host has it'
            yield sentence + cause * is_nova


def _describe_vcpu_fallback(fallback: TreeCount) -> str:
    """Return the sentence about the second request of Nova, with VCPU in place of PCPU."""
    again = 'Nova asks again with VCPU in place of PCPU'
    if not fallback.tree_count:
        return f'{again}: that cannot be met either.'
    trees = _describe_tree_count(fallback)
    return f'{again}: Placement has candidates on {trees} without PCPU. {FALLBACK}.'


def _describe_causes(explanation: Explanation) -> Iterator[str]:
    """Yield the lines about missing candidates: conflicts, relaxations and the nearest trees."""
    yield ''
    several = ' (one of several sets)' if explanation.has_more_conflicts else ''
    together = ' together' if any(len(conflict) > 1 for conflict in explanation.conflicts) else ''
    yield f'Cannot be met{together}{several}'
    for conflict in explanation.conflicts:
        texts = map(str, _order_conflict(conflict, explanation))
        yield f'  {" + ".join(texts)}'
    if explanation.relaxations:
        yield ''
        yield 'Would be enough'
        for relaxation in explanation.relaxations:
            yield f'  {_describe_relaxation(relaxation)}'
    if explanation.nearest:
        yield ''
        yield 'Nearest trees'
        yield from _describe_nearest_trees(explanation)
    if explanation.is_cut:
        yield ''
        yield 'There are too many combinations to try them all: there may be more'


def _describe_candidates(count: CandidateCount, most_trees: int) -> Iterator[str]:
    """Yield the lines with the number of candidates of each tree, and of those that Nova takes."""
    yield from ('', 'Candidates (calculated)')
    width = len(str(count.total))
    for tree in count.trees[:most_trees]:
        yield f'  {tree.count:>{width}}  {"" if tree.is_exact else "at least, "}{tree.name}'
    yield f'  {count.total:>{width}}  in all'
    if count.least_lost_tree_count:
        yield (
            f'  Nova takes {count.limit} of them (max_placement_results): at least '
            f'{count.least_lost_tree_count} of {format_count(len(count.trees), "tree")} cannot be '
            'chosen, unless Placement has allocation_candidates_generation_strategy = breadth-first'
        )
    if count.trees[0].count > _MANY:
        yield (
            '  Placement makes all of them first. Set max_allocation_candidates, and '
            'optimize_for_wide_provider_trees, or ask for fewer groups'
        )


def _describe_nearest_trees(explanation: Explanation) -> Iterator[str]:
    """Yield the shortages of each of the nearest trees; those that all of them have come first."""
    shortages = {
        host.name: [
            f'    {shortage.requirement}: {_describe_shortage(shortage)}'
            for shortage in host.shortages
        ]
        for host in explanation.nearest
    }
    first, *others = shortages.values()
    common = [line for line in first if all(line in lines for lines in others)] if others else []
    if common:
        yield f'  {", ".join(shortages)}'
        yield from common
    for name, lines in shortages.items():
        specific = [line for line in lines if line not in common]
        if specific:
            yield f'  {name}'
            yield from specific


def make_explanation_record(
    explanation: Explanation, fallback: TreeCount | None = None
) -> dict[str, object]:
    """Return an explanation as data for programs.

    :param fallback: the number of hosts without PCPU that have candidates for the second request of
        Nova
    """
    record = {
        'can_be_met': explanation.has_candidates,
        'trees_with_candidates': explanation.offer.tree_count,
        'is_cut': explanation.offer.is_cut,
        'trees': explanation.tree_count,
        'alone': [
            {**_make_requirement_record(requirement), 'trees': count}
            for requirement, count in explanation.alone.items()
        ],
        'conflicts': [
            [_make_requirement_record(need) for need in _order_conflict(conflict, explanation)]
            for conflict in explanation.conflicts
        ],
        'enough': [_make_relaxation_record(relaxation) for relaxation in explanation.relaxations],
        'nearest': [_make_near_tree_record(host) for host in explanation.nearest],
        'is_exhaustive': not (explanation.is_cut or explanation.has_more_conflicts),
    }
    if fallback is not None:
        record['fallback'] = {
            'trees_with_candidates': fallback.tree_count,
            'is_cut': fallback.is_cut,
        }
    if count := explanation.count:
        record['candidates'] = {
            'total': count.total,
            'is_exact': count.is_exact,
            'limit': count.limit,
            'lost': count.least_lost_tree_count,
            'trees': {tree.name: tree.count for tree in count.trees},
        }
    return record


def _describe_tree_count(count: TreeCount) -> str:
    number = format_count(count.tree_count, 'tree')
    return f'at least {number}' if count.is_cut else number


def _order_conflict(
    conflict: frozenset[Requirement], explanation: Explanation
) -> Sequence[Requirement]:
    """Return the requirements of a conflict in the order of the request."""
    return [need for need in explanation.alone if need in conflict]


def _describe_relaxation(relaxation: Relaxation) -> str:
    changes = [
        f'{need.value}={amount} instead of {need.amount}'
        + (f' (group {need.group})' if need.group else '')
        for need, amount in relaxation.lowered
    ]
    for need in relaxation.dropped:
        text = str(need)
        # "without no trait" says the opposite to a quick reader.
        is_negated = text.startswith(('no ', 'not '))
        changes.append(f'without the condition "{text}"' if is_negated else f'without {text}')
    source = '' if relaxation.is_confirmed else ' (calculated)'
    return f'{" and ".join(changes)}: {_describe_tree_count(relaxation.offer)}{source}'


def _describe_shortage(shortage: Shortage) -> str:
    if shortage.reason is ShortageReason.SHAPE:
        together = ', '.join(map(str, shortage.others))
        return f'not together with {together}' if together else 'the tree has not that shape'
    if shortage.reason is ShortageReason.FREE and (shortage.amount or 0) < 0:
        over = -(shortage.amount or 0)
        return f'0 free on {shortage.provider}, of which {over} more is used than it has'
    if shortage.reason in _LIMITS:
        return _LIMITS[shortage.reason].format(amount=shortage.amount, provider=shortage.provider)
    return _MISSING[shortage.requirement.kind]


def _make_requirement_record(requirement: Requirement) -> dict[str, object]:
    record: dict[str, object] = {
        'kind': requirement.kind.value,
        'value': requirement.value,
        'group': requirement.group,
    }
    if requirement.is_resource:
        record['amount'] = requirement.amount
    return record


def _make_relaxation_record(relaxation: Relaxation) -> Mapping[str, object]:
    return {
        'instead': [
            {**_make_requirement_record(need), 'enough': amount}
            for need, amount in relaxation.lowered
        ],
        'without': [_make_requirement_record(need) for need in relaxation.dropped],
        'trees': relaxation.offer.tree_count,
        'is_cut': relaxation.offer.is_cut,
        'is_asked': relaxation.is_confirmed,
    }


def _make_near_tree_record(tree: NearTree) -> Mapping[str, object]:
    return {
        'name': tree.name,
        'uuid': tree.root_uuid,
        'lacks': [
            {
                **_make_requirement_record(shortage.requirement),
                'reason': shortage.reason.value,
                'provider': shortage.provider,
                'has': shortage.amount,
                'not_together_with': [_make_requirement_record(need) for need in shortage.others],
            }
            for shortage in tree.shortages
        ],
    }
