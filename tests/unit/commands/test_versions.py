# SPDX-License-Identifier: Apache-2.0
"""What each command and each option needs is checked before anything is sent, and again after."""

from argparse import Namespace
from importlib.metadata import distribution

import pytest

from placementclient.cli import shell
from placementclient.cli.entry_points import load_command
from placementclient.client.microversion import LOWEST, Microversion
from tests.programs import Result
from tests.unit.commands.arguments import typed
from tests.unit.dialogue import AGG, CONSUMER, ROOT, RP, Reply, Sent, fault

COMMANDS = {
    **dict.fromkeys(
        [
            'resource class list',
            'resource class create',
            'resource class show',
            'resource class delete',
        ],
        '1.2',
    ),
    'resource class set': '1.7',
    **dict.fromkeys(['resource provider aggregate list', 'resource provider aggregate set'], '1.1'),
    **dict.fromkeys(['trait list', 'trait show', 'trait create', 'trait delete'], '1.6'),
    **dict.fromkeys(
        [f'resource provider trait {verb}' for verb in ('list', 'set', 'delete')], '1.6'
    ),
    'resource usage show': '1.9',
    'allocation candidate list': '1.10',
    'resource provider allocation unset': '1.12',
    'resource provider allocation replace': '1.13',
    'resource provider reshape submit': '1.30',
}

_LIST = 'resource provider list'
_CANDIDATES = 'allocation candidate list'
_SET = 'resource provider allocation set'

#: The option as typed behind the least arguments of its command, and its first version.
OPTIONS = [
    ('resource class show', '--long', '1.15'),
    (_LIST, f'--member-of {AGG}', '1.3'),
    (_LIST, '--resource VCPU=1', '1.4'),
    (_LIST, f'--in-tree {RP}', '1.14'),
    (_LIST, '--roots', '1.14'),
    (_LIST, '--required A', '1.18'),
    (_LIST, '--forbidden A', '1.22'),
    (_LIST, f'--forbidden-member-of {AGG}', '1.32'),
    ('resource provider create', f'--parent-provider {ROOT}', '1.14'),
    ('resource provider set', f'--parent-provider {ROOT}', '1.14'),
    ('resource provider set', '--no-parent', '1.37'),
    ('resource provider show', '--long', '1.15'),
    ('resource provider inventory set', '--aggregate', '1.3'),
    ('resource provider inventory set', f'--member-of {AGG}', '1.3'),
    ('resource provider inventory set', '--with-trait CUSTOM_X', '1.18'),
    ('resource provider inventory show', '--long', '1.15'),
    ('resource provider usage show', '--long', '1.15'),
    ('resource provider aggregate set', '--generation 0', '1.19'),
    ('resource provider allocation show', '--long', '1.15'),
    (_SET, '--generation 0', '1.28'),
    (_SET, f'--mapping 1={RP}', '1.34'),
    ('resource provider allocation unset', '--generation 0', '1.28'),
    (_CANDIDATES, '--limit 5', '1.16'),
    (_CANDIDATES, f'--aggregate-uuid {AGG}', '1.21'),
    (_LIST, f'--aggregate-uuid {AGG}', '1.3'),
    (_CANDIDATES, '--required A', '1.17'),
    (_CANDIDATES, f'--member-of {AGG}', '1.21'),
    (_CANDIDATES, '--forbidden A', '1.22'),
    (_CANDIDATES, '--group 1 --resource VGPU=1', '1.25'),
    (_CANDIDATES, f'--in-tree {RP}', '1.31'),
    (_CANDIDATES, f'--forbidden-member-of {AGG}', '1.32'),
    (_CANDIDATES, '--long', '1.34'),
    (_CANDIDATES, '--root-required A', '1.35'),
    (_CANDIDATES, '--root-forbidden A', '1.35'),
    (_CANDIDATES, '--same-subtree 1,2', '1.36'),
    ('trait show', '--long', '1.15'),
    ('resource usage show', '--long', '1.15'),
    ('resource usage show', '--consumer-type all', '1.38'),
]

#: What depends on an option's value: how it is named, and its first version.
VALUES = [
    (_LIST, '--required A,B', '--required with alternatives', '1.39'),
    (_CANDIDATES, '--required A,B', '--required with alternatives', '1.39'),
    (
        _CANDIDATES,
        '--group 1 --resource X=1 --required A,B',
        '--required with alternatives',
        '1.39',
    ),
    (_CANDIDATES, '--group _NET --resource VGPU=1', '--group with a name', '1.33'),
]

#: They stand instead of the provider.
SELECTORS = {'--with-trait', '--member-of'}
_SET_ALL = 'resource provider inventory set'

NEEDS = [
    *((typed(command), f'placement {command}', since) for command, since in COMMANDS.items()),
    *(
        (f'{command if is_selector else typed(command)} {option}', option.split()[0], since)
        for command, option, since in OPTIONS
        for is_selector in [command == _SET_ALL and option.split()[0] in SELECTORS]
    ),
    *((f'{typed(command)} {option}', what, since) for command, option, what, since in VALUES),
]
needs = pytest.mark.parametrize(('argv', 'what', 'since'), NEEDS)


def before(since):
    return f'1.{Microversion.parse(since).minor - 1}'


def registered():
    points = distribution(shell.DISTRIBUTION).entry_points.select(group=shell.COMMANDS)
    return {point.name.replace('_', ' '): load_command(point) for point in points}


