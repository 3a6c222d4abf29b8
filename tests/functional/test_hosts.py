# SPDX-License-Identifier: Apache-2.0
"""From hosts to a plan: the collector under real shells, and what its archives become."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from placementclient.hosts import archive
from tests.functional import clouds
from tests.functional.conftest import process
from tests.programs import Placement
from tests.unit.hosts.libvirt_output import (
    CAPABILITIES,
    GPU0,
    GPU1,
    MDEVS,
    domain,
    mdevctl,
    nodedev,
    pci,
)

#: Every POSIX shell that is here; ``sh`` is everywhere.
SHELLS = [shell for shell in ('sh', 'dash', 'busybox sh', 'bash') if shutil.which(shell.split()[0])]
SECRET = "passwd='do-not-tell'"


def host(folder, name, servers, parents):
    """A folder with a virsh and an mdevctl that print what a host's would.

    :param servers: the mediated devices of each
    :param parents: of the mediated devices
    """
    answers = folder / 'answers'
    answers.mkdir(parents=True)
    files = {
        'hostname': f'{name}\n\n',
        'capabilities': CAPABILITIES,
        'list --all --uuid': '\n'.join([*servers, '']),
        'nodedev-list': '\n'.join(f'mdev_{mdev}' for mdev in parents),
        'nodedev-list --cap mdev': '\n'.join(f'mdev_{mdev}' for mdev in parents),
        'nodedev-list --cap mdev_types': '\n'.join({*parents.values()}),
        **{f'dumpxml {uuid}': domain(uuid, *mdevs) for uuid, mdevs in servers.items()},
        **{f'nodedev-dumpxml mdev_{m}': nodedev(m, parent) for m, parent in parents.items()},
        **{f'nodedev-dumpxml {parent}': pci(parent) for parent in parents.values()},
    }
    for command, text in files.items():
        (answers / command).write_text(text)
    defined = [
        (parent[4:].replace('_', ':', 2).replace('_', '.'), m) for m, parent in parents.items()
    ]
    (answers / 'mdevctl').write_text(mdevctl(*defined))
    programs = folder / 'bin'
    programs.mkdir()
    # As virsh: secrets only where they are asked for, and the same global options.
    (programs / 'virsh').write_text(f"""#!/bin/sh
while :; do
    case $1 in
        --readonly | --quiet) shift ;;
        --connect) shift 2 ;;
        *) break ;;
    esac
