# SPDX-License-Identifier: Apache-2.0
"""The reshape that is sent as it is."""

import json

import pytest

from tests.programs import Result
from tests.unit.dialogue import NOTHING, RP, Case, post

BODY = {
    'inventories': {RP: {'inventories': {}, 'resource_provider_generation': 1}},
    'allocations': {},
}


@pytest.mark.parametrize(
    'text', [json.dumps(BODY), json.dumps(BODY, indent=2), '---\n# as YAML\n' + json.dumps(BODY)]
)
def test_submit_sends_the_file_as_it_is(placement, service, tmp_path, text):
    file = tmp_path / 'body.json'
    file.write_text(text)
    service.answer(NOTHING)
    result = placement('resource', 'provider', 'reshape', 'submit', '--file', str(file))
    assert result == Result(0, '', '')
    assert service.requests == Case('', [post('/reshaper', BODY)]).requests()


def test_submit_reads_standard_input_for_a_dash(play):
    sent = [post('/reshaper', {}, NOTHING)]
    play(Case('resource provider reshape submit --file -', sent))


def test_submit_sends_nothing_without_its_file(placement, service):
    refused = placement('resource provider reshape submit --file nowhere.json')
    assert refused.stderr.startswith('nowhere.json: No such file or directory; --file needs the ')
    assert service.requests == []


def test_a_body_nested_too_deeply_is_refused_by_the_name_of_its_file(placement, service, tmp_path):
    file = tmp_path / 'body.json'
    file.write_text('{"a":' * 500 + '1' + '}' * 500)
    assert placement('resource', 'provider', 'reshape', 'submit', '--file', str(file)) == Result(
        1, '', f'{file}: nested too deeply\n'
    )
    assert service.requests == []
