# SPDX-License-Identifier: Apache-2.0
"""The results of a run as rows and sentences."""

import enum
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from placementclient.basis.wording import format_count, join_first_sentences, summarize_states
from placementclient.model.findings import Finding
from placementclient.model.outcomes import (
    ALREADY_ROLLED_BACK,
    PLAN_ROLLED_BACK,
    Outcome,
    PlanStatus,
    Rehearsal,
    TreeResult,
    TreeState,
    TreeStatus,
)
from placementclient.model.plans import Change, Plan, Recipe
from placementclient.model.specifications import Spec
from placementclient.planner.errors import IMPOSSIBLE
from placementclient.render.columns import Output

_AS_PLANNED = 'as planned'
#: The most commands that restore a total; the others are counted.
_MOST_RESTORATIONS = 3
#: The sentence of the planner if a provider has less than is moved off it.
_LOST_TOTAL = re.compile(
    r'[^:]+: (?P<moved>\d+) (?P<name>\w+) are moved off (?P<provider>.+), which has (?P<total>\d+)'
)
_TREES = ('tree', 'state', 'reason')


class DeviationVerdict(enum.StrEnum):
    """The meaning of a deviation from a plan."""

    #: The plan is made in part, or what it made is gone.
    DAMAGED = 'damaged'
    #: The plan is still to be made.
    PENDING = 'pending'
    #: Others have changed something since, as they may.
    CHANGED_LATER = 'changed later'


def list_tree_results(run: Outcome) -> Output:
    """Return a table with the result of each tree; those left alone and failed come last."""
    trees = sorted(run.trees, key=lambda tree: tree.is_unsuccessful)
    return _TREES, [(tree.root_provider_name, tree.state.value, tree.reason) for tree in trees]


def summarize_run(run: Outcome) -> str:
    """Return how many trees are in each state; of a stopped run, why, and how many are done."""
    if run.stopped is None:
        return summarize_states(
            (tree.root_provider_name, _describe_state(tree)) for tree in run.trees
        )
    done = sum(tree.is_done for tree in run.trees)
    return f'{run.stopped}: {done} of {format_count(len(run.trees), "tree")} done'


def _describe_state(tree: TreeResult) -> str:
    """Return the state of a tree, or that it was rolled back already, as text for people."""
    is_back = tree.state is TreeState.ALREADY_BACK and tree.reason == ALREADY_ROLLED_BACK
    return tree.reason if is_back else tree.state


def advise_planning_again(
    plan: Plan,
    plan_path: str,
    trees: Iterable[TreeResult | TreeStatus],
    new_path: str,
) -> Iterator[str]:
    """Yield the steps that plan again for the trees that were left alone.

    :param plan_path: the file of the plan, which serves as specification
    :param new_path: the file for the new plan
    """
    if plan.recipe is None:
        yield (
            'Review the trees that were left alone, as others have changed them, and plan again: '
            f'placement {plan.command} … --plan {shlex.quote(new_path)}'
        )
        return
    roots: list[str] = []
    obstacles: list[str] = []
    restorations: list[str] = []
    for tree in trees:
        planned = plan.find_change(tree.root_provider_uuid)
        roots += planned.roots.values() if planned else [tree.root_provider_name]
        obstacles.append(tree.reason.partition(IMPOSSIBLE)[2])
        restorations.append(_suggest_restoring_total(planned, obstacles[-1]))
    options = ['--allow-inferred'] if plan.recipe.options.allow_inferred else []
    plan_again = (
        'Plan again for the trees that were left alone, with the specification and the assignments '
        f'in {plan_path}'
    )
    others = [o for o, r in zip(obstacles, restorations, strict=True) if o and not r]
    if others:
        reasons = join_first_sentences(others)
        yield f'{reasons}. Change that in the cloud, or correct a copy of the specification'
    spec_path = plan_path
    if all(obstacles):
        # With what the plan has of the specification, the command fails for the same reason.
        spec_path = 'CORRECTED.yaml'
        plan_again = f'{"Then plan" if others else "Plan"} again with a corrected specification'
        options += _list_assignment_options(plan.recipe)
    elif any(obstacles):
        options.append('--skip-infeasible')
    options += [f'--tree {shlex.quote(name)}' for name in roots]
    yield (
        f'{plan_again}: placement resource provider reshape plan '
        f'--spec {shlex.quote(spec_path)} {" ".join(options)} -o {shlex.quote(new_path)}'
    )
    # Last: it may undo what somebody has done on purpose.
    if any(restorations):
        yield from _suggest_restorations(list(filter(None, restorations)), plan_path)


def _list_assignment_options(recipe: Recipe[Spec]) -> list[str]:
    """Return the options that name the files of assignments which no specification names."""
    paths = dict.fromkeys(row.path for row in recipe.assignments)
    named = recipe.spec.assignments
    return [f'--assignments {shlex.quote(path)}' for path in paths if path not in ('', *named)]


def _suggest_restorations(restorations: Sequence[str], plan_path: str) -> Iterator[str]:
    """Yield the commands that restore totals of providers, then the one that applies the plan."""
    yield from restorations[:_MOST_RESTORATIONS]
    if more := len(restorations[_MOST_RESTORATIONS:]):
        yield f'Do the same for {format_count(more, "more tree")}, by the reasons in the table'
    yield f'Then apply again: placement resource provider reshape apply {shlex.quote(plan_path)}'


def _suggest_restoring_total(planned: Change | None, obstacle: str) -> str:
    """Return the command that restores the total that a plan moves; empty for other obstacles."""
    match = _LOST_TOTAL.fullmatch(obstacle)
    state = planned.before.find_by_name(match['provider']) if planned and match else None
    if match is None or state is None or match['name'] not in state.inventories:
        return ''
    provider, name = shlex.quote(match['provider']), match['name']
    total = state.inventories[name].total
    return (
        f'Or, unless that was on purpose, set it back. {match["provider"]} has {match["total"]} '
        f'{name} now; the plan moves {match["moved"]}: placement resource provider '
        f'inventory set {provider} --amend --resource {name}={total}'
    )


