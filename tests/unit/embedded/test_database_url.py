# SPDX-License-Identifier: Apache-2.0
"""The password of a database is never printed."""

import logging
import traceback

import pytest
from oslo_db import exception
from sqlalchemy.exc import ArgumentError, OperationalError

from placementclient.basis import errors
from placementclient.embedded import database_url, service

SECRET = 'SECRET'


@pytest.mark.parametrize(
    ('url', 'shown'),
    [
        ('sqlite:////var/lib/p.sqlite', 'sqlite:////var/lib/p.sqlite'),
        ('mysql+pymysql://u:SECRET@h:33/p', 'mysql+pymysql://u:***@h:33/p'),
        ('mysql+pymysql://u@h/p?password=SECRET', 'mysql+pymysql://u@h/p'),
        ('postgresql://u:SECRET@h/p?sslpassword=SECRET', 'postgresql://u:***@h/p'),
        ('mysql+pymysql://u:x@SECRET@h/p', database_url.UNREADABLE),
        ('u:SECRET@h/p', database_url.UNREADABLE),
        ('mysql:/u:SECRET@h/p', database_url.UNREADABLE),
        ('mysql+pymysql://u:SECRET@h:port/p', database_url.UNREADABLE),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, shown):
    assert database_url.hide_password(url) == shown


@pytest.mark.parametrize(
    ('message', 'expected'),
    [
        ('No route to h\nand more', 'No route to h'),
        ('file is not a database', 'the file is not a SQLite database; a snapshot is for '),
        (
            'Access denied for u:SECRET',
            'DBError, with a message that has a secret of the URL. Check ',
        ),
        ('No such key: SSL-KEY', 'DBError, with a message that has a secret of the URL. Check '),
    ],
)
def test_the_words_of_the_database_are_printed_without_its_secrets(message, expected):
    url = 'mysql+pymysql://u:SECRET@h/p?ssl_key=SSL-KEY'
    assert database_url.describe_failure(exception.DBError(Exception(message)), url).startswith(
        expected
    )


HOSTILE = [
    'u:SECRET@h/p',
    'mysql:/u:SECRET@h/p',
    'nonsense://u:SECRET@h/p',
    'mysql+pymysql://u:SECRET@127.0.0.1:1/p',
    'mysql+pymysql://u:x@SECRET@127.0.0.1/p',
    'mysql+pymysql://u@127.0.0.1:1/p?password=SECRET',
    'mysql+pymysql://u@127.0.0.1:1/p?SECRET=1',
    'mysql+pymysql://u:SECRET@h:port/p',
    'sqlite:////nowhere/p.sqlite?password=SECRET',
]


@pytest.mark.parametrize('url', HOSTILE)
def test_no_error_prints_the_password_of_the_database(url, capfd, caplog, recwarn, monkeypatch):
    caplog.set_level('DEBUG')
    # A handler that another test has left with a closed stream would print its own traceback.
    monkeypatch.setattr(logging, 'raiseExceptions', False)
    with pytest.raises(errors.DirectError) as failure:
        service.start(url, None)
    assert '\n' not in str(failure.value)
    texts = [*traceback.format_exception(failure.value), *capfd.readouterr(), caplog.text]
    assert SECRET not in ''.join([*texts, *(str(warning.message) for warning in recwarn)])


@pytest.mark.parametrize('line', ['connection = {}', 'connection {}', 'connection: {}\n{}'])
@pytest.mark.parametrize('url', HOSTILE)
def test_no_error_about_a_file_prints_the_password_of_the_database(url, line, tmp_path, capfd):
    conf = f'{tmp_path}/placement.conf'
    with open(conf, 'w') as file:
        file.write(f'[placement_database]\n{line.format(url, url)}\n')
    with pytest.raises(errors.DirectError) as failure:
        service.start(None, conf)
    assert SECRET not in ''.join([str(failure.value), *capfd.readouterr()])


def test_the_words_of_a_driver_are_printed_without_its_numbers():
    cause = OperationalError('', {}, Exception(2003, "Can't connect to h"))
    failure = exception.DBConnectionError(cause)
    assert database_url.describe_failure(failure, 'mysql+pymysql://h/p') == (
        f"Can't connect to h{database_url.CHECKS}"
    )


def test_a_path_in_place_of_a_url_is_answered_with_a_file_of_a_similar_name(tmp_path):
    (tmp_path / 'placement.sqlite').touch()
    for name in ('placement.sqlite', 'placement.sqlit'):
        assert database_url.describe_failure(ArgumentError(), f'{tmp_path}/{name}') == (
            f'it is a path; type sqlite:///{tmp_path}/placement.sqlite'
        )
