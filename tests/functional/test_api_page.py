# SPDX-License-Identifier: Apache-2.0
"""The page on the Python API: its examples run, and it has every module of the API."""

import doctest
import re
from pathlib import Path

from placementclient import api

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'api.rst'


def test_examples_of_the_api_page_run_as_shown():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 15
    assert not result.failed


def test_api_page_names_every_module():
    shown = re.findall(r'^\.\. automodule:: placementclient\.api\.(\w+)$', PAGE.read_text(), re.M)
    assert sorted(shown) == sorted(api.__all__)
