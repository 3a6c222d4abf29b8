# SPDX-License-Identifier: Apache-2.0
"""The completion: its scripts, and the values that are cache for it."""

import io
import os
import re
import stat
import subprocess
import time
from argparse import ArgumentParser
from pathlib import Path

import pytest

from placementclient.cli.completion import script, values
from tests.unit.commands.test_registry import every_command, name, parser_of

ASK = values._request_names


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """Return the folder of the cache; no process is started."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setattr('sys.stdin', io.StringIO())
    monkeypatch.setattr(os, 'environ', dict(os.environ))
    return tmp_path / 'cache' / 'placementclient'


@pytest.fixture(autouse=True)
def answers(monkeypatch):
    """Return the names that the service has, by kind; a kind without names gets no answer."""
    names: dict[str, list[str] | None] = {}
    monkeypatch.setattr(values, '_request_names', lambda kind, flags: names.get(kind))
    monkeypatch.setattr(values, '_renew_names_in_other_process', values._renew_names)
    return names


def _completed(capsys, *argv):
    assert values.main(list(argv)) == 0
    return capsys.readouterr().out.splitlines()


def _age(cache):
    for path in cache.iterdir():
        os.utime(path, (0, time.time() - 2 * values.FRESH_SECONDS))


@pytest.mark.parametrize(
    ('variable', 'begins'),
    [('/usr/bin/fish', '# '), ('/bin/zsh', '#compdef placement'), ('/bin/csh', '# '), ('', '# ')],
)
def test_the_shell_is_that_of_the_user(placement, monkeypatch, variable, begins):
    monkeypatch.setitem(os.environ, 'SHELL', variable)
    output = placement('complete').stdout
    assert output.startswith(begins)
    assert ('switch' in output) == variable.endswith('fish')


def test_the_syntax_is_read_off_the_parser():
    parser = ArgumentParser()
    parser.add_argument('provider', metavar='<provider>')
    parser.add_argument('traits', metavar='<trait>', nargs='*')
    parser.add_argument('--class', metavar='<resource_class>')
    parser.add_argument('--format', choices=['json', 'table'])
    parser.add_argument('--yes', action='store_true')
    parser.add_argument('--owner', metavar='<owner>')
    assert script.read_syntax(parser, 'resource provider trait add') == script.Syntax(
        {
            '-h': '',
            '--help': '',
            '--class': 'classes',
            '--format': 'words json table',
            '--yes': '',
            '--owner': 'anything',
        },
        ('providers', 'traits'),
        endless=True,
    )


@pytest.mark.parametrize(
    ('command', 'kind'),
    [
        ('trait show', 'traits'),
        ('trait create', 'anything'),
        ('resource class delete', 'classes'),
        ('resource provider list', 'providers'),
        ('resource usage show', 'anything'),
    ],
)
def test_names_that_are_completed_depend_on_the_subject(command, kind):
    parser = ArgumentParser(add_help=False)
    parser.add_argument('name', metavar='<name>')
    assert script.read_syntax(parser, command).arguments == (kind,)


@every_command
def test_every_argument_is_completed(point):
    """But for new names, and for what Placement has no list of."""
    new = {'<name>'} if name(point).endswith(' create') else set()
    for action in parser_of(point)._actions:
        if action.option_strings and not re.search('<(file|folder|host)>', str(action.metavar)):
            continue
        if action.metavar not in {'<aggregate>', '<project>', *new}:
            assert script._find_value_kind(action, name(point)) != script.ANYTHING, action.metavar


def test_a_key_press_asks_once_a_minute(answers, cache, capsys):
    answers['providers'] = ['compute1', 'compute2', 'gpu1']
    assert _completed(capsys, 'providers', 'comp') == ['compute1', 'compute2']
    answers['providers'] = ['compute3']
    assert _completed(capsys, 'providers', 'comp') == ['compute1', 'compute2']
    _age(cache)
    assert _completed(capsys, 'providers', 'comp') == ['compute3']


def test_names_that_come_too_late_are_there_at_the_next_key_press(monkeypatch, answers, capsys):
    answers['providers'] = ['compute1']
    late = []
    monkeypatch.setattr(
        values, '_renew_names_in_other_process', lambda *question: late.append(question) or []
    )
    assert _completed(capsys, 'providers', '') == []
    [question] = late
    assert values._renew_names(*question) == ['compute1']
    assert _completed(capsys, 'providers', '') == ['compute1']
    assert len(late) == 1


def test_standard_names_are_completed_without_an_answer(capsys):
    assert 'PCPU' in _completed(capsys, 'classes', 'PC')
    assert _completed(capsys, 'traits', 'HW_CPU_X86_AVX512VN') == ['HW_CPU_X86_AVX512VNNI']


def test_values_are_those_of_the_service_and_of_every_cloud(answers, capsys):
    answers['classes'] = ['CUSTOM_GOLD', 'VCPU', 'no\x1b[31mtext']
    names = _completed(capsys, 'classes', '')
    assert {'CUSTOM_GOLD', 'VCPU', 'PCPU'} < set(names)
    assert not any('\x1b' in name for name in names)
    assert _completed(capsys, 'classes', 'CUSTOM_') == ['CUSTOM_GOLD']


def test_without_an_answer_the_old_values_are_good_for_another_minute(answers, cache, capsys):
    answers['providers'] = ['compute1']
    _completed(capsys, 'providers', '')
    _age(cache)
    answers['providers'] = None
    assert _completed(capsys, 'providers', '') == ['compute1']
    answers['providers'] = ['compute2']
    assert _completed(capsys, 'providers', '') == ['compute1']


def test_a_cache_that_cannot_be_written_hides_no_values(answers, cache, capsys):
    cache.parent.write_text('no folder')
    answers['providers'] = ['compute1']
    assert _completed(capsys, 'providers', '') == ['compute1']


def test_the_cache_is_private_and_old_files_go(answers, cache, capsys):
    cache.mkdir(parents=True, mode=0o700)
    old = cache / 'old.providers'
    old.touch()
    os.utime(old, (0, 0))
    answers['providers'] = ['compute1']
    _completed(capsys, 'providers', '')
    [path] = cache.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _as_a_pipe(path):
    os.mkfifo(path)


def _as_a_link(path):
    elsewhere = path.with_name('elsewhere')
    elsewhere.write_text('planted\n')
    path.symlink_to(elsewhere)


def _with_control_characters(path):
    path.write_text('compute1\nplan\x1b[31mted\n')


@pytest.mark.parametrize('plant', [_as_a_pipe, _as_a_link, _with_control_characters])
def test_a_cache_that_is_no_plain_file_of_names_is_passed_over(answers, cache, capsys, plant):
    cache.mkdir(parents=True)
    plant(Path(values._locate_cache('providers')))
    answers['providers'] = ['compute1']
    assert _completed(capsys, 'providers', '') == ['compute1']


@pytest.mark.parametrize('variable', ['true', '0', 'false'])
@pytest.mark.parametrize(('line', 'is_typed'), [('--insecure\ntrait', True), ('trait', False)])
def test_certificates_are_verified_unless_the_command_line_says_otherwise(
    monkeypatch, variable, line, is_typed
):
    started = []
    monkeypatch.setenv('OS_INSECURE', variable)
    monkeypatch.setattr(values, '_request_names', ASK)
    monkeypatch.setattr('sys.stdin', io.StringIO(line))

    def run(argv, **_):
        started.append(argv)
        return subprocess.CompletedProcess(argv, 0, b'[]')

    monkeypatch.setattr(subprocess, 'run', run)
    assert values.main(['traits']) == 0
    assert ['--insecure' in argv for argv in started] == [is_typed]


def test_answers_of_an_unverified_server_complete_no_verified_command():
    assert values._locate_cache('traits', ['--insecure']) != values._locate_cache('traits')


def test_each_cloud_and_user_has_a_cache_of_its_own(tmp_path, monkeypatch):
    cloud = {'HOME': '/home/a', 'XDG_CACHE_HOME': str(tmp_path), 'OS_CLOUD': 'north'}
    paths = set()
    for other in (
        {},
        {'OS_CLOUD': 'south'},
        {'OS_PASSWORD': 'other'},
        {'HOME': '/home/b'},
        {'OS_PLACEMENT_API_VERSION': '1.5'},
        {'EDITOR': 'vi'},
    ):
        monkeypatch.setattr(os, 'environ', cloud | other)
        paths.add(values._locate_cache('traits'))
    assert len(paths) == 4
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'clouds.yaml').touch()
    assert values._locate_cache('traits') not in paths


@pytest.mark.parametrize(
    ('line', 'settings'),
    [
        ('', ({}, [])),
        ('--os-cloud north', ({'OS_CLOUD': 'north'}, [])),
        ('resource --os-auth-url=http://x trait', ({'OS_AUTH_URL': 'http://x'}, [])),
        ('--insecure --debug --os-cloud', ({}, ['--insecure'])),
        ('--os-password --insecure trait show --', ({'OS_PASSWORD': '--insecure'}, [])),
        ('--insecure --verify trait show', ({}, ['--insecure', '--verify'])),
        ('trait show -- --insecure', ({}, [])),
    ],
)
def test_the_command_line_says_which_cloud_it_is(line, settings):
    assert values._parse_connection_options(line.split()) == settings


@pytest.mark.parametrize('argv', [[], ['nonsense'], ['nonsense', ''], ['providers', '', '']])
def test_wrong_arguments_of_the_completion_helper_are_wrong_usage(argv):
    assert values.main(argv) == 2
