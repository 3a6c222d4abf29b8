"""Resource classes: what each command sends and prints."""

from __future__ import annotations

import pytest

from tests.unit.dialogue import MONDAY, NOTHING, Case, Reply, delete, fault, get, post, put

PATH = '/resource_classes/CUSTOM_X'
SHOWN = get(PATH, Reply(200, {'name': 'CUSTOM_X', 'links': []}, {'Last-Modified': MONDAY}))

CASES = {
    'the list keeps the order of the service': Case(
        'resource class list -f value',
        [get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}, {'name': 'CUSTOM_X'}]})],
        'VCPU\nCUSTOM_X\n',
    ),
    'creation prints nothing': Case(
        'resource class create CUSTOM_X', [post('/resource_classes', {'name': 'CUSTOM_X'}, NOTHING)]
    ),
    'a class is shown as a table': Case(
        'resource class show CUSTOM_X',
        [SHOWN],
        '+-------+----------+\n'
        '| Field | Value    |\n'
        '+-------+----------+\n'
        '| name  | CUSTOM_X |\n'
        '+-------+----------+\n',
        version='1.2',
    ),
    'with --long the date is shown': Case(
        'resource class show CUSTOM_X --long -f value', [SHOWN], f'CUSTOM_X\n{MONDAY}\n'
    ),
    'set creates a class without a body': Case(
        'resource class set CUSTOM_X', [put(PATH, answer=NOTHING)], version='1.7'
    ),
    'below 1.7 set renames': Case(
        'resource class set CUSTOM_X --name CUSTOM_Y',
        [put(PATH, {'name': 'CUSTOM_Y'})],
        version='1.6',
    ),
    'below 1.7 set without a name is refused': Case(
        'resource class set CUSTOM_X',
        stderr='Operation or argument is not supported with version 1.6; '
        'requires at least version 1.7\n',
        status=1,
        version='1.6',
    ),
    'deletion prints nothing': Case('resource class delete CUSTOM_X', [delete(PATH)]),
    'a refusal is one line': Case(
        'resource class delete VCPU',
        [
            delete(
                '/resource_classes/VCPU', fault(400, 'Cannot delete standard resource class VCPU')
            )
        ],
        stderr='Cannot delete standard resource class VCPU (HTTP 400) [req-1]\n',
        status=1,
    ),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_resource_class(play, case):
    play(case)
