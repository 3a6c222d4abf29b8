# SPDX-License-Identifier: Apache-2.0
"""Why requests have no candidates, as the real service has it and as a file has it."""

import json

import pytest
from keystoneauth1.session import Session

from placementclient.api import trait
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.files import disk
from placementclient.producers import inquiry
from tests.functional import clouds
from tests.functional.clouds import uuid_of, watched
from tests.functional.hosts import RACK, STORAGE, uneven_cloud
from tests.numbers import few_quick


@pytest.fixture(scope='module')
def service():
    """A session with this cloud, which no test changes."""
    with Direct.scratch() as direct:
        session = Session(auth=direct)
        clouds.load(http.Client(session, microversion.HIGHEST), uneven_cloud())
        yield session


@pytest.fixture
def session(service):
    return service


@pytest.fixture(scope='module', params=['service', pytest.param('file', marks=pytest.mark.slow)])
def where(request, service, tmp_path_factory):
    """The option that says who is asked."""
    if request.param == 'service':
        return ''
    path = tmp_path_factory.mktemp('explain') / 'cloud.json'
    disk.write_snapshot(str(path), clouds.captured(http.Client(service, microversion.HIGHEST)))
    return f'--snapshot {path}'


#: Requests that cannot be met: the sets of requirements in conflict, each a kind and a value; what
#: is enough, and for how many trees; what the nearest tree lacks.
PLANTED = {
    'more than is free or granted at once': (
        '--resource VCPU=2 --resource VGPU=4',
        [[('resource', 'VGPU')]],
        'VGPU=2 instead of 4: 3 trees',
        'max_unit is 2 on compute0_gpu0',
    ),
    'less of what has the trait': (
        '--resource VCPU=1 --resource VGPU=4 --required CUSTOM_A40',
        [[('resource', 'VGPU')]],
        'VGPU=2 instead of 4: 2 trees',
        'max_unit is 2 on',
    ),
    'a trait that others have': (
        '--group 1 --resource VGPU=1 --required HW_NUMA_ROOT',
        [[('resource', 'VGPU'), ('trait', 'HW_NUMA_ROOT')]],
        'without trait HW_NUMA_ROOT (group 1): 3 trees',
        'not together with',
    ),
    'an aggregate that the host with it is not in': (
        f'--resource PCPU=1 --member-of {RACK}',
        [[('aggregate', RACK), ('resource', 'PCPU')]],
        f'without member of {RACK}: 1 tree',
        'no provider is in it',
    ),
    'a tree that has not so much': (
        '--in-tree compute1 --resource PCPU=1',
        [[('in tree', uuid_of('compute1')), ('resource', 'PCPU')]],
        'in the tree of',
        'no inventory of it',
    ),
    'two groups on one provider': (
        '--group 1 --resource VGPU=1 --required CUSTOM_T4 '
        '--group 2 --resource VGPU=1 --required CUSTOM_T4 --group-policy isolate',
        [
            [
                ('isolate', ''),
                ('resource', 'VGPU'),
                ('resource', 'VGPU'),
                ('trait', 'CUSTOM_T4'),
                ('trait', 'CUSTOM_T4'),
            ]
        ],
        'without each group on a provider of its own: 3 trees',
        'not together with',
    ),
    'groups that are far from each other': (
        '--group _CPU --resource PCPU=1 --group _GPU --resource VGPU=1 --same-subtree _CPU,_GPU',
        [[('resource', 'PCPU'), ('resource', 'VGPU'), ('same subtree', '_CPU,_GPU')]],
        'without groups _CPU,_GPU in one subtree: 1 tree',
        'not together with',
    ),
    'less than the smallest amount': (
        '--group _NET --resource SRIOV_NET_VF=1',
        [[('resource', 'SRIOV_NET_VF')]],
        'SRIOV_NET_VF=2 instead of 1 (group _NET): 1 tree',
        'min_unit is 2 on nic0',
    ),
    'no multiple of the step': (
        '--resource MEMORY_MB=1000 --resource VCPU=1',
        [[('resource', 'MEMORY_MB')]],
        'MEMORY_MB=768 instead of 1000: 3 trees',
        'step_size is 256 on compute0',
    ),
    'more than the shared storage grants': (
        '--resource VCPU=1 --resource DISK_GB=600',
        [[('resource', 'DISK_GB')]],
        'DISK_GB=500 instead of 600: 3 trees',
        'max_unit is 500 on storage',
    ),
    'a trait that nobody has': (
        '--resource VCPU=1 --required CUSTOM_RARE',
        [[('trait', 'CUSTOM_RARE')]],
        'without trait CUSTOM_RARE: 3 trees',
        'no provider has it',
    ),
    'a trait that all have who could': (
        '--resource VCPU=1 --forbidden COMPUTE_NODE',
        [[('forbidden trait', 'COMPUTE_NODE'), ('resource', 'VCPU')]],
        'without the condition "no trait COMPUTE_NODE": 3 trees',
        'not together with',
    ),
    'an aggregate that all who could are in': (
        f'--resource VCPU=1 --forbidden-member-of {STORAGE}',
        [[('forbidden aggregate', STORAGE)]],
        f'without the condition "not member of {STORAGE}": 3 trees',
        'every provider is in it',
    ),
    'a root that is none of them': (
        '--resource VGPU=1 --root-required HW_NUMA_ROOT',
        [[('trait of the root', 'HW_NUMA_ROOT')]],
        'without trait HW_NUMA_ROOT on the root: 3 trees',
        'the root does not have it',
    ),
}


