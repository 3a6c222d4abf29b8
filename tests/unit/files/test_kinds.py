# SPDX-License-Identifier: Apache-2.0
"""What a file looks like, and which lists a file of several lists has."""

import pytest

from placementclient.basis.errors import WrongFile
from placementclient.files import kinds
from placementclient.files.kinds import LISTS

MIGRATION = b'[{"Id": 2, "Source Node": "compute2", "Old Flavor": 1}]'
BOTH = b'{"aggregates": [], "servers": [], "migrations": []}'


@pytest.mark.parametrize(
    ('content', 'kind'),
    [
        (b'[{"ID": "s", "Flavor": "m1"}]', 'servers'),
        (b'- ID: s\n  Flavor: m1\n', 'servers'),
        (MIGRATION, 'migrations'),
        (b'- Id: 2\n  Old Flavor: 1\n  Source Node: compute2\n', 'migrations'),
    ],
)
def test_a_list_of_openstackclient_is_known_by_its_columns(content, kind):
    assert kinds.recognize_kind(content) == LISTS[kind]
    kinds.refuse_other_kind(content, 'x.json', LISTS[kind])


def test_a_file_of_several_lists_is_taken_for_each_of_them():
    for name in ('aggregates', 'servers', 'migrations'):
        kinds.refuse_other_kind(BOTH, 'x.json', LISTS[name])
    for content in (BOTH, MIGRATION):
        with pytest.raises(WrongFile):
            kinds.refuse_other_kind(content, 'x.json', LISTS['flavors'])
