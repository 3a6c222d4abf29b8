# SPDX-License-Identifier: Apache-2.0
"""Usages: what each command sends and prints."""

import pytest

from tests.unit.dialogue import MONDAY, RP, Case, Reply, get, unacceptable, version_document

USED = {'usages': {'VCPU': 3, 'DISK_GB': 10}, 'resource_provider_generation': 7}
#: The service puts the count behind the first class.
BY_TYPE = {'usages': {'INSTANCE': {'VCPU': 3, 'consumer_count': 2, 'DISK_GB': 10}}}
ROWS = 'VCPU 3\nDISK_GB 10\n'


CASES = {
    'with --long each row has the date': Case(
        f'resource provider usage show {RP} --long -f value',
        [get(f'/resource_providers/{RP}/usages', Reply(200, USED, {'Last-Modified': MONDAY}))],
        f'VCPU 3 {MONDAY}\nDISK_GB 10 {MONDAY}\n',
    ),
    'where the version is left open it is the table of 1.37': Case(
        'resource usage show p -f value', [get('/usages?project_id=p', USED, version='1.37')], ROWS
    ),
    'an older service is asked at its highest': Case(
        'resource usage show p -f value',
        [
            unacceptable(get('/usages?project_id=p', version='1.37')),
            version_document('1.20'),
            get('/usages?project_id=p', USED, version='1.20'),
        ],
        ROWS,
    ),
    'with a type there is a row for each class, with the count': Case(
        'resource usage show p --consumer-type INSTANCE -f value',
        [get('/usages?project_id=p&consumer_type=INSTANCE', BY_TYPE)],
        'INSTANCE 2 VCPU 3\nINSTANCE 2 DISK_GB 10\n',
        version='1.39',
    ),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_usage_commands_send_and_print(play, case):
    play(case)
