# SPDX-License-Identifier: Apache-2.0
"""Names in errors and tables: the ones that were typed, and the ones that were meant."""

import pytest

from tests.functional.clouds import uuid_of
from tests.functional.hosts import build

COMPUTE0 = uuid_of('compute0')

MISTYPED = {
    'resource provider inventory show compute0 VCPUS': (
        f'No inventory of class VCPUS for {COMPUTE0} (compute0) (HTTP 404)',
        'Did you mean "VCPU"?',
    ),
    'resource class show VCPUS': (
        'No such resource class VCPUS. (HTTP 404)',
        'Did you mean "VCPU"?',
    ),
    'trait show HW_CPU_X86_VM': (
        'HW_CPU_X86_VM. (HTTP 404)',
        'Did you mean "HW_CPU_X86_SVM" or "HW_CPU_X86_VMX"?',
    ),
    'resource provider delete compute0': (
        f'Unable to delete parent resource provider {COMPUTE0} (compute0)',
        '',
    ),
    'resource provider trait add --with-class VCPUS CUSTOM_A': (
        'No resource provider is selected: none of them has inventory of VCPUS',
        '. Did you mean "VCPU"?',
    ),
    'resource provider trait add --with-trait HW_CPU_X86_VMX CUSTOM_A': (
        'No resource provider is selected: none has the trait HW_CPU_X86_VMX',
        '',
    ),
}


@pytest.mark.parametrize('command', MISTYPED)
def test_errors_show_the_name_that_was_typed_and_the_nearest_name(client, placement, command):
    build(client)
    result = placement(command)
    beginning, end = MISTYPED[command]
    assert result.status == 1
    [message] = [line for line in result.stderr.splitlines() if beginning in line]
    assert message.endswith(end)
