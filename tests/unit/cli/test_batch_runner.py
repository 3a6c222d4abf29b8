"""Commands that a command types: which can run beside others, and who prints what."""

from __future__ import annotations

import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

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
    batch_runner: BatchRunner = program.batch_runner
    with batch_runner.running():
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
def test_what_can_run_beside_others(batch_runner, line, reads):
    assert batch_runner.only_reads(line.split()) is reads


def test_nothing_can_before_the_version_is_known(session, service):
    program = shell.Shell([], session)
    assert program.run(['nonsense']) == 2
    assert not program.batch_runner.only_reads(['resource', 'class', 'list'])


def test_each_has_what_it_prints_itself(batch_runner, service):
    """Of those that run at the same time; one of them is wrong usage, which argparse prints."""
    service.always({'resource_classes': [{'name': 'VCPU'}]})
    lines = [LIST, [*LIST, '--nonsense'], LIST, ['trait', 'show', 'X', 'Y']]
    with batch_runner.running(), ThreadPoolExecutor(4) as pool:
        right, wrong, again, other = pool.map(batch_runner.read, lines)
    assert right == again == CommandOutput(0, 'VCPU\n', '')
    assert (wrong.status, wrong.stdout) == (other.status, other.stdout) == (2, '')
    assert 'unrecognized arguments: --nonsense' in wrong.stderr
    assert 'unrecognized arguments: Y' in other.stderr


def test_a_thread_prints_where_it_says(batch_runner, capsys):
    both = Barrier(2, timeout=30)

    def work(text):
        both.wait()
        print(text)
        both.wait()
        print(text, file=sys.stderr)
        return len(text)

    with batch_runner.running(), ThreadPoolExecutor(2) as pool:
        typed = pool.map(lambda text: batch_runner._output_of(lambda: work(text)), ['one', 'three'])
        assert list(typed) == [
            CommandOutput(3, 'one\n', 'one\n'),
            CommandOutput(5, 'three\n', 'three\n'),
        ]
    print('the program')
    assert capsys.readouterr().out.endswith('the program\n')


def test_the_options_of_a_command_are_forgotten(batch_runner, service):
    service.answer(CLASSES)
    with batch_runner.running():
        assert 'GET' in batch_runner.run(['--debug', *LIST]).stderr
    assert isinstance(batch_runner._shell.options, Namespace)
    assert not batch_runner._shell.options.debug
