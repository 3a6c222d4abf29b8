# SPDX-License-Identifier: Apache-2.0
"""Parts of sentences."""

import pytest

from placementclient.basis.wording import (
    format_next_steps,
    join_first_sentences,
    join_names,
    mask_credentials,
    split_lines,
)


def test_long_lists_are_cut_with_the_number_of_the_rest():
    assert join_first_sentences([1, 2, 3]) == '1; 2; 3'
    assert join_first_sentences(['a', 'b', 'c', 'd', 'e']) == 'a; b; c; and 2 more'
    assert join_first_sentences(['a', 'b', 'c'], 1) == 'a; and 2 more'
    assert join_names('abc', 3) == 'a, b, c'
    assert join_names(['a', 'b', 'c'], 2, 'others') == 'a, b and 1 other'


@pytest.mark.parametrize(
    ('steps', 'text'),
    [
        ([], ''),
        (['placement a'], 'Next: placement a'),
        (['placement a', 'Or: placement b'], 'Next:\n  1. placement a\n  2. Or: placement b'),
    ],
)
def test_several_next_steps_are_a_numbered_list(steps, text):
    assert format_next_steps(steps) == text


@pytest.mark.parametrize('control', list('\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029'), ids=ascii)
def test_a_line_ends_with_a_line_feed(control):
    assert split_lines(f'a{control}b\r\nc\n\nd') == [f'a{control}b', 'c', '', 'd']
    assert split_lines('a\n') == split_lines('a') == ['a']
    assert split_lines('a\r\r\n') == ['a\r']


@pytest.mark.parametrize(
    ('text', 'printed'),
    [
        ('http://u:p@h/x', 'http://***@h/x'),
        (
            'to mysql+pymysql://u:p@ss@h and http://h/a@b',
            'to mysql+pymysql://***@h and http://h/a@b',
        ),
        ('https://u@[::1]:8778 u:p@h', 'https://***@[::1]:8778 u:p@h'),
    ],
)
def test_a_url_is_told_without_its_user(text, printed):
    assert mask_credentials(text) == printed
