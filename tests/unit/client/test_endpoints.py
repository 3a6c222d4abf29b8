# SPDX-License-Identifier: Apache-2.0
"""The table of endpoints: its rows, and the paths that come of them."""

from string import Formatter

import pytest

from placementclient.client import endpoints, errors


def fields(template):
    """The names of the parts of a path, in order."""
    return [name for _, name, *_ in Formatter().parse(template) if name]


WITH_PARTS = [row for row in endpoints.ALL if fields(row.template)]
UNSAFE = ['', '.', '..', '/', 'a/b', '../../x', '/etc', 'x/', 'a\nb', 'a\0', '\r', '\x7f', '\u2028']
UNSAFE += ['\udcff', '\u202e', '\t']
QUOTED = {
    'VCPU': 'VCPU',
    '...': '...',
    'a b': 'a%20b',
    '?x=1': '%3Fx%3D1',
    '#frag': '%23frag',
    '%2e%2e': '%252e%252e',
    'a\\b': 'a%5Cb',
    'é': '%C3%A9',
}


@pytest.mark.parametrize('row', WITH_PARTS, ids=str)
@pytest.mark.parametrize('part', UNSAFE, ids=ascii)
def test_a_part_that_changes_the_path_is_refused_in_every_place(row, part):
    names = fields(row.template)
    for name in names:
        with pytest.raises(errors.UnsafePath) as refusal:
            row.format_path(**{**dict.fromkeys(names, 'X'), name: part})
        assert str(refusal.value) == f'{part!r} cannot be part of a URL'


@pytest.mark.parametrize(('part', 'quoted'), QUOTED.items(), ids=lambda part: ascii(part[:20]))
def test_any_other_part_is_quoted(part, quoted):
    assert endpoints.SHOW_TRAIT.format_path(trait=part) == f'/traits/{quoted}'
