# SPDX-License-Identifier: Apache-2.0
"""The advice about trees that were left alone."""

from argparse import Namespace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from placementclient.commands.reshapes.reshape_run import ShowReshapeStatus, suggest_planning_again
from placementclient.model.outcomes import Outcome, TreeResult, TreeState
from placementclient.model.plans import Plan, PlanOptions, Recipe
from placementclient.model.specifications import Spec
from placementclient.render import runs

RECIPE: Recipe[Any] = Recipe(Spec(()), (), PlanOptions(allow_inferred=False, skip_infeasible=False))


@pytest.mark.parametrize('number', [2, 300])
def test_status_prints_the_next_steps_for_trees_left_alone(tmp_path, number):
    plan = Plan((), recipe=RECIPE)
    app = cast(Any, SimpleNamespace(formatters=lambda namespace: ()))
    command = ShowReshapeStatus(app, None)
    names = [f'gpu{host:03}' for host in range(number)]
    trees = [TreeResult(name, name, TreeState.LEFT_ALONE, 'a server came') for name in names]
    command.args = Namespace(plan=str(tmp_path / 'plan.json'))
    suggest_planning_again(command, plan, trees)
    [again] = command.next_steps
    assert again.count('--tree ') == number


def test_next_steps_ask_for_a_change_if_a_tree_cannot_be_planned():
    reasons = {
        'gpu0': 'a server came, and a new plan is not decided: Undecided rows: 1: …',
        'gpu1': 'a server came, and cannot be planned again: gpu1: no room',
    }
    trees = [TreeResult(name, name, TreeState.LEFT_ALONE, reasons[name]) for name in reasons]
    plan = Plan((), recipe=RECIPE)
    assert list(runs.advise_planning_again(plan, 'plan.json', trees, 'plan-2.json')) == [
        'gpu1: no room. Change that in the cloud, or correct a copy of the specification',
        'Plan again for the trees that were left alone, with the specification and the assignments '
        'in plan.json: placement resource provider reshape plan '
        '--spec plan.json --skip-infeasible --tree gpu0 --tree gpu1 -o plan-2.json',
    ]
    # Where every tree is in the way of the new plan, the command fails until that has changed.
    first, again = runs.advise_planning_again(plan, 'plan.json', trees[1:], 'plan-2.json')
    assert first.startswith('gpu1: no room. Change that')
    assert again == (
        'Then plan again with a corrected specification: placement resource provider reshape plan '
        '--spec CORRECTED.yaml --tree gpu1 -o plan-2.json'
    )


def make_run(states):
    names = [f'gpu{number}' for number in range(len(states))]
    pairs = zip(names, states, strict=True)
    return Outcome([TreeResult(name, name, TreeState(state)) for name, state in pairs])


@pytest.mark.parametrize(
    ('states', 'sentence'),
    [
        (['applied'] * 3, '3 applied'),
        (
            ['left alone', 'applied', 'failed', 'not started', 'left alone'],
            '1 applied, 1 not started, 2 left alone: gpu0, gpu4; 1 failed: gpu2',
        ),
        (['failed'] * 7, '7 failed: gpu0, gpu1, gpu2, gpu3, gpu4 and 2 more'),
    ],
)
def test_status_counts_the_trees_in_each_state(states, sentence):
    run = make_run(states)
    assert runs.summarize_run(run) == sentence
    _, rows = runs.list_tree_results(run)
    undone = [row[1] in ('left alone', 'failed') for row in rows]
    assert undone == sorted(undone), 'those that failed come last'


@pytest.mark.parametrize(
    ('states', 'backward', 'steps'),
    [
        (['applied', 'already applied'], False, ['verify']),
        (['applied', 'not started'], False, ['verify', 'Go on with the other trees: apply']),
        (['rolled back'], True, []),
        (['rolled back', 'not started'], True, ['Go on with the other trees: rollback']),
        (['left alone', 'applied'], False, ['verify']),
        (['left alone'], False, []),
    ],
)
def test_a_run_ends_with_the_command_that_comes_next(states, backward, steps):
    listed = runs.advise_after_run(make_run(states), 'a plan.json', backward=backward)
    short = [step.replace('placement resource provider reshape ', '') for step in listed]
    assert short == [f"{step} 'a plan.json'" for step in steps]
