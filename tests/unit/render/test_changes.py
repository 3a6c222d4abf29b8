# SPDX-License-Identifier: Apache-2.0
"""The table of a change as people read it."""

from placementclient.basis.errors import PlacementError
from placementclient.model.outcomes import ChangeRow, TreeResult, TreeState
from placementclient.render import changes


def test_a_change_names_no_parent_of_a_new_root():
    rows = [
        ChangeRow('host', 'create', None, {'parent': None}),
        ChangeRow('gpu', 'create', None, {'parent': 'host'}),
    ]
    assert list(changes.format_planned_parts(rows)) == ['+ host', '+ gpu parent host']
    # A script finds the field in any case.
    _, [root, _] = changes.make_planned_table(rows)
    assert root[3].machine_readable() == {'parent': None}


def test_a_line_names_the_change_and_the_reason_why_it_was_not_made():
    uuid = '0c1f6f5c-4d0e-4f5a-8b27-6a4a3f0d8f01'
    rows = [
        ('host', 'delete', '', '', 'planned', ''),
        ('host', 'VCPU:total', '4', '8', 'done', ''),
        ('gpu', 'traits', '', 'CUSTOM_A', 'not known', 'no answer'),
        (f'consumer {uuid}', 'allocations', 'host (VCPU 2, DISK_GB 21)', '', 'planned', ''),
        (f'consumer {uuid}', '', '', '', 'refused', 'is a migration'),
    ]
    assert list(changes.format_change_rows(changes.CARRIED, rows, 80)) == [
        '- host',
        '~ host VCPU:total 4 → 8',
        '+ gpu traits CUSTOM_A (not known: no answer)',
        f'- consumer {uuid} allocations host (VCPU 2,',
        '    DISK_GB 21)',
        f'consumer {uuid}: refused: is a migration',
    ]


def test_a_tree_that_failed_has_a_row_after_the_parts_that_were_made():
    made, error = ChangeRow('host', 'VCPU:total', 4, 8), PlacementError('full')
    tree = TreeResult('uuid', 'host', TreeState.DONE_IN_PART, '', error, [made])
    _, rows = changes.make_results_table([tree])
    assert [row[-2:] for row in rows] == [('done', ''), ('done in part', 'full')]


def test_objects_with_the_same_outcome_are_below_it():
    rows = [
        ('consumer b', '', '', '', 'not needed', ''),
        ('consumer a', '', '', '', 'refused', 'Nova has it'),
        ('host', 'VCPU:total', '4', '8', 'planned', ''),
        *((f'consumer {n}', '', '', '', 'refused', 'Nova has it') for n in range(11)),
    ]
    assert list(changes.format_change_rows(changes.CARRIED, rows, 80)) == [
        '~ host VCPU:total 4 → 8',
        '12 refused, each because Nova has it',
        '    consumer a',
        *(f'    consumer {n}' for n in range(9)),
        '    and 2 more: --wide prints all',
        'consumer b: not needed',
    ]
