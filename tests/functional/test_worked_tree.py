# SPDX-License-Identifier: Apache-2.0
"""The contributors' worked tree comes out as the page shows."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'contributor' / 'worked-tree.rst'


def test_every_step_of_the_worked_tree_is_as_shown():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 20
    assert not result.failed
