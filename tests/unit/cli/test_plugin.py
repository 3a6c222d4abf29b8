# SPDX-License-Identifier: Apache-2.0
"""What OpenStackClient finds: an option, and a client."""

import logging
import threading
from argparse import ArgumentParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from keystoneauth1 import loading

from placementclient.api import trait
from placementclient.api.parallel import call_in_parallel
from placementclient.basis import errors
from placementclient.cli import plugin
from placementclient.client.microversion import Microversion


def parsed(*argv):
    version: str = (
        plugin.build_option_parser(ArgumentParser()).parse_args(argv).os_placement_api_version
    )
    return version


def manager(version, session=None):
    return SimpleNamespace(
        session=session,
        interface='internal',
        region_name='north',
        get_configuration=lambda: {
            'placement_api_version': version,
            'placement_endpoint_override': 'http://other.test',
        },
    )


def test_the_hooks_have_the_names_that_openstackclient_looks_for():
    assert plugin.API_NAME == 'placement'
    assert plugin.API_VERSION_OPTION == 'os_placement_api_version'
    assert plugin.DEFAULT_API_VERSION == '1'
    assert set(plugin.API_VERSIONS) == {'1', *(f'1.{minor}' for minor in range(40))}


def test_the_version_is_negotiated_unless_it_is_given():
    assert parsed() == '1'
    assert parsed('--os-placement-api-version', '1.7') == '1.7'


@pytest.mark.parametrize(('value', 'version'), [('1.8', '1.8'), ('', '1')])
def test_the_environment_may_give_the_version(monkeypatch, value, version):
    monkeypatch.setenv('OS_PLACEMENT_API_VERSION', value)
    assert parsed() == version
    assert parsed('--os-placement-api-version', '1.7') == '1.7'


def test_a_client_selects_the_service_as_the_operator_said(session):
    client = plugin.make_client(manager('1.7', session))
    assert client.session.auth is session.auth
    assert client.microversion == Microversion(1, 7)
    assert client.url == 'http://other.test'
    assert client.endpoint_filter == {
        'service_type': 'placement',
        'interface': 'internal',
        'region_name': 'north',
    }


def options(*argv):
    args = plugin.build_option_parser(ArgumentParser()).parse_args(argv)
    return args.os_placement_retries, args.os_placement_seconds


def test_retries_and_timeout_come_from_options_and_from_the_environment(monkeypatch):
    assert options() == (5, None)
    monkeypatch.setenv('OS_PLACEMENT_RETRIES', '0')
    monkeypatch.setenv('OS_PLACEMENT_TIMEOUT', '2.5')
    assert options() == (0, 2.5)
    assert options('--os-placement-retries', '3', '--os-placement-timeout', '7') == (3, 7.0)


@pytest.mark.parametrize(
    'argv',
    [
        ['--os-placement-retries', '-1'],
        ['--os-placement-retries', 'x'],
        ['--os-placement-retries', f'1{"0" * 30}'],
        *(['--os-placement-timeout', text] for text in ('0', '-1', 'nan', 'inf', '1e12', 'x')),
        *(['--os-placement-answer-limit', text] for text in ('0', '-1', '1.5', '10000000', '٣')),
        ['--os-placement-list-limit', '0'],
        ['--os-placement-list-timeout', 'inf'],
    ],
    ids=str,
)
def test_numbers_that_are_none_are_wrong_usage(argv):
    with pytest.raises(SystemExit) as exit:
        options(*argv)
    assert exit.value.code == 2


def test_a_client_has_the_retries_and_the_timeout_of_the_configuration(session):
    instance = manager('1', session)
    client = plugin.make_client(instance)
    assert (client.max_retries, client.timeout) == (5, None)
    for retries, seconds in ((2, 9.5), ('2', '9.5')):
        # The SDK makes text of what options have made numbers of.
        settings = {'placement_retries': retries, 'placement_seconds': seconds}
        instance.get_configuration = lambda settings=settings: settings
        client = plugin.make_client(instance)
        assert (client.max_retries, client.timeout) == (2, 9.5)
    instance.get_configuration = lambda: {'placement_answer_limit': '7'}
    adapter = plugin.make_client(instance).session.session.adapters['http://']
    assert adapter._answer_limit == 7 << 20
    settings = {'placement_list_limit': '7', 'placement_list_seconds': '2.5'}
    instance.get_configuration = lambda: settings
    client = plugin.make_client(instance)
    assert (client.list_limit, client.list_timeout) == (7 << 20, 2.5)
    instance.get_configuration = lambda: {'placement_retries': 0}
    assert plugin.make_client(instance).max_retries == 0
    instance.get_configuration = lambda: {'placement_seconds': 'soon'}
    with pytest.raises(errors.UsageError, match="placement_seconds: 'soon' is not a number of"):
        plugin.make_client(instance)


