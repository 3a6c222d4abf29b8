"""Commands that a command types: which can run beside others, and who prints what."""

from __future__ import annotations

import sys
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from keystoneauth1.session import Session

from placementclient.cli import shell
from placementclient.cli.typist import Typed, Typist
from tests.unit.conftest import Service
from tests.unit.dialogue import get

LIST = ['resource', 'class', 'list', '-f', 'value']
CLASSES = get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}]})


@pytest.fixture
def typist(session: Session, service: Service) -> Typist:
    """One that has typed a command, so that all is known of the service."""
    program = shell.Shell([], session)
    assert program.run(['nonsense']) == 2
    service.answer(CLASSES)
    typist: Typist = program.typist
    with typist.typing():
        assert typist.type(LIST) == Typed(0, 'VCPU\n', '')
    return typist


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
def test_what_can_run_beside_others(typist: Typist, line: str, reads: bool) -> None:
    assert typist.only_reads(line.split()) is reads


def test_nothing_can_before_the_version_is_known(session: Session, service: Service) -> None:
    program = shell.Shell([], session)
    assert program.run(['nonsense']) == 2
    assert not program.typist.only_reads(['resource', 'class', 'list'])


def test_each_has_what_it_prints_itself(typist: Typist, service: Service) -> None:
    """Of those that run at the same time; one of them is wrong usage, which argparse prints."""
    service.always({'resource_classes': [{'name': 'VCPU'}]})
    lines = [LIST, [*LIST, '--nonsense'], LIST, ['trait', 'show', 'X', 'Y']]
    with typist.typing(), ThreadPoolExecutor(4) as pool:
        right, wrong, again, other = pool.map(typist.read, lines)
    assert right == again == Typed(0, 'VCPU\n', '')
    assert (wrong.status, wrong.stdout) == (other.status, other.stdout) == (2, '')
    assert 'unrecognized arguments: --nonsense' in wrong.stderr
    assert 'unrecognized arguments: Y' in other.stderr


def test_a_thread_prints_where_it_says(typist: Typist, capsys: pytest.CaptureFixture[str]) -> None:
    both = Barrier(2, timeout=30)

    def work(text: str) -> int:
        both.wait()
        print(text)
        both.wait()
        print(text, file=sys.stderr)
        return len(text)

    with typist.typing(), ThreadPoolExecutor(2) as pool:
        typed = pool.map(lambda text: typist._typed(lambda: work(text)), ['one', 'three'])
        assert list(typed) == [Typed(3, 'one\n', 'one\n'), Typed(5, 'three\n', 'three\n')]
    print('the program')
    assert capsys.readouterr().out.endswith('the program\n')


def test_the_options_of_a_command_are_forgotten(typist: Typist, service: Service) -> None:
    service.answer(CLASSES)
    with typist.typing():
        assert 'GET' in typist.type(['--debug', *LIST]).stderr
    assert isinstance(typist._shell.options, Namespace)
    assert not typist._shell.options.debug
