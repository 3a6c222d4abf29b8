# SPDX-License-Identifier: Apache-2.0
"""Colours and bars."""

import pytest

from placementclient.render.style import PLAIN, Style, choose_colour, compute_used_share


@pytest.mark.parametrize(
    ('used', 'capacity', 'share', 'colour'),
    [
        (0, 10, 0.0, 'cyan'),
        (6, 10, 0.6, 'cyan'),
        (7, 10, 0.7, 'yellow'),
        (9, 10, 0.9, 'red'),
        (12, 10, 1.0, 'red'),
        (0, 0, 0.0, 'cyan'),
        (1, 0, 1.0, 'red'),
        (1, -5, 1.0, 'red'),
    ],
)
def test_a_bar_shows_how_full_an_inventory_is(used, capacity, share, colour):
    assert (compute_used_share(used, capacity), choose_colour(used, capacity)) == (share, colour)


@pytest.mark.parametrize(('used', 'drawn'), [(0, ''), (1, '▏'), (500, '██████'), (1000, '█' * 12)])
def test_all_bars_have_the_same_width(used, drawn):
    assert Style(bars=True).draw_bar(used, 1000) == f'▕{drawn:<12}▏'


def test_plain_text_has_no_escape_codes():
    assert PLAIN.paint('text', 'red') == 'text'
    assert Style(colours=True).paint('text', 'red') == '\x1b[31mtext\x1b[0m'
    assert Style(colours=True).paint('', 'red') == ''