@pytest.mark.parametrize(
    ('argv', 'environment', 'other'),
    [
        ([], {'OS_AUTH_URL': 'http://keystone.test'}, 'OS_AUTH_URL'),
        ([], {'OS_CLOUD': 'lab'}, 'OS_CLOUD'),
        (['--os-cloud', 'lab'], {}, '--os-cloud'),
        (['--os-auth-type', 'placement_direct', '--os-auth-url=x'], {}, '--os-auth-url'),
    ],
)
def test_the_embedded_service_beside_a_cloud_is_refused(
    session, monkeypatch, argv, environment, other
):
    for name, value in {'OS_AUTH_TYPE': 'placement_direct', **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr('sys.argv', ['openstack', *argv])
    instance = manager('1', session)
    instance.auth_plugin_name = 'placement_direct'
    with pytest.raises(errors.UsageError, match=rf'would win over {other}, as it needs no cloud'):
        plugin.make_client(instance)
    instance.auth_plugin_name = 'password'
    assert plugin.make_client(instance)


def test_options_win_over_the_environment(session, monkeypatch):
    monkeypatch.setenv('OS_AUTH_URL', 'http://keystone.test')
    monkeypatch.setattr('sys.argv', ['openstack', '--os-auth-type', 'placement_direct'])
    instance = manager('1', session)
    instance.auth_plugin_name = 'placement_direct'
    assert plugin.make_client(instance)


def test_options_of_a_cloud_are_none_of_the_embedded_service():
    loader = loading.get_plugin_loader('placement_direct')
    with pytest.raises(errors.UsageError, match='takes no auth_url, username: '):
        loader.load_from_options(auth_url='http://keystone.test', username='me')


@pytest.mark.parametrize(
    'line',
    [
        'options: --os-placement-database mysql://root:SECRET@db/placement list',
        "options: Namespace(debug=True, placement_database='mysql://u:SECRET@db/p', x=1)",
        "cloud cfg: {'placement_database': 'mysql://u:SECRET@db/p?password=SECRET', 'x': 1}",
        'START --os-placement-database=mysql://root:SECRET@db/placement',
    ],
)
def test_the_database_is_in_no_log_of_options(caplog, line):
    plugin.build_option_parser(ArgumentParser())
    with caplog.at_level('DEBUG'):
        logging.getLogger('osc_lib.shell').debug('%s', line)
    assert caplog.messages == [caplog.messages[0]]
    assert 'SECRET' not in caplog.text
    assert '***' in caplog.text


WORKERS = 16


class Answering(BaseHTTPRequestHandler):
    """A service that answers as soon as all workers have asked."""

    protocol_version = 'HTTP/1.1'
    connections = 0
    together = threading.Barrier(WORKERS)

    def setup(self):
        super().setup()
        type(self).connections += 1

    def do_GET(self):
        self.together.wait(60)
        self.send_response(200)
        self.send_header('Content-Length', '14')
        self.end_headers()
        self.wfile.write(b'{"traits": []}')

    def log_message(self, *arguments):
        pass


def test_each_of_many_workers_keeps_its_connection(session):
    with ThreadingHTTPServer(('127.0.0.1', 0), Answering) as server:
        threading.Thread(target=server.serve_forever).start()
        instance = manager('1.7', session)
        url = f'http://127.0.0.1:{server.server_port}'
        instance.get_configuration = lambda: {'placement_endpoint_override': url}
        client = plugin.make_client(instance)
        for _ in range(3):
            list(call_in_parallel(lambda _: trait.list(client), range(WORKERS), WORKERS))
        session.session.close()
        server.shutdown()
    assert Answering.connections == WORKERS
