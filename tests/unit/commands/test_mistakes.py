# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes: each message says what to type next."""

import json
import pathlib
import re
import string

import pytest

from placementclient.cli import shell
from placementclient.producers import names
from tests.unit.commands.clouds import save, small
from tests.unit.dialogue import CONSUMER, RP, Exchange, Reply, fault

ANSWER = re.compile(r'(\d+) (\w+ \S+) (?:\[(\S+)\] )?(.*)')


def mistakes():
    """Each command line of ``mistakes.txt``, with the answers and the message."""
    text = pathlib.Path(__file__).with_name('mistakes.txt').read_text()
    text = string.Template(text).safe_substitute(RP=RP, CONSUMER=CONSUMER, HALF=CONSUMER[:8])
    for case in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
        command, *lines = case.splitlines()
        answers = [line[2:] for line in lines if line.startswith('<')]
        (message,) = (line for line in lines if line[:1].isdigit())
        yield pytest.param(command, answers, int(message[0]), message[2:], id=command)


def answer(line):
    """An answer of Placement, which is JSON or a refusal."""
    status, request, code, text = ANSWER.fullmatch(line).groups()
    refused = fault(int(status), text, code or 'placement.undefined_code')
    return Exchange(request, Reply(200, json.loads(text)) if status == '200' else refused)


@pytest.mark.parametrize(('command', 'answers', 'status', 'message'), list(mistakes()))
def test_a_mistake_is_answered_with_what_to_type(
    placement, service, tmp_path, command, answers, status, message
):
    cloud = save(tmp_path, 'cloud.json', small()) if '$CLOUD' in command else ''
    exchanges = list(map(answer, answers))
    service.answer(*exchanges)
    result = placement(command.replace('$CLOUD', str(cloud)), version='1.37')
    assert (result.status, message in result.stderr) == (status, True), result.stderr
    assert [sent.line for sent in service.requests] == [other.line for other in exchanges]


@pytest.mark.parametrize(
    ('variables', 'sentence'),
    [
        (
            {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'u:p@127.0.0.1:8778'},
            '127.0.0.1:8778/traits has no http:// or https:// before it. The URL is from '
            'OS_ENDPOINT: type http://127.0.0.1:8778\n',
        ),
        (
            {'OS_AUTH_URL': '127.0.0.1:9/v3', 'OS_USERNAME': 'u', 'OS_PASSWORD': 'x'},
            '127.0.0.1:9/v3 has no http:// or https:// before it. The URL is from '
            'OS_AUTH_URL: type http://127.0.0.1:9/v3\n',
        ),
        (
            {'OS_AUTH_TYPE': 'placement_direct', 'OS_PLACEMENT_DATABASE': 'sqlite:////no/p.sqlite'},
            'There is no database /no/p.sqlite: the folder /no does not exist. Check the path. The '
            'URL is from OS_PLACEMENT_DATABASE\nNext: For an empty Placement: '
            'OS_PLACEMENT_DATABASE__CONNECTION=sqlite:////no/p.sqlite placement-manage db sync\n',
        ),
        *(
            (
                {'OS_AUTH_TYPE': 'placement_direct', 'OS_PLACEMENT_DATABASE': url},
                f'Cannot parse the database URL: {form}. The URL is from OS_PLACEMENT_DATABASE\n',
            )
            for url, form in {
                '/nowhere/p.sqlite': 'it is a path; type sqlite:////nowhere/p.sqlite',
                'mysql': 'a URL is mysql+pymysql://…, postgresql+psycopg2://… or '
                'sqlite:////folder/file',
            }.items()
        ),
    ],
)
def test_a_wrong_url_of_a_variable_is_answered_with_the_right_one(
    monkeypatch, capsys, variables, sentence
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert shell.main(['trait', 'list']) == 1
    assert capsys.readouterr().err == sentence


OWN = 'Names of your own begin with CUSTOM_'
GPUS = ['CUSTOM_GPU', 'HW_GPU_API_VULKAN', 'HW_CPU_X86_AVX']
COMMON = ['COMPUTE_NODE', 'MEMORY_MB', 'VCPU', 'CUSTOM_RAW']


@pytest.mark.parametrize(
    ('typed', 'existing', 'answer'),
    [
        ('GPU', GPUS, f'. Did you mean "CUSTOM_GPU" or "HW_GPU_API_VULKAN"? {OWN}'),
        ('QWX', GPUS, f'. {OWN}'),
        ('compute_node', COMMON, '. Did you mean "COMPUTE_NODE"?'),
        ('mem', COMMON, '. Did you mean "MEMORY_MB"?'),
        ('RAM', COMMON, '. Did you mean "MEMORY_MB"?'),
        ('CUSTOM_SDS', ['COMPUTE_NODE', 'CUSTOM_SSD'], '. Did you mean "CUSTOM_SSD"?'),
        # A custom name is not taken for a standard one.
        ('CUSTOM_NODE', ['COMPUTE_NODE'], ''),
        (
            'custom_gpu',
            GPUS[2:],
            '. A name is CUSTOM_ and then A to Z, 0 to 9, _. Did you mean "CUSTOM_GPU"?',
        ),
    ],
)
def test_an_unknown_name_is_answered_with_names_that_are_meant(typed, existing, answer):
    assert names.suggest_remedy([typed], existing, '') == answer
