# SPDX-License-Identifier: Apache-2.0
"""A run that is killed at one of its writes."""

from contextlib import contextmanager


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
