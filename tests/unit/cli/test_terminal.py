# SPDX-License-Identifier: Apache-2.0
"""What others wrote reaches people as text, and programs as it is."""

import io
import json

import pytest

from placementclient.files import disk
from tests.unit.dialogue import RP, fault, get, provider

HOSTILE = 'a\x1b]0;title\x07b\x9b2Jc\rd'
READABLE = r'a\x1b]0;title\x07b\x9b2Jc\rd'
LIST = get('/resource_providers', {'resource_providers': [provider(name=HOSTILE)]})
SHOW = get(f'/resource_providers/{RP}', provider(name=HOSTILE))


@pytest.mark.parametrize(
    ('command', 'exchange'),
    [('resource provider list', LIST), (f'resource provider show {RP}', SHOW)],
    ids=['rows', 'fields'],
)
def test_tables_have_no_control_characters(placement, service, command, exchange):
    service.answer(exchange)  # type: ignore[arg-type]
    printed = placement(command).stdout
    assert READABLE in printed
    assert not set(printed) & set(HOSTILE) - set(READABLE)


@pytest.mark.parametrize('format', ['json', 'yaml', 'csv', 'value'])
def test_data_in_a_pipe_stays_as_it_is(placement, service, format):
    service.answer(LIST)
    printed = placement(f'resource provider list -c name -f {format}').stdout
    if format == 'json':
        assert json.loads(printed) == [{'name': HOSTILE}]
    elif format == 'yaml':
        assert printed == '- name: "a\\e]0;title\\ab\\x9B2Jc\\rd"\n'
    else:
        assert HOSTILE in printed


@pytest.mark.parametrize('format', ['json', 'yaml', 'csv', 'value', 'table'])
@pytest.mark.parametrize('name', [HOSTILE, 'a\u202eb', 'a\x85b'])
def test_data_on_a_terminal_has_no_control_characters(
    placement, service, monkeypatch, format, name
):
    service.answer(get('/resource_providers', {'resource_providers': [provider(name=name)]}))
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    printed = placement(f'resource provider list -c name -f {format}').stdout
    assert 'a' in printed
    assert not set(printed) & set('\x1b\x07\x9b\r\u202e\x85')


def test_log_lines_have_no_control_characters(placement, service, tmp_path):
    service.answer(fault(500, 'Broken'))
    printed = placement('--debug', 'resource', 'provider', 'list', '--name', HOSTILE).stderr
    assert not set(printed) & {'\x1b', '\x07', '\x9b', '\r'}
    service.answer(LIST)
    assert '\x1b' not in placement('--debug resource provider list -f json').stderr


@pytest.mark.parametrize(
    'words',
    [
        ('resource', 'class', 'list', HOSTILE),
        ('resource', 'provider', 'inventory', 'set', RP, '--generation', HOSTILE),
        ('--os-placement-retries', HOSTILE, 'resource', 'class', 'list'),
        (HOSTILE,),
    ],
)
def test_wrong_usage_repeats_what_it_was_given_as_text(placement, words):
    result = placement(*words)
    assert result.status == 2
    assert not set(result.stderr) & set(HOSTILE) - set(READABLE)


@pytest.mark.parametrize('is_terminal', [False, True])
def test_documents_on_a_terminal_have_no_control_characters(monkeypatch, is_terminal):
    out = io.TextIOWrapper(io.BytesIO())
    out.isatty = lambda: is_terminal  # type: ignore[method-assign]
    monkeypatch.setattr('sys.stdout', out)
    disk.write_text(disk.STANDARD, HOSTILE)
    assert out.buffer.getvalue().decode() == (READABLE if is_terminal else HOSTILE)  # type: ignore[attr-defined]


def test_a_message_on_a_terminal_is_broken_between_words_only(placement, service, monkeypatch):
    monkeypatch.setenv('COLUMNS', '40')
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    sentence = 'No provider has less than the amounts that somebody has asked for'
    service.answer(fault(400, sentence))
    lines = placement('resource provider list').stderr.splitlines()
    told = [line for line in lines if len(line) <= 40]
    assert sentence in ' '.join(told)
