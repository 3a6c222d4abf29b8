# SPDX-License-Identifier: Apache-2.0
"""Consumers that options name, by UUIDs or by files."""

import json

import pytest

from placementclient.basis import errors
from placementclient.commands.framework.consumer_options import GONE, read_consumer_uuids

A, B = '9b5ff35a-cd35-50a7-80c0-707ce10f6c97', '2826566a-e889-5900-a3df-1a7e91f13ed2'


@pytest.mark.parametrize(
    'text',
    [
        f'{A}\n{B}\n',
        f'{A.upper()}\n\n{B}',
        json.dumps([A, B]),
        json.dumps([{'id': A}, {'ID': B, 'Name': 'web'}]),
        json.dumps({'servers': [{'id': A}, {'uuid': B}]}),
        json.dumps([{'id': 'orphan', 'subject': A}, {'id': 'orphan', 'subject': B}]),
    ],
)
def test_gone_reads_consumers_from_a_file(tmp_path, text):
    path = tmp_path / 'gone'
    path.write_text(text)
    assert read_consumer_uuids(GONE, [str(path)]) == {A, B}
    assert read_consumer_uuids(GONE, [A.upper(), B]) == {A, B}


@pytest.mark.parametrize('text', ['web1\n', f'{A} web1', '[{"name": "a"}]', '5', '{}', '[[1]]'])
def test_gone_refuses_a_file_without_uuids(tmp_path, text):
    path = tmp_path / 'gone'
    path.write_text(text)
    with pytest.raises(errors.BadFile, match=r'--gone needs UUIDs: entry \d is not one'):
        read_consumer_uuids(GONE, [str(path)])
