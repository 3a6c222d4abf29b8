"""The service itself: what is asked of it, and what is printed."""

from __future__ import annotations

import pytest

from tests.unit.conftest import Play
from tests.unit.dialogue import URL, Case, fault, post, version_document

SHOW = 'resource api show -f value'
ALLOWED = post('/reshaper', {}, fault(400, 'JSON does not validate'), version='1.30')
FORBIDDEN = post('/reshaper', {}, fault(403, 'Policy does not allow'), version='1.30')

CASES = {
    'one document and one harmless request tell all': Case(
        SHOW, [version_document('1.39'), ALLOWED], f'{URL}\n1.0\n1.39\n1.39\nTrue\n'
    ),
    'the version in use may be lower': Case(
        SHOW,
        [version_document('1.39'), FORBIDDEN],
        f'{URL}\n1.0\n1.39\n1.5\nFalse\n',
        version='1.5',
    ),
    'a service of 1.36 is asked too': Case(
        SHOW, [version_document('1.36'), ALLOWED], f'{URL}\n1.0\n1.36\n1.36\nTrue\n'
    ),
    'a service without a reshaper is not asked for it': Case(
        SHOW, [version_document('1.29')], f'{URL}\n1.0\n1.29\n1.29\nFalse\n'
    ),
    'a service that is newer than the client is used as far as it goes': Case(
        SHOW, [version_document('1.45', '1.10'), ALLOWED], f'{URL}\n1.10\n1.45\n1.39\nTrue\n'
    ),
    'fields are named, and truth is truth in JSON': Case(
        'resource api show -f json -c reshaper_allowed -c version',
        [version_document('1.39'), FORBIDDEN],
        '{\n  "version": "1.39",\n  "reshaper_allowed": false\n}\n',
    ),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_api_show(play: Play, case: Case) -> None:
    play(case)
