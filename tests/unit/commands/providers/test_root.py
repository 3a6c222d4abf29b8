# SPDX-License-Identifier: Apache-2.0
"""The service itself: what is asked of it, and what is printed."""

import pytest

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
    'a service without a reshaper is not asked for it': Case(
        SHOW, [version_document('1.29')], f'{URL}\n1.0\n1.29\n1.29\nFalse\n'
    ),
    'a service that is newer than the client is used as far as it goes': Case(
        SHOW, [version_document('1.45', '1.10'), ALLOWED], f'{URL}\n1.10\n1.45\n1.39\nTrue\n'
    ),
}

CHECK = 'resource api check -f value'
PARTS = (
    'reshape 1.30 {0} {1}\ntypes of consumers 1.38 {0} {2}\nany of several traits 1.39 {0} {2}\n'
)
MISSING = 'Missing, but not needed for the release: '
CHECKS = {
    'a service of today has all': Case(
        CHECK,
        [version_document('1.39'), ALLOWED],
        f'Nova 2026.2 1.36 1.39 True\n{PARTS.format("1.39", True, True)}'
        'reshape as this user role service role service True\n',
    ),
    'a user may lack the role': Case(
        f'{CHECK} --for zed',
        [version_document('1.39'), FORBIDDEN],
        f'Nova zed 1.36 1.39 True\n{PARTS.format("1.39", True, True)}'
        'reshape as this user role service no False\n',
        f'{MISSING}reshape as this user\n',
    ),
    'an old service is asked for no reshape': Case(
        f'{CHECK} --for 18.3.0',
        [version_document('1.28')],
        f'Nova rocky 1.28 1.28 True\n{PARTS.format("1.28", False, False)}',
        f'{MISSING}reshape, types of consumers, any of several traits\n',
    ),
    'a service that the release cannot use': Case(
        f'{CHECK} --for 2025.1',
        [version_document('1.29')],
        f'Nova 2025.1 1.36 1.29 False\n{PARTS.format("1.29", False, False)}',
        'the service is too old for the release (exit 3)\n',
        status=3,
    ),
    'a microversion is a need too': Case(
        f'{CHECK} --for 1.31',
        [version_document('1.36'), ALLOWED],
        f'microversion 1.31 1.36 True\n{PARTS.format("1.36", True, False)}'
        'reshape as this user role service role service True\n',
        f'{MISSING}types of consumers, any of several traits\n',
    ),
}


@pytest.mark.parametrize('case', CHECKS.values(), ids=CHECKS)
def test_api_check_tests_the_needs_of_a_release(play, case):
    play(case)


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_api_show_prints_versions_and_role(play, case):
    play(case)
