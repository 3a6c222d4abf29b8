# SPDX-License-Identifier: Apache-2.0
"""A Placement over HTTP, as the user of a ``nova.conf`` sees it."""

import json

import pytest

from tests.functional import away

#: A token whose user is an administrator, without the role ``service``.
SECRET = 'secret:admin'


@pytest.fixture(scope='module')
def url(tmp_path_factory):
    service = away.Service(tmp_path_factory.mktemp('service conf'))
    service.start()
    yield service.url
    service.stop()


def checked(placement, *paths, options=''):
    files = ' '.join(f'--service-conf {path}' for path in paths)
    result = placement(f'resource api check {files} -f json {options}')
    return result, json.loads(result.stdout or '[]')


def conf(tmp_path, url, token, name='nova.conf', more=''):
    path = tmp_path / name
    path.write_text(
        f'[DEFAULT]\ndebug = true\n[placement]\nauth_type = admin_token\nendpoint = {url}\n'
        f'token = {token}\n{more}'
    )
    return path


def test_api_check_finds_all_needs_of_a_service_user_met(placement, tmp_path, url):
    path = conf(tmp_path, url, 'admin')
    result, rows = checked(placement, path)
    assert result.status == 0, result
    assert [(row['file'], row['need'], row['is_met']) for row in rows] == [
        (str(path), need, True)
        for need in ('authentication', 'endpoint', 'version', 'read', 'reshape', 'clock')
    ]
    assert rows[1]['has'] == url


def test_a_service_user_without_the_role_cannot_reshape(placement, tmp_path, url):
    good, bad = conf(tmp_path, url, 'admin', 'a'), conf(tmp_path, url, SECRET, 'b')
    result, rows = checked(placement, good, bad)
    assert result.status == 3, result
    assert ('reshape', 'no') in [(r['need'], r['has']) for r in rows if not r['is_met']]
    assert {r['file'] for r in rows if not r['is_met']} == {str(bad)}
    assert 'secret' not in result.stdout + result.stderr


def test_api_check_finds_a_service_too_old_for_a_release(placement, tmp_path, url):
    result, rows = checked(placement, conf(tmp_path, url, 'admin'), options='--for 1.99')
    assert (result.status, [r['need'] for r in rows if not r['is_met']]) == (3, ['version'])


def test_api_check_shows_an_endpoint_that_nobody_serves(placement, tmp_path, monkeypatch):
    monkeypatch.setattr('time.sleep', lambda seconds: None)
    path = conf(tmp_path, 'http://operator:secret@127.0.0.1:9', 'admin')
    result, rows = checked(placement, path)
    assert result.status == 3
    assert [r['need'] for r in rows if not r['is_met']][:2] == ['version', 'read']
    assert 'secret' not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('[keystone]\n', '[placement] has no auth_type, such as password'),
        ('[placement]\n', '[placement] has no auth_type, such as password'),
        ('[placement]\nauth_type = passwort\n', "keystoneauth has no 'passwort'"),
        ('[placement]\nauth_type = password\npassword = secret\n', '[placement] lacks auth_url'),
        ('[placement]\nauth_section = other\n[other]\n', '[other] has no auth_type'),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(placement, tmp_path, text, sentence):
    path = tmp_path / 'nova.conf'
    path.write_text(text)
    result, _ = checked(placement, path)
    assert (result.status, sentence in result.stderr) == (1, True), result
    assert 'secret' not in result.stderr
