# SPDX-License-Identifier: Apache-2.0
"""A signal while a change is under way: what is told of it, and the exit status."""

import io
import os
import signal
from contextlib import suppress

import pytest
from openstackclient.shell import OpenStackShell

from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.client.sent_changes import SentChange
from tests.programs import Result
from tests.unit.commands.arguments import ARGUMENTS, typed
from tests.unit.commands.test_hostile_arguments import everything
from tests.unit.dialogue import RP, URL, Reply, fault, provider

#: Commands that change something, but those that read their requests from a file.
CHANGES = [
    command
    for command, arguments in ARGUMENTS.items()
    if command.split()[-1] in ('create', 'set', 'unset', 'delete') and '--file' not in arguments
]
CREATE = f'resource provider create compute1 --uuid {RP}'
CONSUMER = {'consumer_type': 'INSTANCE', 'consumer_generation': 1}
VERSIONS = {'versions': [{'min_version': '1.0', 'max_version': '1.39'}]}
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def ended_by(monkeypatch):
    """Have a signal come when the service has carried a change out, before its answer is read."""

    def end(number):
        sent: list[str] = []
        send = Client._send_once

        def stopped(client, endpoint, path, *rest):
            response = send(client, endpoint, path, *rest)
            if not endpoint.is_read:
                sent.append(f'{endpoint.method} {path}')
                os.kill(os.getpid(), number)
            return response

        monkeypatch.setattr(Client, '_send_once', stopped)
        return sent

    return end


@pytest.mark.parametrize('number', SIGNALS)
@pytest.mark.parametrize('command', CHANGES)
def test_an_interrupt_names_a_change_without_an_answer(
    placement, service, ended_by, command, number
):
    allocated = {'allocations': {RP: {'generation': 1, 'resources': {'VCPU': 1}}}}
    service.always(everything('compute1') | CONSUMER | allocated | VERSIONS)
    sent = ended_by(number)
    generation = ' --generation 7' if command.endswith('aggregate set') else ''
    result = placement(typed(command) + generation)
    assert len(sent) == 1, result
    message = f'Interrupted: whether {sent[0]} was done is not known\n'
    assert result == Result(130, '', message)


def test_an_error_after_a_change_names_the_change(placement, service):
    allocated = {'allocations': {RP: {'generation': 1, 'resources': {'VCPU': 1}}}}
    owner = {'project_id': 'p', 'user_id': 'u'}
    service.answer(Reply(200, allocated | CONSUMER | owner), Reply(204), fault(403, 'Not allowed'))
    result = placement(f'resource provider allocation unset {RP}')
    notice = f'Before this error: the last change, PUT /allocations/{RP}, was done\n'
    refusal = 'Not allowed. The default policy requires the role admin or service'
    assert result == Result(1, '', f'{refusal} (HTTP 403) [req-1]\n{notice}')


@pytest.mark.parametrize('answer', [{'hello': 1}, {'uuid': RP}])
def test_a_change_that_a_proxy_has_answered_is_not_called_done(placement, service, answer):
    service.answer(Reply(200, answer))
    result = placement(CREATE)
    unknown = 'is not Placement; it is unknown whether it was done. The URL '
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 1)
    assert unknown in result.stderr


def test_an_error_after_a_lost_answer_names_the_change(placement, service):
    """Another client has changed the consumer before it is looked at again."""
    candidates = {
        'allocation_requests': [{'allocations': {RP: {'resources': {'VCPU': 2}}}}],
        'provider_summaries': {RP: {'resources': {'VCPU': {'capacity': 8, 'used': 0}}}},
    }
    nothing = {'allocations': {}}
    others = {'allocations': {RP: {'generation': 1, 'resources': {'VCPU': 1}}}} | CONSUMER
    look = Reply(200, others)
    service.answer(Reply(200, candidates), Reply(200, nothing), Reply(504), *[look] * 3)
    result = placement(
        f'resource provider allocation claim {RP} --resource VCPU=2 --project-id p --user-id u'
    )
    notice = f'Before this error: whether PUT /allocations/{RP} was done is not known\n'
    assert result == Result(1, '', f'Consumer {RP} holds something already\n{notice}')


@pytest.mark.parametrize('number', SIGNALS)
def test_openstackclient_names_the_change_at_an_interrupt(
    service, ended_by, monkeypatch, capsys, number
):
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', URL)
    service.always({})
    (message,) = {*ended_by(number), 'POST /resource_providers'}
    assert OpenStackShell().run(CREATE.split()) == 130
    assert f'Interrupted: whether {message} was done is not known\n' in capsys.readouterr().err


@pytest.mark.parametrize('number', SIGNALS)
def test_an_interrupt_names_the_last_change(placement, service, monkeypatch, number):
    service.always(provider(uuid=RP))
    monkeypatch.setattr(
        'cliff.show.ShowOne.produce_output', lambda *_: os.kill(os.getpid(), number)
    )
    message = 'Interrupted: the last change, POST /resource_providers, was done\n'
    assert placement(CREATE) == Result(130, '', message)


@pytest.mark.parametrize('number', SIGNALS)
def test_an_interrupt_without_a_change_prints_one_word(placement, service, monkeypatch, number):
    monkeypatch.setattr(Client, '_send_once', lambda *_: os.kill(os.getpid(), number))
    assert placement('trait list') == Result(130, '', 'Interrupted\n')


def test_an_interrupt_names_no_refused_change(client, service):
    service.answer(Reply(204), fault(404, 'No such trait'))
    for name in ('CUSTOM_A', 'CUSTOM_B'):
        with suppress(errors.NotFound):
            client.send(endpoints.DELETE_TRAIT, trait=name)
    assert client.last_change == SentChange('DELETE /traits/CUSTOM_A', is_done=True)


@pytest.mark.parametrize('number', SIGNALS)
def test_an_interrupt_ends_a_batch_and_names_the_command(
    placement, service, ended_by, monkeypatch, number
):
    service.always({'traits': []})
    ended_by(number)
    lines = b'trait list -f value\ntrait create CUSTOM_A\ntrait list\n'
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(lines)))
    result = placement('batch', '--keep-going')
    assert result.status == 130
    assert result.stdout.endswith('# line 2, exit status 130: trait create CUSTOM_A\n')
    assert result.stderr == (
        'Interrupted: whether PUT /traits/CUSTOM_A was done is not known\n'
        '1 done, 1 failed: line 2 (exit 130)\n'
    )


def test_the_signal_handler_of_another_program_stays(placement, service, ended_by):
    service.always({})
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        ended_by(signal.SIGTERM)
        assert placement('trait create CUSTOM_A').status == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
