# SPDX-License-Identifier: Apache-2.0
"""Errors as a person reads them."""

from placementclient.basis import errors
from placementclient.planner.errors import Infeasible, Undecided, Undetermined
from placementclient.planner.infeasibility import Cause, UndecidedRow
from placementclient.render import failures


def test_failures_print_undetermined_trees_with_one_reason_in_one_line():
    undetermined = Undetermined(
        [Cause('undetermined', f'gpu0{n}', unproved=0, seconds=60) for n in range(1, 4)]
    )
    assert list(failures.format_failure(undetermined)) == [
        'Undetermined:',
        '  gpu01 and 2 others: no assignment was found in 60 seconds, and no proof that there is '
        'none',
        undetermined.advice,
    ]


def test_failures_print_infeasible_trees_with_one_reason_in_one_line():
    causes = [Cause('bad-row', tree, reason='a row is wrong') for tree in ('gpu01', 'gpu02')]
    slack = [Cause('no-total', 'gpu03', provider='p', resource_class='VGPU')]
    assert list(failures.format_failure(Infeasible(causes, slack))) == [
        'Infeasible:',
        '  gpu01 and 1 other: a row is wrong',
        f'  {slack[0]}',
    ]


def test_failures_print_the_first_faults_of_a_file_and_count_the_others():
    faults = errors.BadFiles([errors.BadFile('rows.csv', 'wrong', line) for line in range(1, 5001)])
    lines = list(failures.format_failure(faults))
    assert len(lines) == failures.MOST_FAULTS + 1
    assert (lines[0], lines[-1]) == ('rows.csv:1: wrong', '… and 4900 more')


def test_failures_count_undecided_rows_of_many_trees():
    rows = [
        UndecidedRow(f'gpu{number:03d}', f'server-{number}-{server}', 'VGPU', 1, 'gpu', ('a', 'b'))
        for number in range(300)
        for server in range(3)
    ]
    lines = list(failures.format_failure(Undecided(rows, ['gpu000: 7 VGPU are moved off gpu'])))
    assert lines[:2] == ['Undecided: 900 rows in 300 trees', '  gpu000: 3 rows']
    assert lines[11:14] == [
        '  … and 290 more trees',
        'The first 10 rows:',
        '  gpu000: 1 VGPU of server-0-0 may go to a, b',
    ]
    warning, steps = lines[-2:]
    assert warning == 'Warning: gpu000: 7 VGPU are moved off gpu'
    assert 'placement resource provider reshape assignments --host-facts' in steps
    assert len(lines) == 25


def test_failures_print_a_few_undecided_rows_without_counts():
    row = UndecidedRow('gpu', 'server', 'VGPU', 1, 'gpu', ('a', 'b'))
    lines = list(failures.format_failure(Undecided([row])))
    assert lines[:2] == ['Undecided:', '  gpu: 1 VGPU of server may go to a, b']
