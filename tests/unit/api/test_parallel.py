# SPDX-License-Identifier: Apache-2.0
"""Concurrent requests."""

import threading

import pytest

from placementclient.api.parallel import call_in_parallel


def test_after_an_error_no_further_call_begins():
    """Also while an earlier call is still under way."""
    last, begun = threading.Event(), []

    def call(number):
        begun.append(number)
        if number == 1:
            raise ValueError('away')
        if number == 99:
            last.set()
        if number == 0:
            last.wait(0.2)
        return number

    with pytest.raises(ValueError, match='away'):
        list(call_in_parallel(call, range(100), 2))
    assert begun in ([0, 1], [1, 0])
