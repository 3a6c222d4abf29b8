# SPDX-License-Identifier: Apache-2.0
"""What is asked again, and when."""

import pytest

from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from tests.unit.dialogue import Reply, fault, get

LIST = get('/traits', {'traits': []})


@pytest.mark.parametrize('status', [408, 429, 500, 502, 503, 504])
def test_a_read_without_an_answer_is_repeated(client, service, status):
    service.answer(*[Reply(status, '<html>')] * 5, LIST)
    assert client.send(endpoints.LIST_TRAITS, answer=dict).body == {'traits': []}
    assert len(service.requests) == 6


def test_the_last_failure_is_raised_after_all_retries(session, service):
    client = Client(session, max_retries=2)
    service.answer(*[fault(503, f'Busy {number}') for number in range(3)])
    with pytest.raises(errors.ServerError, match=r'^Busy 2 \(HTTP 503\)') as refusal:
        client.send(endpoints.LIST_TRAITS, answer=dict)
    assert len(service.requests) == 3
    assert not refusal.value.may_be_done


@pytest.mark.parametrize(
    ('retry_after', 'lowest', 'highest'),
    [
        (None, 0, 0),
        ('2', 2, 2),
        ('86400', 30, 30),
        ('Mon, 02 Nov 2099 08:00:00 GMT', 30, 30),
        ('-1', 0, 0),
        ('soon', 0, 0),
        ('Fri, 31 Dec 99999 23:59:59 GMT', 0, 0),
        ('9' * 5000, 0, 0),
    ],
)
def test_retries_honour_retry_after_up_to_a_limit(
    client, service, monkeypatch, retry_after, lowest, highest
):
    pauses: list[float] = []
    monkeypatch.setattr('time.sleep', pauses.append)
    headers = {} if retry_after is None else {'Retry-After': retry_after}
    service.answer(Reply(503, headers=headers), LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert len(pauses) == 1
    assert lowest <= pauses[0] <= highest


def test_pauses_grow_with_jitter(client, service, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr('time.sleep', pauses.append)
    service.answer(*[Reply(503)] * 5, LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    for pause, shortest in zip(pauses, (0, 0.5, 1, 2, 4), strict=True):
        assert shortest <= pause <= shortest + 0.25


def test_the_first_pause_is_announced_once(client, service, caplog):
    service.answer(fault(503, 'Busy'), LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert caplog.messages == []
    for _ in range(2):
        service.answer(*[fault(503, 'Busy')] * 5, LIST)
        client.send(endpoints.LIST_TRAITS, answer=dict)
    assert caplog.messages == [
        'Busy (HTTP 503) [req-1]. Trying again, with pauses of about 8 s in all'
    ]
