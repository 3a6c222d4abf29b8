# SPDX-License-Identifier: Apache-2.0
"""A plan of changes from its file to its rollback, killed on the way there and back."""

import json
from contextlib import contextmanager

import pytest

from placementclient.model.outcomes import State
from tests.functional import clouds
from tests.functional.clouds import content


class Killed(BaseException):
    """A kill, as it looks from inside."""


@contextmanager
def killed_at(client, write, *, is_done=True):
    """Kill the run at a write, counted from 0.

    :param is_done: whether that is done, though its answer never comes
    """
    send, left = client.session.request, [write]

    def request(url, method, **kwargs):
        left[0] -= method != 'GET'
        if left[0] < 0 and not is_done:
            raise Killed
        answer = send(url, method, **kwargs)
        if left[0] < 0:
            raise Killed
        return answer

    client.session.request = request
    try:
        yield
    finally:
        del client.session.request


def lifecycle(placement, client, path, *, kill_at=0):
    """Apply the plan, verify it and take it back; each is killed once and then completed.

    :param path: of the plan, which was made of what is there now
    :param kill_at: the write after which both ways are killed, counted from 0
    """

    def act(verb, *options):
        return placement('resource', 'provider', 'reshape', verb, path, *options, '-f', 'json')

    def states(result):
        return {row['state'] for row in json.loads(result.stdout)}

    before = content(clouds.captured(client))
    ends = (('apply', State.APPLIED, State.ALREADY_APPLIED),
            ('rollback', State.ROLLED_BACK, State.ALREADY_BACK))  # fmt: skip
    for verb, done, done_before in ends:
        with pytest.raises(Killed), killed_at(client, kill_at):
            pytest.fail(f'{verb} ended: {act(verb, "--yes")}')
        ended = act(verb, '--yes')
        assert ended.status == 0, ended
        assert done in states(ended) <= {done, done_before}, ended
        if verb == 'apply':
            assert content(clouds.captured(client)) != before
            verified = act('verify')
            assert verified.status == 0, verified
    assert content(clouds.captured(client)) == before
