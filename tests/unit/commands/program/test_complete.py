"""The completion: its scripts, and the values that are cache for it."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import subprocess
import time
from argparse import ArgumentParser
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from placementclient.completion import script, tables, values
from tests.unit.commands.test_registry import every_command, name, parser_of
from tests.unit.conftest import Placement

RENEW_ELSEWHERE = values.ValueCache.renew_elsewhere


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where values are cache; nothing is started and nothing waited for."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setattr('sys.stdin', io.StringIO())
    monkeypatch.setattr(values, 'KEY_PRESS_TIMEOUT', 0)
    monkeypatch.setattr(os, 'environ', dict(os.environ))
    monkeypatch.setattr(values.ValueCache, 'renew_elsewhere', lambda cache: None)
    return tmp_path / 'cache' / 'placementclient'


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that are started; none of them really is."""
    started: list[list[str]] = []
    monkeypatch.setattr(values.ValueCache, 'renew_elsewhere', RENEW_ELSEWHERE)
    monkeypatch.setattr('subprocess.Popen', lambda argv, **_: started.append(argv))
    return started


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str] | None]:
    """What the service has, by kind."""
    has: dict[str, list[str] | None] = {}
    monkeypatch.setattr(values, '_ask', lambda kind: has.get(kind))
    return has


@pytest.mark.slow
@pytest.mark.parametrize('shell', script.SHELLS)
def test_a_script_knows_every_command_and_option(placement: Placement, shell: str) -> None:
    result = placement('complete', shell)
    assert (result.status, result.stderr) == (0, '')
    for word in ('resource provider inventory', 'batch', '--keep-going', '--debug', 'yaml'):
        assert word in result.stdout
    assert '--os-placement-default-roles' not in result.stdout


@pytest.mark.parametrize(
    ('variable', 'begins'),
    [('/usr/bin/fish', '# '), ('/bin/zsh', '#compdef placement'), ('/bin/csh', '# '), ('', '# ')],
)
def test_the_shell_is_that_of_the_user(
    placement: Placement, monkeypatch: pytest.MonkeyPatch, variable: str, begins: str
) -> None:
    monkeypatch.setitem(os.environ, 'SHELL', variable)
    output = placement('complete').stdout
    assert output.startswith(begins)
    assert ('switch' in output) == variable.endswith('fish')


def test_bash_reads_the_script(placement: Placement) -> None:
    bash = shutil.which('bash')
    assert bash
    text = placement('complete', 'bash').stdout
    assert subprocess.run([bash, '-n'], input=text, text=True, timeout=60).returncode == 0


