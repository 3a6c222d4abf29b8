# SPDX-License-Identifier: Apache-2.0
"""How the program authenticates: options, environment, clouds.yaml."""

import argparse
import os
from urllib import request

import pytest
from openstack.config import loader
from requests import utils

from placementclient.cli import connection, plugin, shell
from tests.unit.cli.keystone import token, version
from tests.unit.dialogue import URL, Reply, get

NO_AUTH = ['--os-auth-type', 'none', '--os-endpoint', URL]
LIST = ['resource', 'class', 'list', '-f', 'value']
CLASSES = get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}]})

KEYSTONE = 'http://cloud.test/identity/v3'


PASSWORD = ['--os-auth-url', KEYSTONE, '--os-username', 'admin', '--os-password', 'secret']
PASSWORD += ['--os-project-name', 'admin', '--os-user-domain-id', 'default']
PASSWORD += ['--os-project-domain-id', 'default']


@pytest.mark.parametrize('options', [[], ['--os-auth-url', KEYSTONE], NO_AUTH[:2]])
def test_settings_that_do_not_suffice_are_an_error_of_one_line(service, capsys, options):
    service.answer(Reply(500))
    assert shell.main([*options, *LIST]) == 1
    output = capsys.readouterr()
    assert output.out == ''
    assert 'Traceback' not in output.err
    assert output.err
    assert options != NO_AUTH[:2] or 'give --os-endpoint' in output.err


def test_timing_prints_each_request_on_stderr(service, capsys):
    service.answer(CLASSES)
    assert shell.main([*NO_AUTH, '--timing', *LIST]) == 0
    output = capsys.readouterr()
    assert output.out == 'VCPU\n'
    method, url, seconds = output.err.split()
    assert (method, url) == ('GET', f'{URL}/resource_classes')
    assert 0 <= float(seconds) < 10


@pytest.fixture
def clouds(tmp_path, monkeypatch):
    (tmp_path / 'clouds.yaml').write_text(
        f"""
clouds:
  lab:
    auth_type: none
    auth: {{endpoint: '{URL}'}}
  elsewhere:
    auth_type: none
    auth: {{endpoint: '{URL}'}}
    placement_endpoint_override: http://other.test
  slow:
    auth_type: none
    auth: {{endpoint: '{URL}'}}
    api_timeout: 12
"""
    )
    # The SDK looks for files in the folder where it was loaded.
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))


@pytest.mark.usefixtures('clouds')
@pytest.mark.parametrize('kind', ['CONFIG', 'SECURE'])
@pytest.mark.parametrize('content', ['clouds: {lab: [', b'\xff', None], ids=['YAML', 'UTF-8', 'no'])
def test_a_file_of_clouds_that_cannot_be_read_is_an_error(
    service, monkeypatch, capsys, tmp_path, kind, content
):
    """Another file has a cloud of the same name: it is not used."""
    path = tmp_path / 'unreadable.yaml'
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(loader, f'{kind}_FILES', [str(tmp_path / 'clouds.yaml')])
    monkeypatch.setenv(f'OS_CLIENT_{kind}_FILE', str(path))
    assert shell.main(['--os-cloud', 'lab', *LIST]) == 1
    line = capsys.readouterr().err
    assert (line.startswith(f'{path}:'), line.count('\n')) == (True, 1)
    assert service.requests == []


def test_an_indentation_that_does_not_fit_in_clouds_yaml_is_told_with_its_line(
    monkeypatch, capsys, tmp_path
):
    path = tmp_path / 'clouds.yaml'
    path.write_text('clouds:\n  lab:\n    auth:\n      auth_url: a\n     username: b\n')
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    assert shell.main(['--os-cloud', 'lab', *LIST]) == 1
    assert capsys.readouterr().err == (
        f'{path}:5: the indentation does not fit the lines above (while parsing a block mapping: '
        "expected <block end>, but found '<block mapping start>')\n"
    )


@pytest.mark.usefixtures('clouds')
def test_the_report_names_the_cloud(service, capsys):
    service.always({'resource_providers': []})
    report = ['resource', 'provider', 'report']
    assert shell.main(['--os-cloud', 'lab', '--os-region-name', 'north', *report]) == 0
    assert '<dt>Cloud</dt><dd><bdi>lab, north</bdi></dd>' in capsys.readouterr().out


@pytest.mark.usefixtures('clouds')
def test_a_cloud_that_does_not_exist_is_an_error_with_a_suggestion(service, capsys):
    assert shell.main(['--os-cloud', 'paris', *LIST]) == 1
    clouds = 'clouds.yaml has elsewhere, lab, slow'
    assert capsys.readouterr().err == f'Cloud paris was not found. {clouds}\n'
    assert shell.main(['--os-cloud', 'slwo', *LIST]) == 1
    assert capsys.readouterr().err == 'Cloud slwo was not found. Did you mean "slow"?\n'
    assert service.requests == []


