# SPDX-License-Identifier: Apache-2.0
"""The program: what it does with options, without a command, and with whatever goes wrong."""

import logging
import stat
from importlib.metadata import version

import pytest
from openstackclient.shell import OpenStackShell
from requests import exceptions

from placementclient.cli import shell
from tests.programs import Result
from tests.unit.dialogue import URL, Reply, fault, get

LIST = 'resource class list'
CLASSES = get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}]})
FOREIGN = 'the answer is not from Placement'
INVALID = (
    'GET /resource_classes was answered with HTTP {}: the service that answers is not Placement. '
    f'The URL {URL}/resource_classes is from the service catalog'
)

#: What a proxy, a wrong URL or a broken service may answer, and the line that is printed.
HOSTILE = {
    'HTML of a proxy': (
        Reply(502, '<html>Bad\nGateway</html>', reason='Bad Gateway'),
        f'Bad Gateway: {FOREIGN} (HTTP 502)',
    ),
    'a page of a portal': (Reply(200, '<html>Welcome</html>'), INVALID.format('200: no JSON')),
    'a page of a web server': (
        Reply(404, '<html>None</html>', reason='File not found'),
        f'File not found: {FOREIGN} (HTTP 404). '
        f'The URL {URL}/resource_classes is from the service catalog',
    ),
    'other JSON': (
        Reply(200, {'name': 'keystone'}),
        INVALID.format('200: object missing required field resource_classes'),
    ),
    'a very long page': (
        Reply(500, '<p>' * 1_000_000, reason='Internal Server Error'),
        f'Internal Server Error: {FOREIGN} (HTTP 500)',
    ),
    'a token that is not renewed': (
        Reply(401, {'error': {'message': 'Unauthorized', 'code': 401}}, reason='Unauthorized'),
        'Unauthorized: the service does not accept the token, which may have expired: get a new '
        'one (openstack token issue), or authenticate with a password or an application credential '
        '(HTTP 401)',
    ),
    'an error of the service': (
        fault(409, 'Taken.', 'placement.duplicate_name'),
        'Taken. (HTTP 409) [placement.duplicate_name, req-1]',
    ),
}

#: Follows the reason for the first pause before a read is repeated.
PAUSES = '. Trying again, with pauses of about 8 s in all'


@pytest.mark.parametrize(('reply', 'line'), HOSTILE.values(), ids=HOSTILE)
def test_any_answer_of_the_service_is_an_error_of_one_line(placement, service, reply, line):
    service.answer(*[reply] * 6)
    pauses = f'{line}{PAUSES}\n' if reply.status >= 500 else ''
    assert placement(LIST) == Result(1, '', f'{pauses}{line}\n')
    assert len(service.requests) == (6 if reply.status >= 500 else 1)
    service.answer(*[reply] * 6)
    debugged = placement(f'--debug {LIST}')
    assert (debugged.status, debugged.stdout) == (1, '')
    assert 'Traceback (most recent call last)' in debugged.stderr
    assert line in debugged.stderr


def test_the_token_is_not_printed_with_debug(placement, service):
    service.answer(CLASSES)
    result = placement(f'--debug {LIST}')
    assert f'{URL}/resource_classes' in result.stderr
    assert 'a-token' not in result.stderr


@pytest.mark.parametrize(('format', 'output'), [('table', '\n'), ('value', ''), ('json', '[]\n')])
def test_an_empty_table_is_printed(placement, service, format, output):
    service.answer(get('/resource_classes', {'resource_classes': []}))
    assert placement(f'{LIST} -f {format}') == Result(0, output, '')


@pytest.mark.parametrize('argv', ['resource provider trait', 'resource provider trait --debug'])
def test_a_group_without_its_verb_lists_the_group(placement, argv):
    result = placement(argv)
    assert (result.status, result.stdout) == (2, '')
    first, _, heading, *lines = result.stderr.splitlines()
    assert (first, heading) == (
        "'resource provider trait' is a group of commands:",
        'resource provider trait:',
    )
    verbs = [line.split()[3] for line in lines if line.startswith('  resource')]
    assert verbs == ['add', 'delete', 'list', 'remove', 'set']


def test_debug_prints_nothing_of_entry_points(monkeypatch, capsys):
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', 'http://127.0.0.1:1')
    assert shell.main(['--debug', *LIST.split()]) == 1
    stderr = capsys.readouterr().err
    assert 'EntryPoint' not in stderr
    assert 'REQ: curl' in stderr


@pytest.mark.parametrize('argv', [f'{LIST} --nonsense', f'{LIST} more', 'resource class show'])
def test_wrong_arguments_are_wrong_usage(placement, service, argv):
    result = placement(argv)
    assert (result.status, result.stdout) == (2, '')
    message, usage = result.stderr.splitlines()
    assert message.startswith('placement resource class ')
    assert usage.startswith('usage: placement resource class ')
    assert service.requests == []