done
case "$*" in *--security-info*) echo "{SECRET}" ;; esac
cat '{answers}'/"$*" || exit 1
""")
    (programs / 'mdevctl').write_text(f"#!/bin/sh\ncat '{answers}/mdevctl'\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def collected(placement, programs, target, shell='sh'):
    script = placement('resource', 'provider', 'reshape', 'collector').stdout
    with open(target, 'wb') as stream:
        done = subprocess.run(
            shell.split(),
            input=script.encode(),
            stdout=stream,
            stderr=subprocess.PIPE,
            env={'PATH': f'{programs}:{os.environ["PATH"]}'},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b'')


@pytest.mark.parametrize('shell', SHELLS)
def test_the_collector(shell, placement, tmp_path):
    server = clouds.uuid_of('server0')
    programs = host(tmp_path, 'gpu1', {server: (MDEVS[0],)}, {MDEVS[0]: GPU0})
    collected(placement, programs, tmp_path / 'gpu1.tar', shell)
    with tarfile.open(tmp_path / 'gpu1.tar') as stream:
        names = set(stream.getnames())
        assert stream.getnames()[-1] == 'count'
    assert names == {
        'hostname',
        'capabilities.xml',
        'mdev_types',
        'domains',
        f'domains/{server}.xml',
        'nodedevs',
        f'nodedevs/mdev_{MDEVS[0]}.xml',
        f'nodedevs/{GPU0}.xml',
        'mdevctl.json',
        'mdevctl-defined.json',
        'count',
    }
    facts = archive.read(str(tmp_path / 'gpu1.tar'))
    assert (facts.hostname, facts.parents) == ('gpu1', {GPU0})
    assert b'do-not-tell' not in (tmp_path / 'gpu1.tar').read_bytes()
    assert not [
        path for path in tmp_path.iterdir() if path.name not in ('answers', 'bin', 'gpu1.tar')
    ]


def test_a_domain_that_goes_while_it_is_read(placement, tmp_path):
    server, gone = clouds.uuid_of('server0'), clouds.uuid_of('server1')
    programs = host(tmp_path, 'gpu1', {server: (), gone: ()}, {})
    (tmp_path / 'answers' / f'dumpxml {gone}').unlink()
    virsh = (programs / 'virsh').read_text()
    # It is listed once, and then never again.
    flag = tmp_path / 'once'
    once = f'case "$*" in list*) [ -e \'{flag}\' ] && {{ echo {server}; exit; }}\n'
    once += f"    : > '{flag}' ;;\nesac\ncat "
    (programs / 'virsh').write_text(virsh.replace('cat ', once, 1).replace('|| exit 1', '2>&-'))
    collected(placement, programs, tmp_path / 'gpu1.tar')
    facts = archive.read(str(tmp_path / 'gpu1.tar'))
    assert [domain.uuid for domain in facts.domains] == [server]


#: What the collector asks, and what it says where the host does not answer.
FAILURES = {
    'hostname': 'virsh hostname failed',
    'capabilities': 'virsh capabilities failed',
    'list --all --uuid': 'virsh list failed',
    'nodedev-list --cap mdev': 'virsh nodedev-list --cap mdev failed',
    'nodedev-list --cap mdev_types': 'virsh nodedev-list --cap mdev_types failed',
    'mdevctl': 'mdevctl list failed',
}


def run_script(placement, programs, *arguments):
    """The collector, as Ansible runs it: in the folder of the host, with the name of a file."""
    script = programs.parent / 'collect.sh'
    script.write_text(placement('resource', 'provider', 'reshape', 'collector').stdout)
    return subprocess.run(
        [*SHELLS[0].split(), script, *arguments],
        cwd=programs.parent,
        capture_output=True,
        env={'PATH': f'{programs}:{os.environ["PATH"]}', 'TMPDIR': str(programs.parent)},
        check=False,
    )


@pytest.mark.parametrize('command', FAILURES)
def test_a_command_that_fails_is_not_taken_for_a_host_that_has_nothing(
    command, placement, tmp_path
):
    server = clouds.uuid_of('server0')
    programs = host(tmp_path, 'gpu1', {server: (MDEVS[0],)}, {MDEVS[0]: GPU0})
    (tmp_path / 'answers' / command).unlink()
    files = set(tmp_path.iterdir()) | {tmp_path / 'collect.sh'}
    for arguments in (), ('gpu1.tar',):
        done = run_script(placement, programs, *arguments)
        assert (done.returncode, done.stdout) == (1, b'')
        assert f'collect.sh: {FAILURES[command]}\n' in done.stderr.decode()
        assert set(tmp_path.iterdir()) == files


def test_a_name_that_is_none_is_not_passed_over(placement, tmp_path):
    programs = host(tmp_path, 'gpu1', {}, {})
    (tmp_path / 'answers' / 'list --all --uuid').write_text('../../etc/passwd\n')
    done = run_script(placement, programs)
    assert (done.returncode, done.stdout) == (1, b'')
    assert b'virsh list printed a name that is none: ../../etc/passwd' in done.stderr


@pytest.mark.parametrize('name', ['gpu1.tar', 'host:x.tar', '-C', 'there.tar', 'a b/it.tar'])
def test_the_file_that_the_collector_writes_is_for_its_owner_alone(name, placement, tmp_path):
    programs = host(tmp_path, 'gpu1', {}, {})
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    if name == 'there.tar':
        target.touch()
        target.chmod(0o666)
    done = run_script(placement, programs, name)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'', b'')
    assert target.stat().st_mode & 0o777 == 0o600
    assert archive.read(str(target)).hostname == 'gpu1'
    assert sorted(path.name for path in target.parent.iterdir() if 'tar' in path.name) in (
        [target.name],
        [],
    )


@pytest.mark.parametrize('kind', ['link', 'dangling link', 'link to a folder', 'folder', 'pipe'])
def test_the_collector_follows_no_link_and_replaces_nothing_but_files(kind, placement, tmp_path):
    programs = host(tmp_path, 'gpu1', {}, {})
    target, other = tmp_path / 'gpu1.tar', tmp_path / 'other'
    if kind == 'folder':
        target.mkdir()
    elif kind == 'pipe':
        os.mkfifo(target)
    else:
        target.symlink_to(other)
    if kind == 'link':
        other.write_text('precious')
    elif kind == 'link to a folder':
        other.mkdir()
    files = set(tmp_path.rglob('*')) | {tmp_path / 'collect.sh'}
    done = run_script(placement, programs, 'gpu1.tar')
    assert (done.returncode, done.stdout) == (1, b'')
    assert b'gpu1.tar is a link, or no regular file: name another file' in done.stderr
    assert set(tmp_path.rglob('*')) == files
    assert kind != 'link' or other.read_text() == 'precious'


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


def test_from_two_hosts_to_a_plan(placement, tmp_path, monkeypatch):
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
        programs = host(tmp_path / name, name, servers[name], parents)
        collected(placement, programs, tmp_path / f'{name}.tar')
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
    programs = host(tmp_path / 'gpu1', 'gpu1', {local[0]: (MDEVS[0],)}, {MDEVS[0]: GPU1})
    collected(placement, programs, tmp_path / 'gpu1.tar')
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


@pytest.mark.parametrize('where', ['placement', 'placement_over_http'])
def test_devices_of_three_hosts(where, request, tmp_path, monkeypatch):
    """Physical and virtual functions, a physical network, a device for one use, a migration."""
    monkeypatch.chdir(tmp_path)
    run: Placement = request.getfixturevalue(where)
    reshape = 'resource provider reshape'
    servers = {name: clouds.uuid_of(name) for name in ('gpu', 'two', 'neutron', 'once', 'away')}
    homes = {'gpu': 'pci1', 'two': 'pci2', 'neutron': 'pci2', 'once': 'pci3', 'away': 'pci1'}
    for host_name in ('pci1', 'pci2', 'pci3'):
        run(f'resource provider create {host_name}')
        run(f'resource provider inventory set {host_name} --resource VCPU=8')
    allocated = {servers[name]: f'rp={home},VCPU=1' for name, home in homes.items()}
    # What the server on its way still has where it comes from.
    allocated[clouds.uuid_of('migration')] = 'rp=pci3,VCPU=1 --consumer-type MIGRATION'
    for uuid, allocation in allocated.items():
        run(f'resource provider allocation set {uuid} --allocation {allocation} {OWNER}')
    Path('pci.csv').write_text(DEVICES.format(**servers))
    Path('nova.conf').write_text(NOVA_CONF)
    run('resource provider snapshot save cloud.json')
    devices = f'{reshape} devices --devices pci.csv --device-spec nova.conf -o s.yaml'
    assert 'nothing is compared with what is allocated\n' in run(devices).stderr
    result = run(f'{devices} --snapshot cloud.json -f json')
    message = 'wrote s.yaml\nsomething does not fit, and is left out (exit 3)\n'
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
        done = process(step) if 'rehearse' in step else run(step)
        assert done.status == 0, done.stderr + done.stdout

    def resources(name):
        shown = run(f'resource provider allocation show {servers[name]} -f json')
        records = json.loads(shown.stdout)
        return dict(pair for record in records for pair in record['resources'].items())

    assert {name: resources(name) for name in servers} == {
        'gpu': {'PGPU': 1, 'VCPU': 1},
        'two': {'CUSTOM_PCI_8086_1565': 2, 'VCPU': 1},
        'neutron': {'VCPU': 1},
        'once': {'CUSTOM_PCI_10DE_2236': 1, 'VCPU': 1},
        'away': {'VCPU': 1},
    }
    back = run(f'{reshape} rollback p.json --tree pci1 --tree pci2 --yes')
    assert back.status == 0, back.stdout
    assert resources('gpu') == {'VCPU': 1}
    # Somebody has reserved it since: that is not taken back by halves.
    assert run(f'{reshape} rollback p.json --tree pci3 --yes').status == 3


def test_another_card_in_the_slot_does_not_become_a_second_class_of_it(
    placement, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    provider = 'resource provider'
    placement(f'{provider} create pci1')
    placement(f'{provider} inventory set pci1 --resource VCPU=8')
    parent = json.loads(placement(f'{provider} show pci1 -f json').stdout)['uuid']
    for address, product in ('0000:81:00.0', '2204'), ('0000:83:00.0', '2684'):
        name = f'pci1_{address}'
        placement(f'{provider} create {name} --parent-provider {parent}')
        placement(f'resource class set CUSTOM_PCI_10DE_{product}')
        placement(f'{provider} inventory set {name} --resource CUSTOM_PCI_10DE_{product}=1')
        placement(f'{provider} trait set {name} --trait COMPUTE_MANAGED_PCI_DEVICE')
    header, *_ = DEVICES.splitlines()
    # The answers of two cells, joined: a header each.
    rows = [header, 'pci1,0000:81:00.0,,10de,2684,type-PCI,available,'] * 2
    rows[3] = rows[3].replace('81', '82')
    Path('pci.csv').write_text('\n'.join(rows))
    Path('nova.conf').write_text('[DEFAULT]\npci_passthrough_whitelist = {"vendor_id": "10de"}\n')
    placement(f'{provider} snapshot save cloud.json')
    devices = f'{provider} reshape devices --devices pci.csv --device-spec nova.conf -o s.json'
    result = placement(f'{devices} --snapshot cloud.json -f value -c subject')
    assert (result.status, result.stdout) == (3, 'pci1_0000:81:00.0\npci1_0000:83:00.0\n')
    entries = json.loads(Path('s.json').read_text())['additions']
    assert [entry['resource_provider'] for entry in entries] == ['pci1_0000:82:00.0']
