"""The table of a change as people read it."""

from __future__ import annotations

from placementclient.changes.summary import ChangeRow
from placementclient.render import changes


def test_a_root_has_no_parent_to_be_named():
    rows = [
        ChangeRow('host', 'create', None, {'parent': None}),
        ChangeRow('gpu', 'create', None, {'parent': 'host'}),
    ]
    assert [line.split('|')[4].strip() for line in changes.lines(rows)[3:5]] == ['', 'parent host']
    # A script finds the field in any case.
    _, [root, _] = changes.planned(rows)
    assert root[3].machine_readable() == {'parent': None}
