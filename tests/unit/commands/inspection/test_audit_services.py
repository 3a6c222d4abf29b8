# SPDX-License-Identifier: Apache-2.0
"""``resource provider audit``: the services that it asks, and those that do not answer."""

from functools import partial

import pytest

from placementclient.insight.audit.checks import CHECKS
from placementclient.nova import service as compute
from tests.programs import Result
from tests.unit.commands.inspection.test_audit import ALL_LEFT_OUT

#: The lists of other services, in the order in which they are asked for.
READERS = (
    *('servers', 'migrations', 'compute_services', 'hypervisors', 'flavors'),
    *('registered_limits', 'nodes', 'ports', 'agents', 'subnets'),
)


def test_an_audit_without_a_catalog_names_the_missing_lists(placement, service):
    service.always({'resource_providers': []})
    assert placement('resource provider audit -f json') == Result(0, '[]\n', ALL_LEFT_OUT)


@pytest.fixture
def ask(service, monkeypatch):
    """Replace the readers of other services; return what is asked for, after how many requests."""
    service.always({'resource_providers': []})

    def replaced(**answers):
        requested: list[tuple[str, int]] = []

        def listed(client, what):
            requested.append((what, len(service.requests)))
            answer = answers.get(what, answers.get('others', []))
            if isinstance(answer, Exception):
                raise answer
            return answer

        for what in READERS:
            monkeypatch.setattr(compute, what, partial(listed, what=what))
        return requested

    return replaced


HOSTS = ' --ignore provider-without-host --ignore host-without-provider'
REFUSAL = compute.ServiceRefusal('Forbidden (HTTP 403)')


@pytest.mark.parametrize(
    ('options', 'lists'),
    [
        ('', READERS),
        ('--id orphan', (*READERS[:3], 'nodes')),
        ('--id inventory-drift', READERS[:4]),
        ('--id limit-missing', (*READERS[:3], 'flavors', 'registered_limits')),
    ],
)
def test_audit_asks_services_after_the_snapshot_for_the_needed_lists(
    placement, ask, options, lists
):
    requested = ask()
    assert placement(f'resource provider audit -f json {options}') == Result(0, '[]\n', '')
    assert requested == [(name, 1) for name in lists]


def test_a_service_that_is_away_is_asked_once(placement, ask):
    requested = ask(nodes=REFUSAL, others=compute.NoService('away'))
    assert placement('resource provider audit -f json') == Result(
        1,
        '[]\n',
        'away. Give the lists as files: --servers FILE, --migrations FILE, --services FILE, '
        '--hypervisors FILE, --flavors FILE, --limits FILE, --ports FILE, --agents FILE, '
        '--subnets FILE\n'
        'Forbidden (HTTP 403). Give the list as a file: --nodes FILE\n'
        f'{ALL_LEFT_OUT}Incomplete: 1 of {len(CHECKS)} checks not made\n'
        'Leaked allocations were not looked for: the catalog has no compute service\n',
    )
    assert [what for what, _ in requested] == ['servers', 'registered_limits', 'nodes', 'ports']


def test_audit_reads_other_lists_of_a_service_after_a_refusal(placement, ask):
    # Neutron without the extension says nothing of what ports ask for.
    ask(hypervisors=REFUSAL, ports=[{'id': 'p', 'device_id': ''}])
    result = placement('resource provider audit -f json')
    refused, incomplete, *summary = result.stderr.splitlines()
    assert refused == 'Forbidden (HTTP 403). Give the list as a file: --hypervisors FILE'
    assert incomplete.startswith('the network service: ports: has no resource_request')
    assert summary == [
        '7 checks were left out (-v names them). Missing: --ports, --hypervisors',
        f'Incomplete: 5 of {len(CHECKS)} checks not made',
    ]
    assert result.status == 1
    alone = placement(f'resource provider audit -f json --ignore twin --ignore renamed{HOSTS}')
    assert f'Incomplete: 1 of {len(CHECKS) - 4} checks not made' in alone.stderr
    assert placement('resource provider audit --id orphan').status == 0


def test_a_service_without_an_answer_leaves_an_audit_unclean(placement, ask):
    ask(servers=compute.ServiceSilence('No answer in time'))
    result = placement('resource provider audit -f json --id over-capacity --id orphan')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.endswith('--id needs more lists: orphan (--servers)\n')
    result = placement('resource provider audit -f json --ignore port-resources')
    assert (result.status, result.stdout) == (1, '[]\n')
    assert result.stderr.endswith(f'Incomplete: 20 of {len(CHECKS) - 1} checks not made\n')


UNKNOWN = {'host': 'compute7', 'binary': 'nova-compute', 'status': 'UNKNOWN'}


@pytest.mark.parametrize('option', ['', '--id orphan'])
def test_an_audit_while_a_cell_is_down_is_not_clean(placement, ask, option):
    ask(compute_services=[UNKNOWN, UNKNOWN | {'host': 'compute8'}])
    result = placement(f'resource provider audit -f json {option}{HOSTS}')
    assert result == Result(
        1,
        '[]\n',
        'A cell of Nova does not answer: 2 hosts (compute7, compute8) and their servers are in '
        'no list, so audit cannot judge them\n',
    )


@pytest.mark.parametrize('name', ['servers', 'flavors', 'registered_limits', 'agents'])
def test_an_answer_that_cannot_be_used_leaves_an_audit_unclean(placement, ask, name):
    ask(**{name: [{'id': ['x']}]})
    result = placement('resource provider audit -f json')
    assert (result.status, result.stdout) == (1, '[]\n')
    assert 'Incomplete: ' in result.stderr


def test_a_list_without_a_deciding_field_leaves_an_audit_clean(placement, ask):
    # Neutron without the extension.
    ask(ports=[{'id': 'p', 'device_id': ''}])
    assert placement('resource provider audit -f json').status == 0


def test_a_service_that_fails_has_one_budget_of_retries(placement, ask, monkeypatch):
    ask(migrations=[])
    retries = []

    def listed(client, what):
        retries.append((what, client.max_retries))
        raise compute.ServiceFailure('Nova refuses: Internal Server Error (HTTP 500)')

    for what in READERS[:5]:
        monkeypatch.setattr(compute, what, partial(listed, what=what))
    assert placement('resource provider audit -f json').status == 1
    assert [what for what, _ in retries] == list(READERS[:5])
    first, *others = [count for _, count in retries]
    assert (first > 0, others) == (True, [0, 0, 0, 0])
