# SPDX-License-Identifier: Apache-2.0
"""The schemas: as the package ships them, and true of every file that is read or written."""

import json
from importlib import resources
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from placementclient.changes.records import plans, schema
from placementclient.files import snapshots, specifications
from placementclient.planner import planner
from placementclient.planner.specification import assignments
from tests.unit.changes.records.test_plans import CLOUD, SPEC

CASES = sorted((Path(__file__).parents[2] / 'planner' / 'cases').glob('*.yaml'))


def faults(kind, value):
    return [
        fault.message for fault in Draft202012Validator(schema.make_schema(kind)).iter_errors(value)
    ]


@pytest.mark.parametrize('kind', schema.KINDS)
def test_the_schemas_of_the_package_are_those_that_are_generated(kind):
    """Made anew by ``placement resource provider reshape schema KIND``."""
    shipped = resources.files('placementclient.files') / 'schemas' / f'{kind}.json'
    assert json.loads(shipped.read_text()) == json.loads(json.dumps(schema.make_schema(kind)))
    Draft202012Validator.check_schema(schema.make_schema(kind))


def test_files_that_are_written_match_their_schemas():
    snapshot = snapshots.decode_snapshot(CLOUD.read_bytes(), 'cloud.json')
    plan = planner.plan_reshape(snapshot, specifications.convert_specification(SPEC, 'spec'))
    assert faults('snapshot', json.loads(b''.join(snapshots.encode_snapshot(snapshot)))) == []
    assert faults('plan', json.loads(b''.join(plans.encode(plan)))) == []


@pytest.mark.parametrize('path', CASES, ids=lambda path: path.stem)
def test_specifications_that_are_read_match_the_schema(path):
    document = yaml.safe_load(path.read_text())
    if 'error' not in document['expect']:
        assert faults('spec', document['spec']) == []


def test_assignments_match_the_schema():
    row = dict.fromkeys(assignments.COLUMNS) | {'consumer_uuid': 'a', 'resource_class': 'VGPU'}
    assert faults('assignments', [row]) == []
    assert faults('assignments', [{'consumer_uuid': 'a'}]) != []


def test_other_documents_do_not_match_the_schemas():
    assert faults('spec', {'move': []}) != []
    assert faults('spec', {**SPEC, 'split': 'yes'}) != []
    assert faults('snapshot', {'format': 'placementclient/plan', 'version': 1}) != []


def test_schema_command_prints_the_schema(placement):
    printed = placement('resource provider reshape schema spec')
    assert json.loads(printed.stdout) == json.loads(json.dumps(schema.make_schema('spec')))
    assert placement('resource provider reshape schema spec -f json').status == 0
    assert placement('resource provider reshape schema other').status == 2