@pytest.mark.parametrize(
    ('options', 'timeout'),
    [([], 60), (['--timeout', '5'], 5), (['--os-placement-timeout', '5'], 5)],
    ids=str,
)
def test_the_timeout_option_limits_each_answer(service, options, timeout):
    service.answer(CLASSES)
    assert shell.main([*NO_AUTH, *options, *LIST]) == 0
    assert service.last.timeout == timeout


@pytest.mark.usefixtures('clouds')
def test_a_cloud_of_the_file_may_set_the_timeout(service):
    service.answer(CLASSES, CLASSES)
    assert shell.main(['--os-cloud', 'slow', *LIST]) == 0
    assert service.last.timeout == 12
    assert shell.main(['--os-cloud', 'slow', '--timeout', '5', *LIST]) == 0
    assert service.last.timeout == 5


@pytest.mark.parametrize('place', ['http_proxy', 'REQUESTS_CA_BUNDLE', 'netrc'])
def test_variables_set_how_requests_are_sent(service, monkeypatch, tmp_path, place):
    monkeypatch.setenv('HOME', str(tmp_path))
    if place == 'netrc':
        (tmp_path / '.netrc').write_text('default login me password secret')
    else:
        monkeypatch.setenv(place, 'http://proxy.test:3128')
    service.answer(CLASSES)
    assert shell.main([*NO_AUTH, *LIST]) == 0
    sent = {
        'http_proxy': service.last.proxies.get('http'),
        'REQUESTS_CA_BUNDLE': service.last.verify,
        'netrc': service.last.headers.get('Authorization', '').startswith('Basic '),
    }
    assert sent[place] == (True if place == 'netrc' else 'http://proxy.test:3128')


def test_an_environment_without_proxies_is_read_once(service, monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    for name in [name for name in os.environ if name.lower().endswith('_proxy')]:
        monkeypatch.delenv(name)
    looks: list[str] = []

    def getproxies():
        looks.append('look')
        return {}

    monkeypatch.setattr(utils, 'getproxies', getproxies)
    monkeypatch.setattr(request, 'getproxies', getproxies)
    service.answer(CLASSES, CLASSES)
    lines = tmp_path / 'lines'
    lines.write_text('resource class list\n' * 2)
    assert shell.main([*NO_AUTH, 'batch', str(lines)]) == 0
    assert looks == ['look']


def test_without_clouds_the_searched_folders_are_named(monkeypatch, capsys):
    monkeypatch.setattr(loader, 'CONFIG_FILES', ['/etc/openstack/clouds.yaml'])
    assert shell.main(['--os-cloud', 'nowhere', *LIST]) == 1
    assert capsys.readouterr().err == (
        'Cloud nowhere was not found. There is no clouds.yaml in /etc/openstack; '
        'OS_CLIENT_CONFIG_FILE can name another file\n'
    )


@pytest.mark.parametrize(('options', 'seconds'), [([], 60), (['--timeout', '5'], 5)], ids=str)
def test_the_timeout_holds_for_keystone(service, options, seconds):
    granted = token({('north', 'public'): 'http://north.test'})
    service.answer(
        Reply(200, version(KEYSTONE)),
        Reply(201, granted, {'X-Subject-Token': 'from-keystone'}),
        CLASSES,
    )
    assert shell.main([*PASSWORD, *options, *LIST]) == 0
    assert [request.timeout for request in service.history] == [seconds] * 3


def test_the_embedded_placement_beside_a_cloud_is_an_error(monkeypatch, capsys):
    monkeypatch.setenv('OS_AUTH_TYPE', 'placement_direct')
    monkeypatch.setenv('OS_PLACEMENT_DATABASE', 'sqlite://')
    assert shell.main(['--os-cloud', 'lab', *LIST]) == 2
    refusal = capsys.readouterr().err
    assert 'OS_AUTH_TYPE=placement_direct is still set and would win over --os-cloud' in refusal
    assert refusal.endswith('Type: unset OS_AUTH_TYPE OS_PLACEMENT_DATABASE\n')


def test_a_user_without_a_password_is_told_the_option_and_the_variable(capsys):
    options = [word for word in PASSWORD if word not in ('--os-password', 'secret')]
    assert shell.main([*options, *LIST]) == 1
    assert 'without --os-password (OS_PASSWORD): ' in capsys.readouterr().err


def test_a_copied_connection_leaves_the_timings_of_its_original():
    parser = argparse.ArgumentParser()
    connection.add_connection_options(parser)
    plugin.build_option_parser(parser)
    original = connection.Connection(parser.parse_args([]))
    original.timings.append(('GET', URL, 0.5))
    assert not original.copy_for_version('1.39').timings
    assert list(original.timings) == [('GET', URL, 0.5)]
