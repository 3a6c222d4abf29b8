"""Errors as a person reads them."""

from __future__ import annotations

from placementclient import errors
from placementclient.render import failures


def test_the_faults_of_a_file_in_lines_that_can_be_read() -> None:
    faults = errors.BadFiles([errors.BadFile('rows.csv', 'wrong', line) for line in range(1, 5001)])
    lines = list(failures.lines(faults))
    assert len(lines) == failures.MOST + 1
    assert (lines[0], lines[-1]) == ('rows.csv:1: wrong', '… and 4900 more')