def message(what, version, since, *, is_chosen=False):
    sentence = f'Operation or argument is not supported with version {version}; requires '
    option = '--os-placement-api-version (OS_PLACEMENT_API_VERSION)'
    step = f'Next: Leave out {option}, or give {since}\n' if is_chosen else ''
    return f'{what}: {sentence}at least version {since}\n{step}'


@needs
def test_with_a_version_too_low_nothing_is_sent(placement, service, argv, what, since):
    low = before(since)
    assert placement(argv, version=low) == Result(1, '', message(what, low, since, is_chosen=True))
    assert service.requests == []


@needs
def test_with_a_service_too_old_nothing_is_carried_out(placement, service, argv, what, since):
    low = before(since)
    service.knows_up_to(low)
    result = placement(argv.replace('--consumer-type INSTANCE', ''))
    assert (result.status, result.stdout) == (1, '')
    # A notice may stand before.
    assert result.stderr.endswith(message(what, low, since))
    # All but the version document was refused, and nothing was asked twice.
    lines = [request.line for request in service.requests]
    assert len(lines) <= 2
    assert lines[-1] == 'GET /'


@needs
def test_the_first_version_of_an_option_suffices(placement, service, argv, what, since):
    service.answer(fault(500, 'Reached'))
    result = placement(argv, version=since)
    assert 'is not supported' not in result.stderr
    assert {request.version for request in service.requests} <= {since}


_PREFIX = 'resource provider allocation'
_OWNER = '--project-id p --user-id u'


@pytest.mark.parametrize(
    'argv',
    [
        f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1 {_OWNER}',
        f'{_PREFIX} claim {CONSUMER} --resource VCPU=1 {_OWNER}',
        f'{_PREFIX} transfer {CONSUMER} --to-consumer {ROOT}',
    ],
)
def test_a_type_of_consumer_is_refused_where_the_service_stores_none(placement, service, argv):
    service.knows_up_to('1.37')
    result = placement(f'{argv} --consumer-type MIGRATION')
    assert result == Result(1, '', message('--consumer-type', '1.37', '1.38'))
    assert {request.line.split()[0] for request in service.requests} == {'GET'}


def test_every_option_that_needs_a_version_is_tested():
    declared = {
        (command, option.flags[-1], str(option.since))
        for command, loaded in registered().items()
        for option in loaded.options
        if loaded.endpoint and option.since > loaded.endpoint.since
    }
    assert declared == {(command, option.split()[0], since) for command, option, since in OPTIONS}


def test_every_command_that_needs_a_version_is_tested():
    declared = {}
    for command, loaded in registered().items():
        plain = loaded(None, None)
        plain.args = Namespace(new_name=None)
        if loaded.endpoint and plain.find_lowest_version() > LOWEST:
            declared[command] = str(plain.find_lowest_version())
    assert declared == COMMANDS


REQUIRED = [
    (f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1', '1.8', '--project-id, --user-id'),
    (f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1', '1', '--project-id, --user-id'),
    (
        f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1',
        '1.38',
        '--project-id, --user-id, --consumer-type',
    ),
    (
        f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1 --project-id p --user-id u',
        '1.39',
        '--consumer-type',
    ),
    (f'resource provider inventory delete {RP}', '1.4', '--resource-class'),
]


@pytest.mark.parametrize(('argv', 'version', 'missing'), REQUIRED)
def test_options_that_a_version_requires_are_required(placement, service, argv, version, missing):
    result = placement(argv, version=version)
    assert (result.status, result.stdout) == (2, '')
    message, usage = result.stderr.splitlines()
    assert message.startswith('placement resource provider ')
    assert f': error: the following arguments are required: {missing}. --' in message
    assert '. Example: ' in message
    assert usage.startswith('usage: placement resource provider ')
    assert service.requests == []


@pytest.mark.parametrize(
    ('argv', 'version'),
    [
        (f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1', '1.7'),
        (f'{_SET} {CONSUMER} --allocation rp={RP},VCPU=1 --project-id p --user-id u', '1'),
        (f'resource provider inventory delete {RP}', '1.5'),
    ],
)
def test_options_that_a_version_does_not_require_may_be_left_out(placement, service, argv, version):
    service.answer(fault(400, 'Reached'))
    assert placement(argv, version=version).stderr == 'Reached (HTTP 400) [req-1]\n'


def test_a_class_is_renamed_where_the_version_can(placement, service):
    service.answer(Reply(200, {'name': 'CUSTOM_Y', 'links': []}))
    result = placement('resource class set CUSTOM_X --name CUSTOM_Y', version='1.6')
    assert (result.status, service.requests) == (
        0,
        [Sent('PUT /resource_classes/CUSTOM_X', '1.6', {'name': 'CUSTOM_Y'})],
    )


@pytest.mark.parametrize('version', ['1.7', '1.20', '1.39', '1'])
def test_an_option_that_a_later_version_removed_is_refused(placement, service, version):
    low = '1.39' if version == '1' else version
    assert placement('resource class set CUSTOM_X --name CUSTOM_Y', version=version) == Result(
        1,
        '',
        f'--name: Operation or argument is not supported with version {low}; '
        'requires at most version 1.6\nNext: Type --os-placement-api-version 1.6\n',
    )
    assert service.requests == []
