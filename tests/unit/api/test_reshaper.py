# SPDX-License-Identifier: Apache-2.0
"""The reshaper, and whether the policy allows it."""

import pytest

from placementclient.api import reshaper
from placementclient.client import errors
from tests.unit.dialogue import NOTHING, Reply, fault, post


@pytest.mark.parametrize(('status', 'allowed'), [(400, True), (403, False)])
@pytest.mark.parametrize('version', ['1', '1.0', '1.39'])
def test_an_empty_reshape_shows_if_the_policy_allows_it(call, version, status, allowed):
    # At the first version that has it: every service that can reshape understands that one.
    exchange = post('/reshaper', {}, fault(status, 'No'), version='1.30')
    assert call(reshaper.is_allowed, exchange, version=version) is allowed


@pytest.mark.parametrize(
    ('reply', 'kind'), [(NOTHING, errors.InvalidAnswer), (fault(404, 'x'), errors.NotFound)]
)
def test_an_unexpected_answer_to_the_empty_reshape_is_an_error(call, reply, kind):
    with pytest.raises(kind):
        call(reshaper.is_allowed, post('/reshaper', {}, reply, version='1.30'))


def test_the_empty_reshape_is_repeated_without_an_answer(call):
    lost = post('/reshaper', {}, Reply(503), version='1.30')
    exchange = post('/reshaper', {}, fault(403, 'No'), version='1.30')
    assert call(reshaper.is_allowed, lost, lost, exchange) is False
