# SPDX-License-Identifier: Apache-2.0
"""The least that each command takes; what stands in a path is a field."""

from tests.unit.dialogue import CONSUMER, RP

ARGUMENTS = {
    'resource api show': '',
    'resource class list': '',
    'resource class create': 'CUSTOM_X',
    'resource class show': '{resource_class}',
    'resource class set': '{resource_class}',
    'resource class delete': '{resource_class}',
    'resource provider list': '',
    'resource provider create': 'compute1',
    'resource provider show': '{provider}',
    'resource provider set': '{provider} --name compute2',
    'resource provider delete': '{provider}',
    'resource provider inventory list': '{provider}',
    'resource provider inventory show': '{provider} {resource_class}',
    'resource provider inventory class create': '{provider} CUSTOM_X --total 1',
    'resource provider inventory class set': '{provider} {resource_class} --total 1',
    'resource provider inventory set': '{provider}',
    'resource provider inventory delete': '{provider} --resource-class {resource_class}',
    'resource provider usage show': '{provider}',
    'resource provider aggregate list': '{provider}',
    'resource provider aggregate set': '{provider}',
    'resource provider trait list': '{provider}',
    'resource provider trait set': '{provider}',
    'resource provider trait delete': '{provider}',
    'resource provider allocation list': '{provider}',
    'resource provider allocation show': '{consumer}',
    'resource provider allocation set': f'{{consumer}} --allocation rp={RP},VCPU=1 '
    '--project-id p --user-id u --consumer-type INSTANCE',
    'resource provider allocation unset': '{consumer}',
    'resource provider allocation delete': '{consumer}',
    'resource provider allocation replace': '--file -',
    'resource provider reshape submit': '--file -',
    'allocation candidate list': '--resource VCPU=1',
    'trait list': '',
    'trait show': '{trait}',
    'trait create': '{trait}',
    'trait delete': '{trait}',
    'resource usage show': 'p',
}
#: Sound parts of a path.
PARTS = {'provider': RP, 'consumer': CONSUMER, 'resource_class': 'CUSTOM_X', 'trait': 'CUSTOM_X'}


def typed(command):
    """A command with the least that it takes."""
    return f'{command} {ARGUMENTS[command]}'.format_map(PARTS).strip()
