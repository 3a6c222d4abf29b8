# SPDX-License-Identifier: Apache-2.0
"""A reader follows all pages, one after another in one shell, and sees what they show."""

import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.functional import guide
from tests.functional.conftest import HAS_JQ, PAGE_WITH_JQ, program
from tests.numbers import few_quick

#: Pages with a Placement that the reader has to set up before.
LOCAL_PLACEMENT = ('offline',)
LEFT_OUT = LOCAL_PLACEMENT if HAS_JQ else (*LOCAL_PLACEMENT, PAGE_WITH_JQ)
PAGES = [
    name for name in guide.pages() if guide.consoles(guide.page(name)) and name not in LEFT_OUT
]


class Reader:
    """The shell of a reader, who begins each page in the clone: its variables stay."""

    def __init__(self, home):
        self._clone = home / 'clone'
        self._clone.mkdir()
        (self._clone / 'doc').symlink_to(guide.SOURCE.parent)
        path = f'{Path(sys.executable).parent}:{os.environ["PATH"]}'
        self._variables = {'PATH': path, 'COLUMNS': '200', 'LC_ALL': 'C.UTF-8'}
        self._variables |= dict.fromkeys(('HOME', 'TMPDIR'), str(home))

    def follow(self, page, capsys):
        before = os.getcwd()
        with mock.patch.dict(os.environ, self._variables, clear=True):
            os.chdir(self._clone)
            try:
                return guide.follow(
                    guide.page(page), program(None, capsys), same_ids=page != 'first-steps'
                )
            finally:
                self._variables = dict(os.environ)
                os.chdir(before)


@pytest.fixture(scope='module')
def reader(tmp_path_factory):
    return Reader(tmp_path_factory.mktemp('home'))


@pytest.mark.parametrize('page', few_quick(PAGES, quick=8))
def test_commands_of_a_page_print_what_the_page_shows(page, reader, capsys):
    assert reader.follow(page, capsys)


def test_every_page_with_commands_is_tested():
    assert len(PAGES) > 20