def test_an_option_is_not_guessed_from_its_beginning(placement, service):
    assert placement(f'--os-placement-api 1.5 {LIST}').status == 2
    result = placement('resource provider list --memb rack7')
    assert (result.status, service.requests) == (2, [])
    assert 'unrecognized arguments: --memb rack7' in result.stderr


def test_without_a_command_one_screen_has_the_daily_tasks(placement):
    result = placement('')
    assert (result.status, result.stderr) == (0, '')
    lines = result.stdout.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert '  Empty hosts for maintenance          resource provider drain plan HOST' in lines
    assert 'placement --help' in result.stdout
    assert 'placement complete --help' in result.stdout


@pytest.mark.parametrize('argv', ['--help', 'help'])
def test_help_lists_the_commands(placement, argv):
    result = placement(argv)
    assert result.status == 0
    assert result.stdout.startswith('usage: placement ')
    assert 'resource provider inventory set' in result.stdout
    assert result.stderr == ''


@pytest.mark.parametrize('argv', ['help resource provider set', 'resource provider set --help'])
def test_the_help_of_a_command_has_its_example_as_it_is(placement, service, argv):
    result = placement(argv)
    assert result.status == 0
    assert '\n  placement resource provider set compute1_numa0 --parent-provider compute2\n' in (
        result.stdout
    )
    assert service.requests == []


@pytest.mark.parametrize(
    ('flag', 'level'),
    [('-q', 'ERROR'), ('-v', 'INFO'), ('-vv', 'DEBUG'), ('-vvvv', 'DEBUG'), ('--debug', 'DEBUG')],
)
def test_each_v_logs_more(placement, service, flag, level):
    service.answer(CLASSES)
    placement(f'{flag} {LIST}')
    assert logging.getLevelName(logging.getLogger().level) == level


def test_an_unknown_auth_type_is_wrong_usage_with_a_list_of_the_known(capsys):
    assert shell.main(['--os-auth-type', 'v3passwd', *LIST.split()]) == 2
    # What looks for it may log a line before.
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert refusal.startswith('Unknown auth type v3passwd. Did you mean "v3password"? Choose from ')
    assert ', v3password, ' in refusal


def test_the_arguments_are_those_of_the_process_if_none_are_given(monkeypatch, capsys):
    monkeypatch.setattr('sys.argv', ['placement', '--version'])
    with pytest.raises(SystemExit) as exit:
        shell.main()
    assert exit.value.code == 0
    assert capsys.readouterr().out.endswith(f' {version(shell.DISTRIBUTION)}\n')
    assert shell.main(['version']) == 0
    assert capsys.readouterr().out == f'placement {version(shell.DISTRIBUTION)}\n'


SECRET = 'http://admin:PASS%40WORD@cloud.test/placement'


@pytest.fixture
def _is_real(monkeypatch):
    """Only what logs in production does."""
    monkeypatch.setattr(logging.getLogger('requests_mock.adapter'), 'disabled', True)


@pytest.mark.usefixtures('_is_real')
@pytest.mark.parametrize('program', ['placement', 'openstack'])
@pytest.mark.parametrize('option', ['--debug', '--timing', '--debug --log-file {folder}/log'])
@pytest.mark.parametrize('is_reached', [True, False])
def test_nothing_prints_the_password_of_a_url(
    service, capsys, monkeypatch, tmp_path, program, option, is_reached
):
    if (program, option) == ('openstack', '--timing'):
        option = '--debug'  # what OpenStackClient prints of it is its own
    monkeypatch.setenv('OS_AUTH_TYPE', 'none')
    monkeypatch.setenv('OS_ENDPOINT', SECRET)
    if is_reached:
        service.answer(Reply(500))
    else:
        service.fail(exceptions.ConnectionError(f'no way to {SECRET}'))
    run = shell.main if program == 'placement' else OpenStackShell().run
    options = option.format(folder=tmp_path).split()
    assert run([*options, 'trait', 'create', 'CUSTOM_A']) == 1
    printed = ''.join(capsys.readouterr())
    printed += (tmp_path / 'log').read_text() if len(options) > 1 else ''
    assert 'cloud.test' in printed
    assert 'PASS' not in printed


@pytest.mark.usefixtures('_is_real')
def test_a_log_is_readable_by_its_owner_alone(service, session, tmp_path):
    service.always({'traits': []})
    log = tmp_path / 'log'
    for _ in range(2):
        shell.main(['--debug', '--log-file', str(log), 'trait', 'list'], session=session)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text().count('GET http') == 2


def test_a_log_does_not_follow_a_link_of_another_user(service, session, tmp_path, capsys):
    service.always({'traits': []})
    shared = tmp_path / 'shared'
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / 'log').symlink_to(tmp_path / 'victim')
    argv = ['--log-file', str(shared / 'log'), 'trait', 'list']
    assert shell.main(argv, session=session) == 1
    assert capsys.readouterr().err == (
        f'{shared}/log: is a symbolic link, in a folder where others may write\n'
    )
    assert not (tmp_path / 'victim').exists()
