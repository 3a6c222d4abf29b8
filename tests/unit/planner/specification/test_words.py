"""What is wrong with a file that people write, in words for people, at the place where it began."""

import pytest

from placementclient.client import errors
from placementclient.files import cursors
from placementclient.planner.specification import assignments

DOCUMENTS = {
    'empty': ('', 'f: is empty'),
    'comments alone': ('# to be written\n\n', 'f: is empty'),
    'two documents': ('a: 1\n---\nb: 2\n', 'f:2: a second document begins here'),
    'an open quote': (
        'a: 1\n\nb: "open\n',
        'f:3: the quote that opens here is not closed',
    ),
    'an open bracket': ('a: 1\nb: [1, 2\n', 'f:2: the bracket that opens here is not closed'),
    'an open brace': ('{"a": 1,\n "b": 2\n', 'f:1: the brace that opens here is not closed'),
    'a tab': ('a:\n\tb: 1\n', 'f:2: a tab: YAML is indented with spaces'),
    'two colons': ('a: b: c\n', 'f:1: a colon where none can be: quote a text that has one'),
}


@pytest.mark.parametrize(('text', 'said'), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document(text, said):
    with pytest.raises(errors.BadFile) as fault:
        cursors.read(text, 'f')
    assert str(fault.value).startswith(said)


@pytest.mark.parametrize(('character', 'name'), [(';', 'semicolons'), ('\t', 'tabs')])
def test_fields_that_are_separated_otherwise(character, name):
    header = character.join(assignments.COLUMNS)
    with pytest.raises(errors.BadFile, match=f'has {name} between its fields: save it with commas'):
        assignments.parse(f'{header}\n', 'f')