def test_the_syntax_is_read_off_the_parser() -> None:
    parser = ArgumentParser()
    parser.add_argument('provider', metavar='<provider>')
    parser.add_argument('traits', metavar='<trait>', nargs='*')
    parser.add_argument('--class', metavar='<resource_class>')
    parser.add_argument('--format', choices=['json', 'table'])
    parser.add_argument('--yes', action='store_true')
    parser.add_argument('--owner', metavar='<owner>')
    assert tables.syntax(parser, 'resource provider trait add') == tables.Syntax(
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
def test_what_is_named_depends_on_the_subject(command: str, kind: str) -> None:
    parser = ArgumentParser(add_help=False)
    parser.add_argument('name', metavar='<name>')
    assert tables.syntax(parser, command).arguments == (kind,)


@every_command
def test_every_argument_is_completed(point: EntryPoint) -> None:
    """But for new names, and for what Placement has no list of."""
    new = {'<name>'} if name(point).endswith(' create') else set()
    for action in parser_of(point)._actions:
        if action.option_strings and not re.search('<(file|folder|host)>', str(action.metavar)):
            continue
        if action.metavar not in {'<aggregate>', '<project>', *new}:
            assert tables._kind(action, name(point)) != tables.ANYTHING, action.metavar


def test_what_was_never_known_is_asked_for_elsewhere(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert values.main(['providers', '']) == 0
    assert capsys.readouterr().out == ''
    assert started[0][-3:] == ['--values', '--renew', 'providers']


def test_standard_names_need_no_answer(
    started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert values.main(['classes', 'PC']) == 0
    assert 'PCPU' in capsys.readouterr().out.split()
    assert started[0][-1] == 'classes'


def test_values_are_those_of_the_service_and_of_every_cloud(
    answers: dict[str, list[str] | None], capsys: pytest.CaptureFixture[str]
) -> None:
    answers['classes'] = ['CUSTOM_GOLD', 'VCPU', 'no\x1b[31mtext']
    values.main(['--renew', 'classes'])
    values.main(['classes', ''])
    names = capsys.readouterr().out.split('\n')
    assert {'CUSTOM_GOLD', 'VCPU', 'PCPU'} < set(names)
    assert not any('\x1b' in name for name in names)
    values.main(['classes', 'CUSTOM_'])
    assert capsys.readouterr().out == 'CUSTOM_GOLD\n'


def test_a_service_that_does_not_answer_leaves_what_was_known(
    answers: dict[str, list[str] | None], capsys: pytest.CaptureFixture[str]
) -> None:
    answers['providers'] = ['compute1']
    values.main(['--renew', 'providers'])
    answers['providers'] = None
    values.main(['--renew', 'providers'])
    values.main(['providers', ''])
    assert capsys.readouterr().out == 'compute1\n'
    values.main(['--renew', 'traits'])
    values.main(['traits', 'HW_CPU_X86_AVX512VN'])
    assert capsys.readouterr().out == 'HW_CPU_X86_AVX512VNNI\n'


def test_old_values_are_printed_and_renewed_elsewhere(
    answers: dict[str, list[str] | None],
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    started: list[list[str]],
) -> None:
    answers['providers'] = ['compute1']
    values.main(['--renew', 'providers'])
    values.main(['providers', ''])
    assert not started
    (cache,) = cache.glob('*.providers')
    os.utime(cache, (0, time.time() - 2 * values.FRESH))
    values.main(['providers', ''])
    assert len(started) == 1
    assert capsys.readouterr().out == 'compute1\n' * 2


def test_only_one_process_renews(
    answers: dict[str, list[str] | None], started: list[list[str]]
) -> None:
    cache = values.ValueCache('providers', os.environ)
    with cache._alone():
        cache.renew_elsewhere()
        cache.renew()
    assert not started
    assert not cache.exists()


def test_what_is_kept_is_private_and_forgotten_in_time(
    answers: dict[str, list[str] | None], cache: Path
) -> None:
    cache.mkdir(parents=True, mode=0o700)
    old = cache / 'old.providers'
    old.touch()
    os.utime(old, (0, 0))
    answers['providers'] = ['compute1']
    values.main(['--renew', 'providers'])
    assert not old.exists()
    for path in cache.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_each_cloud_and_user_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = {'HOME': '/home/a', 'XDG_CACHE_HOME': str(tmp_path), 'OS_CLOUD': 'north'}
    paths = {
        values.ValueCache('traits', cloud | other)._path
        for other in (
            {},
            {'OS_CLOUD': 'south'},
            {'OS_PASSWORD': 'other'},
            {'HOME': '/home/b'},
            {'OS_PLACEMENT_API_VERSION': '1.5'},
            {'EDITOR': 'vi'},
        )
    }
    assert len(paths) == 4
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'clouds.yaml').touch()
    assert values.ValueCache('traits', cloud)._path not in paths


@pytest.mark.parametrize(
    ('line', 'settings'),
    [
        ('', {}),
        ('--os-cloud north', {'OS_CLOUD': 'north'}),
        ('resource --os-auth-url=http://x trait', {'OS_AUTH_URL': 'http://x'}),
        ('--insecure --debug --os-cloud', {'OS_INSECURE': 'true'}),
    ],
)
def test_the_command_line_says_which_cloud_it_is(line: str, settings: dict[str, str]) -> None:
    assert values._settings(line.split()) == settings


@pytest.mark.parametrize('argv', [[], ['providers'], ['nonsense', ''], ['--renew', 'nonsense']])
def test_it_is_not_for_typing(argv: list[str]) -> None:
    assert values.main(argv) == 2