def advise_completing_trees(
    trees: Sequence[TreeResult], plan_path: str, *, backward: bool = False
) -> Iterator[str]:
    """Yield the steps that complete, or roll back, the trees that are done in part.

    :param plan_path: the file of the plan
    :param backward: whether the run is a rollback
    """
    if not trees:
        return
    yield (
        'For trees that are done in part, correct what the reasons name, then run the same '
        'command again'
    )
    if not backward:
        options = ' '.join(f'--tree {shlex.quote(tree.root_provider_name)}' for tree in trees)
        yield (
            'Or roll them back: placement resource provider reshape rollback '
            f'{shlex.quote(plan_path)} {options}'
        )


def advise_after_run(run: Outcome, plan_path: str, *, backward: bool = False) -> Iterator[str]:
    """Yield the commands that check the result of a run, or continue it.

    :param plan_path: the file of the plan
    :param backward: whether the run is a rollback
    """
    prefix, path = 'placement resource provider reshape', shlex.quote(plan_path)
    if run.stopped is not None:
        yield 'Run the same command again to continue'
        yield f'Or see the state of each tree: {prefix} status {path}'
        return
    if run.list_trees(TreeState.APPLIED, TreeState.ALREADY_APPLIED) and not backward:
        yield f'{prefix} verify {path}'
    if run.list_trees(TreeState.NOT_STARTED):
        yield f'Go on with the other trees: {prefix} {"rollback" if backward else "apply"} {path}'


def list_tree_statuses(trees: Iterable[TreeStatus]) -> Output:
    """Return a table with the state of each tree; those that differ from the plan come last."""
    ordered = sorted(trees, key=lambda tree: tree.status is PlanStatus.DIFFERS)
    return _TREES, [(tree.root_provider_name, tree.status.value, tree.reason) for tree in ordered]


def summarize_verification(changes: Iterable[Change], deviations: Iterable[Finding]) -> str:
    """Return how many trees are as planned, and the names of the others."""
    by_tree = _group_by_tree(deviations)
    names = [change.root_provider_name for change in changes]
    return summarize_states((name, _summarize_deviations(by_tree.get(name, ()))) for name in names)


def _group_by_tree(deviations: Iterable[Finding]) -> dict[str, list[Finding]]:
    by_tree = defaultdict[str, list[Finding]](list)
    for deviation in deviations:
        by_tree[deviation.subject].append(deviation)
    return by_tree


def _summarize_deviations(deviations: Collection[Finding]) -> str:
    """Return the state of a tree in words: the first of these that is true.

    It differs (a deviation is an error or a warning), is rolled back, is not applied (a part is
    still to be made), was changed later by others (as they may), or is as planned.
    """
    if any(deviation.is_error_or_warning for deviation in deviations):
        return PlanStatus.DIFFERS
    if any(deviation.reason == PLAN_ROLLED_BACK for deviation in deviations):
        return PlanStatus.ROLLED_BACK
    if any(judge_deviation(deviation) is DeviationVerdict.PENDING for deviation in deviations):
        return 'not applied'
    return DeviationVerdict.CHANGED_LATER if deviations else _AS_PLANNED


def list_deviations(changes: Iterable[Change], deviations: Iterable[Finding]) -> Output:
    """Return a table with a row for each tree that is as planned, then for each deviation.

    :param deviations: of all changes
    """
    by_tree = _group_by_tree(deviations)
    rows: list[tuple[object, ...]] = []
    for change in changes:
        rows += [
            (d.subject, d.kind, d.reason, d.is_error, judge_deviation(d).value)
            for d in by_tree.get(change.root_provider_name, [])
        ] or [(change.root_provider_name, _AS_PLANNED, '', False, 'applied')]
    rows.sort(key=lambda row: row[1] != _AS_PLANNED)
    return ('tree', 'kind', 'message', 'is_damage', 'verdict'), rows


def judge_deviation(deviation: Finding) -> DeviationVerdict:
    """Return whether a deviation is damage, still to be made, or a later change by others."""
    if deviation.is_error:
        return DeviationVerdict.DAMAGED
    return (
        DeviationVerdict.PENDING
        if deviation.kind == 'not-applied'
        else DeviationVerdict.CHANGED_LATER
    )


def summarize_rehearsal(result: Rehearsal) -> str:
    """Return how many trees each run left in each state, and how many differences there are."""
    number = len(result.differences) + len(result.remains)
    return (
        f'apply: {summarize_run(result.applied)}; rollback: {summarize_run(result.rolled_back)}; '
        f'{format_count(number, "difference")}'
    )


def list_rehearsal(result: Rehearsal) -> Output:
    """Return a table with the rows of all stages of a rehearsal."""
    return ('stage', *_TREES), [
        *_make_stage_rows('apply', result.applied, 'verify', result.differences, _AS_PLANNED),
        *_make_stage_rows('rollback', result.rolled_back, 'compare', result.remains, 'as before'),
    ]


def _make_stage_rows(
    stage: str, run: Outcome, check: str, differences: Collection[Finding], expected: str
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a run, then those of the check of its result.

    :param check: the name of the stage that checks the result
    :param expected: the state of all trees if the check finds nothing
    """
    for row in list_tree_results(run)[1]:
        yield (stage, *row)
    for difference in differences:
        yield (check, difference.subject, difference.kind, difference.reason)
    if not differences and any(tree.is_done for tree in run.trees):
        yield (check, 'all', expected, '')
