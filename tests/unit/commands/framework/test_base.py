# SPDX-License-Identifier: Apache-2.0
"""What commands share: statuses, questions."""

import io
from argparse import Namespace
from types import SimpleNamespace

import pytest

from placementclient.basis.errors import (
    BadArgument,
    Differs,
    ExitStatus,
    PlacementError,
    UsageError,
)
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.commands.framework import base
from tests.unit.dialogue import get


class Ending(base.PlacementCommand):
    """End as it is told."""

    auth_required = False

    def execute(self):
        if isinstance(self.args.how, Exception):
            raise self.args.how
        self.exit_status = self.args.how


def ending(**app):
    options = SimpleNamespace(debug=False)
    app = {'stdout': io.StringIO(), 'stderr': io.StringIO(), **app}
    command = Ending(SimpleNamespace(options=options, **app), options)
    command.get_parser('ending')
    return command


@pytest.mark.parametrize(
    ('how', 'debug', 'has_error_answer', 'is_logged'),
    [
        (ExitStatus.DONE, False, True, False),
        (ExitStatus.PARTIAL, False, True, True),
        (ExitStatus.PARTIAL, False, False, False),
        (ExitStatus.DONE, True, False, True),
    ],
)
def test_an_error_answer_of_the_service_and_debug_name_the_request_id(
    how, debug, has_error_answer, is_logged, caplog
):
    command = ending()
    command.app.options.debug, command.ending = debug, '1 failed'
    vars(command)['client'] = client = Client(None)
    client.has_error_answer = has_error_answer
    command.run(Namespace(how=how))
    sentence = f"In Placement's log, search for {client.global_request_id}"
    assert (caplog.messages[-1] == sentence) == is_logged


@pytest.mark.parametrize(
    'failure',
    [
        Differs('x'),
        UsageError('x'),
        BadArgument('x'),
        errors.ServerError(500, 'x'),
    ],
    ids=repr,
)
def test_a_command_ends_with_the_status_of_what_it_raises(failure):
    assert ending().run(Namespace(how=failure)) == failure.exit_status


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize('answer', ['y\n', 'Y\n', 'yes\n', ' YES \n'])
def test_confirmation_accepts_yes(answer):
    stderr = io.StringIO()
    ending(stdin=Terminal(answer), stderr=stderr).confirm('Delete?')
    assert stderr.getvalue() == 'Delete? [y/N] '


@pytest.mark.parametrize('answer', ['', '\n', 'n\n', 'yess\n', 'ja\n'])
def test_confirmation_refuses_any_answer_but_yes(answer):
    command = ending(stdin=Terminal(answer), stderr=io.StringIO())
    with pytest.raises(PlacementError, match=r'^Nothing was done$'):
        command.confirm('Delete?')


@pytest.mark.parametrize(
    ('program', 'stderr', 'is_logged'),
    [
        ({'parsers': {}, 'parser': None}, io.StringIO, True),
        ({}, Terminal, True),
        ({}, io.StringIO, False),
    ],
    ids=['placement', 'openstack on a terminal', 'openstack in a script'],
)
def test_hints_are_not_printed_for_scripts_of_openstackclient(
    program, stderr, is_logged, monkeypatch
):
    command, messages = ending(stderr=stderr(), **program), list[str]()
    monkeypatch.setattr(command, 'log', SimpleNamespace(warning=messages.append))
    command.log_hint('Nothing matches')
    assert messages == ['Nothing matches'] * is_logged


def test_without_a_terminal_a_command_needs_yes():
    stderr = io.StringIO()
    command = ending(stdin=io.StringIO('y\n'), stderr=stderr)
    with pytest.raises(
        UsageError, match=r'^Delete\? This is not a terminal: use --yes to confirm$'
    ):
        command.confirm('Delete?')
    assert stderr.getvalue() == ''


def test_suggestions_for_one_mistake_are_requested_once(client, service, caplog):
    service.answer(get('/traits', {'traits': ['CUSTOM_A40']}))
    command = ending()
    command.args = Namespace()
    vars(command)['client'] = client
    for _ in range(3):
        command.log_failure(errors.BadRequest(400, 'No such trait CUSTOM_A41'))
    assert len(service.requests) == 1
    assert ['Did you mean "CUSTOM_A40"?' in line for line in caplog.messages] == [True] * 3
