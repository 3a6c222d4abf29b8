# SPDX-License-Identifier: Apache-2.0
"""The fixtures for the tests of others, in a pytest of its own."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from placementclient.basis.errors import BadFile
from placementclient.client import errors
from placementclient.testing import EmbeddedPlacement

PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'reference-testing.rst'
#: A file of the page: its name, and its lines.
BLOCK = re.compile(r'code-block:: python\n   :caption: (\S+)\n((?:\n|   .*\n)+)')


def test_the_page_of_the_fixtures_runs_as_shown(tmp_path):
    for name, text in BLOCK.findall(PAGE.read_text()):
        (tmp_path / name).write_text(textwrap.dedent(text))

    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '.']
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
    assert '2 passed' in done.stdout


@pytest.fixture
def service():
    with EmbeddedPlacement() as placement:
        yield placement


def test_a_tree_is_made_once_and_changed_after(service):
    tree = {'name': 'compute1', 'inventories': {'VCPU': {'total': 8}}, 'traits': ['CUSTOM_A']}
    first = service.declare(tree, {'name': 'compute2'})

    second = service.declare(tree | {'inventories': {'VCPU': {'total': 16}}})

    assert first == second
    assert sorted(first) == ['compute1', 'compute2']
    states = service.snapshot().providers
    assert states[first['compute1']].inventories['VCPU'].total == 16


def test_the_fixture_replaces_the_allocations_of_a_consumer_it_is_given(service):
    service.declare({'name': 'compute1', 'inventories': {'VCPU': {'total': 8}}})
    server = service.allocate({'compute1': {'VCPU': 2}}, project_id='blue', user_id='alice')

    assert service.allocate({'compute1': {'VCPU': 3}}, server) == server

    (consumer,) = service.snapshot().consumers.values()
    assert [dict(resources) for resources in consumer.allocations.values()] == [{'VCPU': 3}]
    assert (consumer.project_id, consumer.user_id, consumer.type) == ('blue', 'alice', 'INSTANCE')


def test_the_fixture_raises_the_refusals_of_the_service(service):
    service.declare({'name': 'compute1', 'inventories': {'VCPU': {'total': 8}}})

    with pytest.raises(errors.Conflict):
        service.allocate({'compute1': {'VCPU': 9}})
    with pytest.raises(BadFile, match='inventroies'):
        service.declare({'name': 'compute2', 'inventroies': {}})
