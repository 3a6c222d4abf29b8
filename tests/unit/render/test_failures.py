"""Errors as a person reads them."""

from __future__ import annotations

from placementclient.client import errors
from placementclient.planner.infeasibility import UNDETERMINED
from placementclient.render import failures


def test_searches_that_did_not_end_are_one_line() -> None:
    undetermined = errors.Undetermined([UNDETERMINED(f'gpu0{n}', 60) for n in range(1, 4)])
    assert list(failures.lines(undetermined)) == [
        'Undetermined:',
        '  gpu01 and 2 others: no assignment was found in 60 seconds, and no proof that there is '
        'none',
        undetermined.advice,
    ]


def test_the_faults_of_a_file_in_lines_that_can_be_read() -> None:
    faults = errors.BadFiles([errors.BadFile('rows.csv', 'wrong', line) for line in range(1, 5001)])
    lines = list(failures.lines(faults))
    assert len(lines) == failures.MOST + 1
    assert (lines[0], lines[-1]) == ('rows.csv:1: wrong', '… and 4900 more')
