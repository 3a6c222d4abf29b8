"""The reshape that is sent as it is."""

import json

import pytest

from tests.programs import Result
from tests.unit.dialogue import NOTHING, RP, Case, fault, post

BODY = {
    'inventories': {RP: {'inventories': {}, 'resource_provider_generation': 1}},
    'allocations': {},
}


@pytest.mark.parametrize(
    'text', [json.dumps(BODY), json.dumps(BODY, indent=2), '---\n# as YAML\n' + json.dumps(BODY)]
)
def test_the_file_is_sent_as_it_is(placement, service, tmp_path, text):
    file = tmp_path / 'body.json'
    file.write_text(text)
    service.answer(NOTHING)
    result = placement('resource', 'provider', 'reshape', 'submit', '--file', str(file))
    assert result == Result(0, '', '')
    assert service.requests == Case('', [post('/reshaper', BODY)]).requests()


CASES = {
    'a dash is standard input': (NOTHING, '', 0),
    'a refusal by the policy names the role': (
        fault(403, 'Policy does not allow placement:reshaper:reshape to be performed.'),
        'Policy does not allow placement:reshaper:reshape to be performed. '
        'The default policy requires the role service (HTTP 403) [req-1]\n',
        1,
    ),
    'any other refusal is told as it is': (
        fault(409, 'Stale', 'placement.concurrent_update'),
        'Stale (HTTP 409) [placement.concurrent_update, req-1]\n',
        1,
    ),
}


@pytest.mark.parametrize(('reply', 'stderr', 'status'), CASES.values(), ids=CASES)
def test_reshape_submit(play, reply, stderr, status):
    sent = [post('/reshaper', {}, reply)]
    play(Case('resource provider reshape submit --file -', sent, '', stderr, status))


def test_a_file_that_is_not_there_is_named_and_nothing_is_sent(placement, service):
    assert placement('resource provider reshape submit --file nowhere.json') == Result(
        1, '', 'nowhere.json: No such file or directory\n'
    )
    assert service.requests == []
