# SPDX-License-Identifier: Apache-2.0
"""A service of recorded answers, and the program that is run against it."""

import gc
import logging
import re
from typing import Any

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from requests_mock import ANY

from placementclient.cli import shell
from placementclient.client.http import Client
from placementclient.commands.framework import base
from tests import programs
from tests.programs import Result, isolate, words
from tests.unit.dialogue import (
    NOT_ACCEPTABLE,
    SIGNED,
    URL,
    Exchange,
    Reply,
    sent,
    version_document,
)

# Thousands of tests stay in memory: each full collection would look at them all.
gc.set_threshold(100_000, 50, 100)


class Service:
    """What answers, in order; whatever comes beyond that is refused and shows in ``requests``."""

    def __init__(self, mocker):
        self._mocker = mocker
        self.answer()

    def answer(self, *replies):
        """Answer the next requests so."""
        self._mocker.reset_mock()
        answers = [reply.reply if isinstance(reply, Exchange) else reply for reply in replies]
        self._mocker.request(ANY, ANY, [answer.mocked() for answer in (*answers, Reply(599))])

    def always(self, body):
        """Answer every request with this JSON."""
        self._mocker.reset_mock()
        self._mocker.request(ANY, ANY, json=body)
        for method, matcher in (
            ('DELETE', ANY),
            ('PUT', re.compile('/(allocations|resource_classes|traits)/')),
        ):
            self._mocker.request(method, matcher, status_code=204, headers=SIGNED)

    def knows_up_to(self, highest):
        """Answer nothing but what the service knows; refuse every other microversion."""
        self._mocker.reset_mock()
        self._mocker.request(ANY, ANY, **NOT_ACCEPTABLE.mocked())
        self._mocker.get(f'{URL}/', **version_document(highest).reply.mocked())

    def fail(self, error):
        """Answer nothing: every request fails on its way."""
        self._mocker.reset_mock()
        self._mocker.request(ANY, ANY, exc=error)

    @property
    def requests(self):
        """What was sent, in order."""
        return [sent(request) for request in self.history]

    @property
    def history(self):
        """The same, with all headers and undecoded."""
        history: list[Any] = self._mocker.request_history
        return history

    @property
    def last(self):
        """The last request."""
        return self.history[-1]


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """No test sees the settings of who runs it, waits, or leaves its logging behind."""
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv('COLUMNS', '200')
    monkeypatch.setattr('time.sleep', lambda seconds: None)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture(autouse=True)
def _true_to_their_word(monkeypatch):
    """Commands end and print as they say: see ``statuses`` and ``prints``."""
    run = base.PlacementCommand.run

    def checked_run(self, parsed_args):
        status = run(self, parsed_args)
        documented = {0, 1, 2, 130, *(status for status, _ in self.statuses)}
        assert status in documented or not self.statuses
        return status

    def check_output(kind):
        produce_output = kind.produce_output

        def checked_output(self, parsed_args, names, data):
            assert not self.column_names or set(names) <= set(self.list_column_names())
            return produce_output(self, parsed_args, names, data)

        monkeypatch.setattr(kind, 'produce_output', checked_output)

    check_output(base.Lister)
    check_output(base.ShowOne)
    monkeypatch.setattr(base.PlacementCommand, 'run', checked_run)


@pytest.fixture
def service(requests_mock):
    return Service(requests_mock)


@pytest.fixture
def session():
    return Session(auth=Token(URL, 'a-token'))


@pytest.fixture
def client(session, service):
    """A client whose microversion is open."""
    return Client(session)


@pytest.fixture
def placement(session, service, capsys):
    """Runs the program: arguments, or a single string that is split as a shell does."""

    def run(*argv, version=None):
        chosen = ['--os-placement-api-version', version] if version is not None else []
        result = programs.run(capsys, [*chosen, *words(argv)], session)
        is_silent = result.status in (0, shell.BROKEN_PIPE)
        assert result.stderr or is_silent, 'an exit status without a word'
        return result

    return run


@pytest.fixture
def play(placement, service):
    """Runs a case and compares all that can be seen of it."""

    def run(case):
        service.answer(*case.exchanges)
        result = placement(case.command, version=case.version)
        assert service.requests == case.requests()
        assert result == Result(case.status, case.stdout, case.stderr)

    return run
