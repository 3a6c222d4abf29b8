# SPDX-License-Identifier: Apache-2.0
"""Commands that a command types: which can run beside others, and who prints what."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from placementclient.cli import shell
from placementclient.cli.batch_runner import BatchRunner, CommandOutput
from tests.unit.dialogue import get

LIST = ['resource', 'class', 'list', '-f', 'value']
CLASSES = get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}]})


@pytest.fixture
def batch_runner(session, service):
    """One that has typed a command, so that all is known of the service."""
    program = shell.Shell([], session)
    assert program.run(['nonsense']) == 2
    service.answer(CLASSES)
    batch_runner = BatchRunner(program)
    with batch_runner.redirect_streams():
        assert batch_runner.run(LIST) == CommandOutput(0, 'VCPU\n', '')
    return batch_runner


@pytest.mark.parametrize(
    ('line', 'reads'),
    [
        ('resource class list', True),
        ('resource class list -f json --sort-column name', True),
        ('resource provider show compute1 --allocations', True),
        ('allocation candidate list --resource VCPU=1', True),
        ('resource class create CUSTOM_A', False),
        ('resource provider reshape show plan.json', False),
        ('resource class list --debug', False),
        ('resource class list -vv', False),
        ('resource class list --os-placement-api-version=1.7', False),
        ('resource class list --help', False),
        ('--debug resource class list', False),
        ('resource class', False),
        ('nonsense', False),
    ],
)
def test_commands_that_only_read_run_beside_each_other(batch_runner, line, reads):
    assert batch_runner.can_run_beside_others(line.split()) is reads


def test_no_commands_run_beside_each_other_before_the_version_is_known(session, service):
    program = shell.Shell([], session)
    assert program.run(['nonsense']) == 2
    assert not BatchRunner(program).can_run_beside_others(['resource', 'class', 'list'])


def test_each_command_has_its_own_output(batch_runner, service):
    """Of those that run at the same time; one of them is wrong usage, which argparse prints."""
    service.always({'resource_classes': [{'name': 'VCPU'}]})
    lines = [LIST, [*LIST, '--nonsense'], LIST, ['trait', 'show', 'X', 'Y']]
    with batch_runner.redirect_streams(), ThreadPoolExecutor(4) as pool:
        right, wrong, again, other = pool.map(batch_runner.run_read_only, lines)
    assert right == again == CommandOutput(0, 'VCPU\n', '')
    assert (wrong.status, wrong.stdout) == (other.status, other.stdout) == (2, '')
    assert 'unrecognized arguments: --nonsense' in wrong.stderr
    assert 'unrecognized arguments: Y' in other.stderr
