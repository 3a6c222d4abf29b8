"""``--assume`` on the real service: what is assumed is what would really be.

``ASSUME_SEEDS=0-1000`` tries others than the few of each run; so does
``python -m tests.functional.assuming``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from placementclient.client.http import Client
from tests.functional import assuming, clouds
from tests.functional.conftest import Placement

FIRST, LAST = map(int, os.environ.get('ASSUME_SEEDS', '0-10').split('-'))


@pytest.mark.slow
def test_random_assumptions_are_as_if_they_were_made(client: Client, tmp_path: Path) -> None:
    made = assuming.tried(client, tmp_path, range(FIRST, LAST))
    assert made.keys() == {'edit', 'add', 'without', 'servers', 'plan'}


@pytest.fixture
def assumed(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts in the service, and what is assumed of them in a file."""
    monkeypatch.chdir(tmp_path)
    clouds.loaded(client, clouds.cloud(2, 2))
    (tmp_path / 'assume.yaml').write_text(
        '- match: compute0\n'
        '  inventories: {VGPU: {total: 20}}\n'
        '- without: compute1\n'
        '- servers: {resources: {VGPU: 1}, count: 8}\n'
    )


SAID = 'assuming: assume.yaml\nassume.yaml:3: Lost: 3 consumers on compute1: '


@pytest.mark.usefixtures('assumed')
def test_what_is_now_is_read_and_left_as_it_is(client: Client, placement: Placement) -> None:
    before = clouds.content(clouds.captured(client))
    result = placement(
        'resource capacity show --by class --assume assume.yaml -f json -c resource_class -c free'
    )
    assert (result.status, result.stderr[: len(SAID)]) == (0, SAID)
    assert {row['resource_class']: row['free'] for row in json.loads(result.stdout)}['VGPU'] == 10
    assert clouds.content(clouds.captured(client)) == before


@pytest.mark.usefixtures('assumed')
def test_a_request_that_can_be_met_only_then(placement: Placement) -> None:
    command = 'allocation candidate explain --resource VGPU=9 -f json'
    assert placement(command).status == 4
    # A GPU's max_unit is still that of the host.
    result = placement(
        'allocation candidate explain --resource VGPU=8 --assume assume.yaml -f json'
    )
    assert result.status == 0, result
    assert json.loads(result.stdout)['assuming'] == ['assume.yaml']


@pytest.mark.usefixtures('assumed')
def test_trees_are_shown_as_they_would_be(placement: Placement) -> None:
    result = placement('resource provider tree list --assume assume.yaml')
    assert (result.status, result.stderr[: len(SAID)]) == (0, SAID)
    assert 'compute1' not in result.stdout
    assert 'VGPU 10/20' in ' '.join(result.stdout.split())


@pytest.mark.usefixtures('assumed')
def test_what_is_assumed_differs_from_what_is(placement: Placement) -> None:
    result = placement(
        'resource provider snapshot diff live live --kind provider --assume assume.yaml -f json'
    )
    assert result.status == 3
    assert {(row['name'], row['field']) for row in json.loads(result.stdout)} == {
        ('compute0', 'inventories.VGPU.total'),
        ('compute1', ''),
    }


@pytest.mark.usefixtures('assumed')
def test_a_plan_is_looked_at_before_it_is_applied(client: Client, placement: Placement) -> None:
    edit = 'resource provider inventory set --match compute* --amend --resource VCPU:total=64'
    assert placement(*f'{edit} --plan plan.json'.split()).status == 0
    Path('assume.yaml').write_text('- plan: plan.json\n')
    command = 'resource capacity show --by class -f json -c resource_class -c capacity'
    as_it_would_be = placement(f'{command} --assume assume.yaml')
    assert as_it_would_be.stderr == 'assuming: assume.yaml\n'
    assert as_it_would_be.stdout != placement(command).stdout
    assert placement('resource provider reshape apply plan.json --yes').status == 0
    assert as_it_would_be.stdout == placement(command).stdout