def pairs(conflict):
    return sorted((item['kind'], item['value']) for item in conflict)


@pytest.fixture(scope='module', autouse=True)
def _trait(service):
    """A trait that exists, though nobody has it."""
    trait.create(http.Client(service, microversion.HIGHEST), 'CUSTOM_RARE')


@pytest.mark.parametrize('planted', few_quick(PLANTED.values(), quick=7), ids=list(PLANTED))
def test_explain_names_the_planted_conflict_and_what_would_be_enough(
    placement, client, where, planted
):
    request, conflicts, expected, shortages = planted
    command = f'allocation candidate explain {request} {where}'
    with watched(client) as requests:
        shown = placement(command)
    assert shown.status == 4, shown
    assert shown.stdout.startswith('The request cannot be met.\n')
    enough = shown.stdout.partition('Would be enough')[2].partition('Nearest trees')
    assert expected in enough[0], shown.stdout
    assert shortages in enough[2], shown.stdout
    assert ('calculated' in enough[0]) == bool(where)
    requested = [url for _, url in requests if 'allocation_candidates' in url]
    assert len(requested) <= (0 if where else inquiry.MOST_REQUESTS)
    data = json.loads(placement(f'{command} -f json').stdout)
    assert [pairs(conflict) for conflict in data['conflicts']] == conflicts
    assert all(item['is_asked'] != bool(where) for item in data['enough'])


def test_explain_tells_several_conflicts_apart(placement, where):
    result = placement(
        'allocation candidate explain --resource VCPU=99 --resource DISK_GB=10 '
        '--group 1 --resource VGPU=2 --required CUSTOM_T4,CUSTOM_A40 '
        f'--root-forbidden COMPUTE_NODE {where} -f json'
    )
    data = json.loads(result.stdout)
    assert [pairs(conflict) for conflict in data['conflicts']] == [
        [('resource', 'VCPU')],
        [('forbidden trait of the root', 'COMPUTE_NODE'), ('resource', 'VGPU')],
        [('forbidden trait of the root', 'COMPUTE_NODE'), ('trait', 'CUSTOM_T4,CUSTOM_A40')],
    ]
    [both] = data['enough']
    assert [item['enough'] for item in both['instead']] == [16]
    assert [item['value'] for item in both['without']] == ['COMPUTE_NODE']
    assert both['trees'] == 3


def nearest(placement, request):
    """The text, and what each of the nearest trees lacks."""
    command = f'allocation candidate explain {request}'
    data = json.loads(placement(f'{command} -f json').stdout)
    return placement(command).stdout, {host['name']: host['lacks'] for host in data['nearest']}


def test_explain_shows_the_tree_of_the_request(placement, where):
    text, nearest_of = nearest(placement, f'--in-tree compute2 --resource VCPU=99 {where}')
    assert list(nearest_of) == ['compute2']
    assert 'in the tree of compute2' in text
    assert uuid_of('compute2') not in text


def test_explain_counts_no_sharing_provider_as_a_nearest_tree(placement, where):
    _, nearest_of = nearest(placement, f'--resource DISK_GB=1 --required CUSTOM_RARE {where}')
    assert sorted(nearest_of) == ['compute0', 'compute1', 'compute2']


def test_explain_suggests_amounts_that_the_nearest_trees_can_grant(placement, client, where):
    request = f'--resource VGPU=2 --resource VCPU=99 --hosts 1 {where}'
    text, nearest_of = nearest(placement, request)
    assert 'VCPU=16 instead of 99: 3 trees' in text
    [lacks] = nearest_of.values()
    assert [(item['reason'], item['has']) for item in lacks] == [('free', 64), ('max_unit', 16)]


def test_explain_says_that_a_request_can_be_met(placement, where):
    result = placement(
        'allocation candidate explain --resource VCPU=1 --resource DISK_GB=10 '
        f'--group 1 --resource VGPU=1 --required CUSTOM_A40 {where}'
    )
    assert result.status == 0
    assert result.stdout.splitlines() == [
        'Placement can meet it: candidates on 2 trees.',
        '',
        'Each condition alone: hosts that meet it, of 4',
        '  3  VCPU=1',
        '  4  DISK_GB=10',
        '  3  VGPU=1 (group 1)',
        '  2  trait CUSTOM_A40 (group 1)',
    ]


