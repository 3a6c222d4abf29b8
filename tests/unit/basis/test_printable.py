# SPDX-License-Identifier: Apache-2.0
"""What others wrote never steers a terminal."""

import io
from xml.etree import ElementTree

import pytest

from placementclient.basis.printable import (
    escape_cell,
    escape_text,
    flatten_cell,
    format_cell,
    replace_unencodable_characters,
)
from placementclient.render import graphs, pictures
from placementclient.render.facts import Facts
from placementclient.render.style import Style, escape_all_but_colours
from tests.unit.render.test_trees import of_trees, state, tree

HOSTILE = 'a\x1b]0;title\x07b\x9b2Jc\rd\x1b[31me\u202ef\x00'
READABLE = r'a\x1b]0;title\x07b\x9b2Jc\rd\x1b[31me\u202ef\x00'


def test_control_characters_are_written_out():
    assert escape_text(HOSTILE) == READABLE


@pytest.mark.parametrize('mark', '\xad\u061c\u180e\u200b\u200d\u2060\u2066\ufeff\U000e0041')
def test_marks_without_a_width_are_written_out(mark):
    escaped = mark.encode('unicode_escape').decode()
    assert format_cell(f'gpu{mark}1') == escape_text(f'gpu{mark}1') == f'gpu{escaped}1'


@pytest.mark.parametrize('text', ['plain', 'Zürich 東京 🙂', 'two\nlines\tand a tab', ''])
def test_plain_text_is_unchanged(text):
    assert escape_text(text) == text


@pytest.mark.parametrize(
    ('cell', 'line', 'read'),
    [
        (Facts({'a': [1, None]}), '{"a": [1, null]}', 'a (1, )'),
        (Facts(None), None, ''),
        ({'VCPU': 1}, {'VCPU': 1}, {'VCPU': 1}),
        ('é\x00', 'é\x00', r'é\x00'),
        (1.5, 1.5, 1.5),
    ],
)
def test_cells_differ_for_programs_and_for_people(cell, line, read):
    """What is no column of ours stays as it is: so osc-placement prints what a consumer holds."""
    assert (flatten_cell(cell), format_cell(cell)) == (line, read)


def test_a_styled_cell_has_only_the_colour_of_its_style():
    line = escape_all_but_colours(
        f'{Style(colours=True).paint(HOSTILE, "bold")} {"x" + chr(27)}[5m'
    )
    assert line == f'\x1b[1m{READABLE}\x1b[0m x\\x1b[5m'


def drawn(render, name):
    return render(of_trees([tree(state(name, root=name, VCPU=1))]))


@pytest.mark.parametrize('render', [graphs.draw_dot, pictures.draw_svg])
def test_pictures_write_control_characters_out(render):
    picture = drawn(render, HOSTILE)
    assert '\x1b' not in picture
    assert picture.isascii() or '\x9b' not in picture
    if render is pictures.draw_svg:
        ElementTree.fromstring(picture)


@pytest.mark.parametrize(
    ('render', 'label'),
    [(graphs.draw_dot, '[label="a\\\\nb\\nVCPU 1/12"]'), (pictures.draw_svg, 'a\\nb')],
)
def test_a_name_of_two_lines_is_one_in_a_picture(render, label):
    assert label in drawn(render, 'a\nb')


@pytest.mark.parametrize(
    'formula', ['=HYPERLINK("http://x")', '+1+1', '-1+2', '@SUM(A1)', '\t=1', '\r=1', '\n=1']
)
def test_a_formula_is_text_in_csv(formula):
    assert escape_cell(formula) == f"'{formula}"


@pytest.mark.parametrize(
    'cell', ['compute1', '', '-', '-8', '+1.5', 'a=b', '{"a": 1}', -8, 1.5, None, True]
)
def test_other_cells_of_csv_stay(cell):
    assert escape_cell(cell) is cell


@pytest.mark.parametrize(
    ('encoding', 'printed'),
    [
        ('ascii', 'h\\xf6st1\n|  VCPU |###|\n+- gpu 2 x 4 -> 8\n'),
        ('latin-1', 'h\xf6st1\n|  VCPU |###|\n+- gpu 2 \xd7 4 -> 8\n'),
        ('utf-8', 'h\xf6st1\n│  VCPU ▕██▌▏\n├─ gpu 2 × 4 → 8\n'),
    ],
)
def test_a_terminal_whose_encoding_lacks_a_sign_gets_a_plain_one(encoding, printed):
    stream = io.TextIOWrapper(io.BytesIO(), encoding)
    replace_unencodable_characters(stream)
    stream.write('h\xf6st1\n│  VCPU ▕██▌▏\n├─ gpu 2 × 4 → 8\n')
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == printed
