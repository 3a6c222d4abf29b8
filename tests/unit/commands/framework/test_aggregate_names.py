# SPDX-License-Identifier: Apache-2.0
"""Names of aggregates, zones and projects in what commands print of a live cloud."""

import json

import pytest

from placementclient import api
from placementclient.insight.candidates.matching import index_snapshot
from placementclient.nova import service as services
from placementclient.producers import inquiry
from placementclient.reading import capture
from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, provider

EAST, WEST = '0aee21e0-1111-4222-8333-444455556666', '1bee21e0-1111-4222-8333-444455556666'
PROJECT = '2cee21e0111142228333444455556666'
AGGREGATES = [
    {'uuid': EAST, 'name': 'rack1', 'hosts': [], 'metadata': {'filter_tenant_id': PROJECT}},
    {'uuid': WEST, 'name': 'rack2', 'hosts': [], 'metadata': {'availability_zone': 'west'}},
]
REFUSAL = services.ServiceRefusal('Forbidden (HTTP 403)')


@pytest.fixture
def live(monkeypatch):
    """Let a cloud be live: one host, Nova's aggregates, and a project of Keystone."""
    snapshot = cloud([provider('h', VCPU=8, MEMORY_MB=256, aggregates=[EAST])])
    asked = []

    def answer(name, records):
        def ask(client):
            asked.append(name)
            if isinstance(records, Exception):
                raise records
            return records

        return ask

    def replaced(aggregates=AGGREGATES, projects=None):
        names = [{'id': PROJECT, 'name': 'demo'}] if projects is None else projects
        monkeypatch.setattr(services, 'aggregates', answer('aggregates', aggregates))
        monkeypatch.setattr(
            services, 'make_project_request', lambda uuid: answer(uuid, names), raising=False
        )
        return asked

    monkeypatch.setattr(capture, 'capture', lambda *_, **__: snapshot)
    monkeypatch.setattr(api.resource_provider, 'list', lambda *_, **__: [])
    monkeypatch.setattr(inquiry, 'read_provider_index', lambda *_: index_snapshot(snapshot))
    monkeypatch.setattr(inquiry, 'make_live_tree_counter', lambda *_: None)
    return replaced


@pytest.fixture
def explain(placement, tmp_path):
    """Explain the request for a server of a project whose servers stay in its aggregates."""
    limited = 'limit_tenants_to_placement_aggregate = true\n'
    (tmp_path / 'nova.conf').write_text(
        f'[scheduler]\n{limited}placement_aggregate_required_for_tenants = true\n'
    )
    flavor = {'id': '1', 'name': 'm', 'vcpus': 2, 'ram': 64, 'disk': 0, 'extra_specs': {}}
    command = (
        f'allocation candidate explain --flavor m --flavors {save(tmp_path, "f.json", [flavor])} '
        f'--nova-conf {tmp_path}/nova.conf --aggregates nova'
    )
    return lambda options='', project=PROJECT: placement(f'{command} --project {project} {options}')


def test_explain_prints_the_name_of_a_project_that_keystone_has(live, explain):
    asked = live()

    result = explain()

    assert '  1  aggregate of project demo\n' in result.stdout
    assert asked == ['aggregates', PROJECT]


def test_explain_prints_the_name_of_a_project_that_a_file_has(live, explain, tmp_path):
    asked = live()
    listed = save(tmp_path, 'projects.json', [{'ID': PROJECT, 'Name': 'research'}])

    result = explain(f'--projects {listed}')

    assert '  1  aggregate of project research\n' in result.stdout
    assert asked == ['aggregates']


@pytest.mark.parametrize('projects', [REFUSAL, [], [{'id': PROJECT}]])
def test_explain_prints_aggregates_where_keystone_does_not_name_the_project(
    live, explain, projects
):
    live(projects=projects)

    result = explain()

    assert '  1  member of rack1\n' in result.stdout
    assert result.stderr == ''


def test_the_refusal_for_a_project_without_aggregates_has_its_name(live, explain):
    live(aggregates=[], projects=[{'id': 'p', 'name': 'demo'}])

    result = explain(project='p')

    assert result.stderr.endswith('No valid host: no aggregate is of project demo\n')


def test_explain_names_aggregates_of_nova_that_no_list_names(live, placement):
    live()

    result = placement(f'allocation candidate explain --resource VCPU=1 --member-of {EAST},{WEST}')

    assert '  1  member of rack1 or rack2\n' in result.stdout


def test_capacity_names_the_aggregate_that_no_provider_is_in(live, placement):
    asked = live()
    command = 'resource capacity show --fits VCPU=1 --member-of'

    by_name, by_uuid = (placement(f'{command} {word}').stderr for word in ('rack2', WEST))

    assert by_name == 'No resource provider is in the aggregate rack2\n'
    assert by_uuid == 'No resource provider is in the zone west\n'
    assert asked == ['aggregates'] * 2


def test_notes_of_assumptions_name_aggregates(live, placement, tmp_path):
    live()
    (tmp_path / 'assume.yaml').write_text(f'[{{match: h, aggregates: {{remove: [{WEST}]}}}}]')

    result = placement(f'resource capacity show --assume {tmp_path}/assume.yaml')

    assert 'No resource provider that is selected is in the zone west' in result.stderr


@pytest.mark.parametrize(
    ('aggregates', 'names'), [(AGGREGATES, {'aggregate_names': ['rack1']}), (REFUSAL, {})]
)
def test_audit_names_the_aggregates_of_its_findings(live, placement, aggregates, names):
    live(aggregates)

    result = placement('resource provider audit --id aggregate-of-one -f json')

    [finding] = json.loads(result.stdout)
    assert finding['evidence'] == {'provider': 'h', **names}
    assert 'Forbidden' not in result.stderr
