# SPDX-License-Identifier: Apache-2.0
"""Every command with arguments that are none: an error that says so, and nothing done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.functional.fuzzed import POINTS, check, command_lines, name, program
from tests.fuzzing import examples

pytestmark = pytest.mark.slow

__all__ = ['program']


@pytest.mark.parametrize('point', POINTS, ids=name)
@examples(4)
@given(data=st.data())
def test_no_arguments_make_a_traceback(program, point, data):
    words = [*name(point).split(), *data.draw(command_lines(point))]
    check(words, program.run(words))
