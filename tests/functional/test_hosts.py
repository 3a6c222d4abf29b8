# SPDX-License-Identifier: Apache-2.0
"""From the archives and devices of hosts to a plan."""

import json
from pathlib import Path

from tests.functional import clouds
from tests.functional.collecting import collect, make_host
from tests.functional.conftest import process
from tests.unit.hosts.libvirt_output import GPU0, GPU1, MDEVS

#: Of a server that holds one unit of a host.
OWNER = '--project-id p --user-id u'
SPEC = f"""
trees: {{class: [VGPU]}}
moves:
- from_resource_provider: '{{root}}'
  to_resource_provider: '{{root}}_{GPU0}'
  moved_resources: {{VGPU: 4}}
- from_resource_provider: '{{root}}'
  to_resource_provider: '{{root}}_{GPU1}'
  moved_resources: {{VGPU: 4}}
"""


def test_archives_of_two_hosts_become_a_plan_with_evidence(placement, tmp_path, monkeypatch):
    """No edit in between, and every row is mapped, with its evidence."""
    monkeypatch.chdir(tmp_path)
    servers: dict[str, dict[str, tuple[str, ...]]] = {}
    for number, name in enumerate(('gpu1', 'gpu2')):
        placement(f'resource provider create {name}')
        placement(f'resource provider inventory set {name} --resource VGPU=8')
        local = [clouds.uuid_of(f'{name} server{index}') for index in range(2)]
        servers[name] = {local[0]: (MDEVS[2 * number],), local[1]: (MDEVS[2 * number + 1],)}
        for uuid in local:
            allocated = f'{uuid} --allocation rp={name},VGPU=1 {OWNER}'
            placement(f'resource provider allocation set {allocated}')
        parents = {MDEVS[2 * number]: GPU1, MDEVS[2 * number + 1]: GPU0}
        programs = make_host(tmp_path / name, name, servers[name], parents)
        collect(placement, programs, tmp_path / f'{name}.tar')
    placement('resource provider snapshot save cloud.json')
    reshape = 'resource provider reshape'
    facts = '--host-facts gpu1.tar --host-facts gpu2.tar'
    assignments = f'{reshape} assignments -f json -o map.csv {facts}'
    assert 'nothing is compared with what is allocated' in placement(assignments).stderr
    result = placement(f'{assignments} --snapshot cloud.json')
    message = 'VGPU: 4 consumers, 4 explained, 0 unexplained\nwrote map.csv\n'
    assert (json.loads(result.stdout), result.stderr) == ([], message)
    Path('spec.yaml').write_text(SPEC)
    options = '--spec spec.yaml --snapshot cloud.json --assignments map.csv'
    placement(f'{reshape} plan {options} -o plan.json')
    shown = json.loads(placement(f'{reshape} show plan.json -f json').stdout)
    rows_of = {
        row['consumer_uuid']: (row['to_provider'], row['label'], row['evidence'])
        for tree in shown['trees']
        for row in tree['rows']
    }
    for name, local in servers.items():
        first, second = local
        assert rows_of[first] == (f'{name}_{GPU1}', 'mapped', f'mdev {local[first][0]} on {name}')
        assert rows_of[second] == (f'{name}_{GPU0}', 'mapped', f'mdev {local[second][0]} on {name}')


