# SPDX-License-Identifier: Apache-2.0
"""Completion as a user meets it: in each shell, with names of a service over HTTP."""

import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from placementclient.cli.completion import values
from tests.functional.keyboard import terminal
from tests.numbers import few_quick

BIN = Path(sys.executable).parent
#: .ci/run names them all, and installs what is missing; elsewhere those that there are.
SHELLS = os.environ.get('SHELLS_TO_TEST', '').split() or [
    'bash',
    *(shell for shell in ('zsh', 'fish') if shutil.which(shell)),
]
NAME = 'host-of-the-completion'
#: How each shell is asked for the candidates of a line, without a key press.
ASK = {
    'bash': 'source {script}; COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; _placement placement; '
    'printf "%s\\n" "${{COMPREPLY[@]}}"',
    'zsh': 'compdef() {{ }}; source {script}; line={line}; words=("${{(@s: :)line}}"); '
    '_placement_as_sh $words[1] "$words[-1]" "${{(@)words[2,-2]}}"',
    'fish': 'source {script}; complete -C {line} | string replace -r "\\t.*" ""',
}

#: The beginnings of lines, and the words that a shell offers.
OFFERED: list[tuple[str, set[str]]] = [
    ('placement tra', {'trait'}),
    ('placement trait ', {'create', 'delete', 'list', 'show'}),
    ('placement --debug --os-username somebody trait sh', {'show'}),
    ('placement help trait sh', {'show'}),
    ('placement complete ', {'bash', 'zsh', 'fish'}),
    ('placement trait list --no-', {'--no-associated'}),
    ('placement --os-clo', {'--os-cloud'}),
    ('placement trait list --os-clo', {'--os-cloud'}),
    ('placement trait list -f ya', {'yaml'}),
    ('placement trait show HW_CPU_X86_AVX512VN', {'HW_CPU_X86_AVX512VNNI'}),
    ('placement resource class show PCPU', {'PCPU'}),
    ('placement resource provider list --resource PCPU', {'PCPU='}),
    (f'placement resource provider show {NAME[:9]}', {NAME}),
    (f'placement resource provider show {NAME} ', set()),
    (f'placement resource provider drain plan other {NAME[:9]}', {NAME}),
    (f'placement resource provider replace {NAME[:9]}', {NAME}),
    ('placement resource provider create ', set()),
    ('placement nonsense ', set()),
]

in_every_shell = pytest.mark.parametrize('shell', SHELLS)
in_a_shell = pytest.mark.parametrize('shell', few_quick(SHELLS, quick=1))


@pytest.fixture
def environment(shell, service_url, monkeypatch, tmp_path):
    """What leads to the service, and to the program of this environment."""
    assert shutil.which(shell), f'{shell} is not installed'
    monkeypatch.setenv('PATH', f'{BIN}{os.pathsep}{os.environ["PATH"]}')
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', service_url)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    monkeypatch.setenv('PYTHONWARNINGS', 'ignore')
    return dict(os.environ)


@pytest.fixture
def script(shell, environment, tmp_path):
    """The script, as the program prints it."""
    path = tmp_path / f'placement.{shell}'
    path.write_bytes(_run('complete', shell))
    return path


@pytest.fixture
def provider(environment):
    """Return the name of a provider."""
    if NAME.encode() not in _run('resource', 'provider', 'list', '-f', 'value', '-c', 'name'):
        _run('resource', 'provider', 'create', NAME)
    _run('complete', '--values', 'providers')
    return NAME


@pytest.fixture
def candidates(shell, script, environment):
    """What a shell offers for a line."""

    def ask(line):
        command = ASK[shell].format(script=script, line=f"'{line}'")
        answered = subprocess.run(
            [shell, '-c', command], env=environment, capture_output=True, text=True, timeout=60
        )
        assert answered.stderr == ''
        return set(answered.stdout.split('\n')) - {''}

    return ask


def _run(*argv):
    return subprocess.run(
        [BIN / 'placement', *argv], input=b'', capture_output=True, check=True, timeout=60
    ).stdout


@in_every_shell
def test_a_key_press_completes_the_command_and_then_the_name(shell, script, provider, environment):
    with terminal(shell, script, environment) as keyboard:
        keyboard.type('placement resource prov\t')
        keyboard.wait_for('provider ')
        keyboard.type('show host-of-\t')
        keyboard.wait_for(f'show {provider}')