def test_explain_says_at_least_where_a_limit_cut_the_candidates(placement):
    result = placement('allocation candidate explain --resource VCPU=1 --limit 2')
    assert 'candidates on at least 2 trees' in result.stdout


def test_an_aggregate_has_the_name_by_which_it_was_asked_for(placement, monkeypatch):
    aggregates = [{'uuid': RACK, 'name': 'rack7', 'hosts': []}]
    monkeypatch.setattr('placementclient.nova.service.aggregates', lambda client: aggregates)
    result = placement('allocation candidate explain --resource VCPU=99 --member-of rack7')
    assert (result.status, 'member of rack7' in result.stdout) == (4, True), result.stdout


def test_explain_says_where_it_shows_one_of_several_conflicts(placement, where):
    groups = ' '.join(f'--group {n} --resource VGPU=2' for n in range(6))
    command = f'allocation candidate explain {groups} --group-policy none {where}'

    shown, data = placement(command), json.loads(placement(f'{command} -f json').stdout)

    assert 'Cannot be met together (one of several sets)\n' in shown.stdout
    assert data['is_exhaustive'] is False
    assert len(data['conflicts']) == 8


def test_a_flavor_is_asked_for_as_the_scheduler_does(placement, where, tmp_path):
    common = {'vcpus': 1, 'ram': 256, 'disk': 0}
    specs = {'small': {}, 'vgpu': {'resources:VGPU': '4'}}
    path = tmp_path / 'flavors.json'
    path.write_text(
        json.dumps([{'id': n, 'name': n, 'extra_specs': specs[n], **common} for n in specs])
    )
    flavors = f'--flavors {path}'
    program = 'allocation candidate explain -f json'

    met = placement(f'{program} --flavor small {flavors} {where}')
    unmet = placement(f'{program} --flavor vgpu {flavors} {where}')
    barred = placement(f'{program} --flavor small --required CUSTOM_RARE {flavors} {where}')

    assert [met.status, unmet.status, barred.status] == [0, 4, 4], met.stderr
    requested = {item['value'] for item in json.loads(met.stdout)['alone']}
    assert requested == {'VCPU', 'MEMORY_MB', 'COMPUTE_STATUS_DISABLED'}
    conflicts = [json.loads(item.stdout)['conflicts'] for item in (unmet, barred)]
    assert [item[0][0]['value'] for item in conflicts] == ['VGPU', 'CUSTOM_RARE']


@pytest.mark.parametrize(
    ('request_', 'names'),
    [
        ('--resource VCPU=1 --resource CUSTOM_PCI_10DE_20B0=1', ['CUSTOM_PCI_10DE_20B0']),
        ('--resource VCPU=1 --required CUSTOM_NOBODY_KNOWS', ['CUSTOM_NOBODY_KNOWS']),
        ('--resource VCPU=1 --group 1 --resource CUSTOM_X1=1 --required CUSTOM_X2',
         ['CUSTOM_X1', 'CUSTOM_X2']),
    ],
)  # fmt: skip
def test_explain_says_that_no_host_has_a_name_unknown_to_the_service(placement, request_, names):
    result = placement(f'allocation candidate explain {request_}')
    assert (result.status, result.stdout.splitlines()[0]) == (4, 'The request cannot be met.')
    for name in names:
        assert f'{name}: no host has it\n' in result.stderr


def test_a_forbidden_trait_that_the_service_does_not_know_rules_nobody_out(placement):
    result = placement('allocation candidate explain --resource VCPU=1 --forbidden CUSTOM_NOBODY')
    assert (result.status, result.stdout.splitlines()[0]) == (
        0, 'Placement can meet it: candidates on 3 trees.'
    )  # fmt: skip


def test_a_class_of_a_pci_alias_that_no_host_reports_has_its_likely_cause(placement, tmp_path):
    flavor = {'name': 'gpu', 'vcpus': 1, 'ram': 1, 'disk': 0,
              'extra_specs': {'pci_passthrough:alias': 'gpu:1'}}  # fmt: skip
    (tmp_path / 'flavors.json').write_text(json.dumps([flavor]))
    (tmp_path / 'nova.conf').write_text(
        '[pci]\nalias = {"name": "gpu", "vendor_id": "10de", "product_id": "20b1"}\n'
        '[filter_scheduler]\npci_in_placement = true\n'
    )
    result = placement(
        f'allocation candidate explain --flavor gpu --flavors {tmp_path}/flavors.json '
        f'--nova-conf {tmp_path}/nova.conf'
    )
    assert (result.status, result.stdout.splitlines()[0]) == (4, 'The request cannot be met.')
    assert (
        'Placement does not know the resource class CUSTOM_PCI_10DE_20B1: no host has it. The '
        'likely cause is a PCI alias, or a setting in [pci] of nova.conf on the hosts\n'
    ) in result.stderr