def test_a_server_that_the_facts_do_not_explain_keeps_its_tree_from_a_plan(
    placement, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    local = [clouds.uuid_of(f'gpu1 server{index}') for index in range(2)]
    placement('resource provider create gpu1')
    placement('resource provider inventory set gpu1 --resource VGPU=8')
    for uuid in local:
        placement(f'resource provider allocation set {uuid} --allocation rp=gpu1,VGPU=1 {OWNER}')
    programs = make_host(tmp_path / 'gpu1', 'gpu1', {local[0]: (MDEVS[0],)}, {MDEVS[0]: GPU1})
    collect(placement, programs, tmp_path / 'gpu1.tar')
    placement('resource provider snapshot save cloud.json')
    reshape = 'resource provider reshape'
    facts = '--host-facts gpu1.tar --snapshot cloud.json'
    result = placement(f'{reshape} assignments {facts} -o map.csv -f value -c subject')
    assert (result.status, result.stdout) == (3, f'{local[1]}\n')
    assert 'VGPU: 2 consumers, 1 explained, 1 unexplained\n' in result.stderr
    Path('spec.yaml').write_text(SPEC)
    plan = f'{reshape} plan --spec spec.yaml --snapshot cloud.json --assignments map.csv -o p.json'
    for options in '', ' --allow-inferred':
        refused = placement(plan + options)
        assert (refused.status, Path('p.json').exists()) == (5, False)
        assert f'1 VGPU of {local[1]} may go to gpu1_{GPU0}, gpu1_{GPU1}' in refused.stderr
    rows = Path('map.csv').read_text()
    Path('map.csv').write_text(rows.replace('VGPU,,,', f'VGPU,,gpu1_{GPU0},'))
    assert placement(plan).status == 0


DEVICES = """\
hypervisor_hostname,address,parent_addr,vendor_id,product_id,dev_type,status,instance_uuid
pci1,0000:81:00.0,,8086,1563,type-PF,available,
pci1,0000:82:00.0,,10de,2235,type-PCI,allocated,{gpu}
pci2,0000:81:00.1,0000:81:00.0,8086,1565,type-VF,allocated,{two}
pci2,0000:81:00.2,0000:81:00.0,8086,1565,type-VF,allocated,{two}
pci2,0000:81:00.3,0000:81:00.0,8086,1565,type-VF,available,
pci2,0000:83:00.0,,15b3,101e,type-PCI,allocated,{neutron}
pci3,0000:84:00.0,,10de,2236,type-PCI,allocated,{once}
pci3,0000:85:00.0,,10de,2235,type-PCI,allocated,{away}
"""
NOVA_CONF = """\
[pci]
report_in_placement = true
device_spec = {"vendor_id": "15b3", "physical_network": "physnet1"}
device_spec = {"vendor_id": "10de", "product_id": "2236", "one_time_use": "true"}
device_spec = [{"vendor_id": "10de", "resource_class": "PGPU", "traits": "a40"},
    {"vendor_id": "8086"}]
"""


def test_pci_devices_of_three_hosts_are_added_and_rolled_back(placement, tmp_path, monkeypatch):
    """Physical and virtual functions, a physical network, a device for one use, a migration."""
    monkeypatch.chdir(tmp_path)
    reshape = 'resource provider reshape'
    servers = {name: clouds.uuid_of(name) for name in ('gpu', 'two', 'neutron', 'once', 'away')}
    homes = {'gpu': 'pci1', 'two': 'pci2', 'neutron': 'pci2', 'once': 'pci3', 'away': 'pci1'}
    for host_name in ('pci1', 'pci2', 'pci3'):
        placement(f'resource provider create {host_name}')
        placement(f'resource provider inventory set {host_name} --resource VCPU=8')
    allocated = {servers[name]: f'rp={home},VCPU=1' for name, home in homes.items()}
    # What the server on its way still has where it comes from.
    allocated[clouds.uuid_of('migration')] = 'rp=pci3,VCPU=1 --consumer-type MIGRATION'
    for uuid, allocation in allocated.items():
        placement(f'resource provider allocation set {uuid} --allocation {allocation} {OWNER}')
    Path('pci.csv').write_text(DEVICES.format(**servers))
    Path('nova.conf').write_text(NOVA_CONF)
    placement('resource provider snapshot save cloud.json')
    devices = f'{reshape} devices --devices pci.csv --device-spec nova.conf -o s.yaml'
    assert 'nothing is compared with what is allocated\n' in placement(devices).stderr
    result = placement(f'{devices} --snapshot cloud.json -f json')
    message = 'wrote s.yaml\nsome consumers could not be placed, and were skipped (exit 3)\n'
    assert (result.status, result.stderr) == (3, message)
    assert [record['subject'] for record in json.loads(result.stdout)] == [
        'pci3_0000:84:00.0',
        servers['away'],
    ]
    reserved = 'pci3_0000:84:00.0 --amend --resource CUSTOM_PCI_10DE_2236:reserved=1'
    for step in (
        f'{reshape} plan --spec s.yaml --snapshot cloud.json -o p.json',
        f'{reshape} rehearse p.json --snapshot cloud.json',
        f'{reshape} apply p.json --yes',
        f'{reshape} verify p.json',
        f'resource provider inventory set {reserved}',
    ):
        done = process(step) if 'rehearse' in step else placement(step)
        assert done.status == 0, done.stderr + done.stdout

    def resources(name):
        shown = placement(f'resource provider allocation show {servers[name]} -f json')
        records = json.loads(shown.stdout)
        return dict(pair for record in records for pair in record['resources'].items())

    assert {name: resources(name) for name in servers} == {
        'gpu': {'PGPU': 1, 'VCPU': 1},
        'two': {'CUSTOM_PCI_8086_1565': 2, 'VCPU': 1},
        'neutron': {'VCPU': 1},
        'once': {'CUSTOM_PCI_10DE_2236': 1, 'VCPU': 1},
        'away': {'VCPU': 1},
    }
    back = placement(f'{reshape} rollback p.json --tree pci1 --tree pci2 --yes')
    assert back.status == 0, back.stdout
    assert resources('gpu') == {'VCPU': 1}
    # Somebody has reserved it since: that is not taken back by halves.
    assert placement(f'{reshape} rollback p.json --tree pci3 --yes').status == 3