@in_a_shell
@pytest.mark.usefixtures('provider')
def test_completion_offers_commands_options_and_names(candidates):
    for line, offered in OFFERED:
        assert candidates(line) == offered, line


@in_a_shell
@pytest.mark.parametrize(
    ('line', 'kind', 'offered'),
    [
        ('batch {}/comm', 'files', 'commands.txt'),
        ('resource provider snapshot diff other.json {}/snap', 'files', 'snapshots'),
        ('resource provider snapshot save --snapshot {}/snap', 'files', 'snapshots'),
        # A journal is no plan.
        ('resource provider reshape show {}/plan', 'plans', 'plan.json'),
    ],
)
def test_completion_offers_files(shell, candidates, tmp_path, line, kind, offered):
    (tmp_path / 'snapshots').mkdir()
    for name in ('commands.txt', 'plan.json', 'plan.json.journal'):
        (tmp_path / name).touch()
    paths = {path.removesuffix('/') for path in candidates(f'placement {line.format(tmp_path)}')}
    # In zsh they come from its own function, for which there has to be a terminal.
    assert paths == {f':{kind}' if shell == 'zsh' else f'{tmp_path}/{offered}'}


@pytest.mark.slow
@pytest.mark.parametrize('shell', SHELLS[:1])
def test_completion_offers_consumers(candidates, provider):
    consumer, owner = str(uuid.uuid4()), '--project-id p --user-id u --consumer-type INSTANCE'
    allocate = f'resource provider allocation set {consumer} --allocation rp={provider},VCPU=1'
    _run(*f'resource provider inventory set {provider} --resource VCPU=64'.split())
    _run(*f'{allocate} {owner}'.split())
    _run('complete', '--values', 'consumers')
    line = f'placement resource provider allocation show {consumer[:8]}'
    assert candidates(line) == {consumer}


@in_a_shell
def test_completion_quotes_special_characters_of_names(candidates, environment):
    trap = f'$(touch owned) `x`; {uuid.uuid4()}'
    _run('resource', 'provider', 'create', trap)
    _run('complete', '--values', 'providers')
    offered = candidates('placement resource provider show ')
    shown = {name.replace('\\', '') for name in offered}
    assert trap in shown
    assert not Path('owned').exists()


@pytest.fixture
def silence(tmp_path):
    """Return the variables that lead to such a service."""
    with socket.create_server(('127.0.0.1', 0), backlog=16) as silent:
        yield {
            **os.environ,
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': f'http://127.0.0.1:{silent.getsockname()[1]}',
            'OS_PLACEMENT_RETRIES': '0',
            'XDG_CACHE_HOME': str(tmp_path),
        }


def press(environment):
    """Press the key, and return how long that took, in seconds."""
    started = time.monotonic()
    pressed = subprocess.run(
        [sys.executable, '-m', 'placementclient', 'complete', '--values', 'providers', ''],
        env=environment,
        input='',
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (pressed.returncode, pressed.stdout) == (0, '')
    return time.monotonic() - started


def test_a_key_press_on_a_busy_machine_leaves_the_names_to_the_next_one(tmp_path, monkeypatch):
    monkeypatch.setenv('OS_AUTH_TYPE', 'placement_direct')
    for folder in ('DATA', 'CACHE'):
        monkeypatch.setenv(f'XDG_{folder}_HOME', str(tmp_path / folder))
    _run('resource', 'provider', 'create', NAME)
    in_no_time = (
        'from placementclient.cli.completion import values; '
        'values.KEY_PRESS_SECONDS = 0.01; values.main(["providers", ""])'
    )
    first = subprocess.run([sys.executable, '-c', in_no_time], input=b'', capture_output=True)
    assert (first.returncode, first.stdout) == (0, b'')
    deadline = time.monotonic() + 60
    while not (names := _run('complete', '--values', 'providers', '')):
        assert time.monotonic() < deadline
    assert names.decode() == f'{NAME}\n'


def test_a_key_press_waits_for_no_longer_than_it_says(silence):
    # The rest is for starting Python; the service would be given up after minutes.
    assert values.KEY_PRESS_SECONDS <= press(silence) < values.KEY_PRESS_SECONDS + 8
    # Within a minute the next one does not ask again.
    assert press(silence) < values.KEY_PRESS_SECONDS
