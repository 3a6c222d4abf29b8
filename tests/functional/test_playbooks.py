# SPDX-License-Identifier: Apache-2.0
"""The playbooks of the documentation, on nodes that are not there, and a Placement over HTTP."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from placementclient.api import allocation
from placementclient.hosts import archive
from placementclient.reading import capture
from tests.functional import clouds, guide
from tests.functional.applying import client_of
from tests.functional.nodes import Nodes
from tests.functional.stopping import HERE
from tests.unit.hosts.test_archive import FILES, tar

pytestmark = pytest.mark.slow

EXAMPLES = guide.SOURCE / 'examples'
#: The servers of the guide: on one card or the other, and on both; one that is shut off.
ONE, OTHER = '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8', '9e1b54d2-6c0e-4b5c-8a52-3f2a7d9c4b10'
BOTH, ON = '77aa0f3e-9a55-4a43-9a0c-0d5c8f3f7e21', 'b3d0c9a4-1f8e-4c76-9d3b-5a6e7f809112'
OFF = 'd41f6c57-7be2-4d0c-a6f9-c2b81e05d734'
#: What the playbooks take from the inventory or from -e.
SETTING = re.compile(
    r'\b(?:reshape|nova_compute|libvirt)_[a-z_]+|\b(?:reviewed|installed)\b(?=.* default)'
)
DONE = ('-e', 'reviewed=true', '-e', 'installed=true')
RUNNING, STOPPED = ('active enabled', 'enabled'), ('inactive masked', 'disabled reshape')


class Night:
    """The guide's hosts, with one server that is shut off, and who runs playbooks on them."""

    def __init__(self, folder, service):
        self.folder, self.service = folder, service
        self.work = folder / 'reshape'
        self.nodes = Nodes(folder / 'nodes', ('gpu1', 'gpu2'))
        for name in self.nodes.names:
            shutil.copytree(guide.HOSTS / name, folder / 'nodes' / name)
        domain = folder / 'nodes' / 'gpu2' / 'domains' / f'{OFF}.xml'
        text = domain.read_text()
        start, end = text.index('    <hostdev'), text.index('  </devices>')
        # Libvirt numbers the domains that run.
        domain.write_text((text[:start] + text[end:]).replace(" id='7'", '', 1))
        shutil.copy(guide.HOSTS / 'vgpu.yaml', folder)
        self.client = client_of(service.url)
        clouds.emptied(self.client)
        clouds.load(self.client, guide.hosts())

        self.environment = {
            **os.environ,
            'PATH': f'{self.nodes.programs}:{os.environ["PATH"]}',
            'PWD': str(folder),
            'PYTHONPATH': str(HERE),
            'ANSIBLE_HOME': str(folder / 'ansible'),
            'ANSIBLE_PIPELINING': '1',
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': service.url,
        }

    def placement(self, *arguments):
        """What somebody types beside the playbooks."""
        command = [self.nodes.programs / 'placement', 'resource', 'provider', *arguments]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True)

    def started(self, playbook, *arguments):
        """A playbook that runs."""
        return subprocess.Popen(
            [
                *(Path(sys.executable).parent / 'ansible-playbook', EXAMPLES / playbook),
                *('-i', self.nodes.inventory, '-e', 'reshape_spec=vgpu.yaml', *arguments),
            ],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, playbook, *arguments):
        """How a playbook ends, and what it prints."""
        running = self.started(playbook, *arguments)
        printed, _ = running.communicate(timeout=300)
        return running.returncode, printed

    def killed(self, playbook, *arguments, at):
        """Let a playbook run up to a write of the service, and kill all that belongs to it."""
        self.service.stop_at(at, 'after')
        running = self.started(playbook, *arguments)
        assert self.service.wait_until_reached(running), running.communicate()[0]
        # A worker of Ansible is in a session of its own, so the group is not all of it.
        for pid in [*descendants(running.pid), running.pid]:
            os.kill(pid, signal.SIGKILL)
        running.wait()
        self.service.go_on()

    def content(self):
        """The files of the reshape."""
        return {
            str(path.relative_to(self.work)): path.read_bytes()
            for path in self.work.rglob('*')
            if path.is_file()
        }

    def vgpus(self):
        """Who has how many VGPU, by the provider's name."""
        snapshot = clouds.captured(self.client)
        return {
            state.name: {
                consumer.uuid: consumer.allocations[state.uuid]['VGPU']
                for consumer in clouds.holders(snapshot, state.uuid)
            }
            for state in snapshot.providers.values()
            if 'VGPU' in state.inventories
        }


def descendants(pid):
    """The processes that a process has started, and those that they have."""
    children = [
        int(number)
        for task in Path(f'/proc/{pid}/task').iterdir()
        for number in (task / 'children').read_text().split()
    ]
    return children + [below for child in children for below in descendants(child)]


@pytest.fixture
def night(tmp_path, service):
    return Night(tmp_path, service)


def test_every_setting_is_documented():
    page = guide.page('playbooks')
    files = [*EXAMPLES.glob('*.yml'), *(EXAMPLES / 'tasks').glob('*.yml')]
    used = {name for path in files for name in SETTING.findall(path.read_text())}
    assert len(used) > 8
    assert used == set(re.findall(r'^   \* - ``([a-z_]+)``$', page, re.MULTILINE))


def changed(printed):
    """How many tasks have changed anything, by the recap."""
    return sum(int(number) for number in re.findall(r'changed=(\d+)', printed))


def test_an_interrupted_window_is_continued_by_the_same_playbook(night):
    """There and back, with a kill on the way each time, and once more when all is done."""
    before = night.vgpus()
    status, printed = night.run('upgrade.yml', '-e', 'reshape_spec=nonsuch.yaml')
    assert (status, night.nodes.state()) == (2, {'gpu1': RUNNING, 'gpu2': RUNNING}), printed
    assert 'nonsuch.yaml, and nothing was done' in printed
    status, printed = night.run('rollback.yml', '-e', 'reshape_folder=nonsuch')
    assert (status, night.nodes.calls()) == (2, []), printed
    assert 'nonsuch, and nothing was done' in printed

    spec = night.folder / 'vgpu.yaml'
    good = spec.read_text()
    spec.write_text(good.replace('total: 4, max_unit: 4', 'total: 1, max_unit: 1'))
    status, printed = night.run('upgrade.yml')
    assert (status, 'plan: exit status 4' in printed) == (2, True), printed
    assert 'No assignment satisfies the specification' in printed
    spec.write_text(good)

    status, printed = night.run('upgrade.yml')
    assert (status, night.nodes.state()) == (2, {'gpu1': STOPPED, 'gpu2': STOPPED}), printed
    assert 'plan: exit status 5' in printed
    assert f'gpu2: 1 VGPU of {OFF} may go to' in printed
    assert f'{OFF}","holds 1 VGPU on gpu2, is shut off, and has no mediated device' in printed
    assert set(night.nodes.calls()) == {
        f'{did} {what}'
        for name in night.nodes.names
        for did, what in (
            ('disable', name),
            ('stop', f'nova-compute-{name}'),
            ('mask', f'nova-compute-{name}'),
        )
    }
    rows = night.work / 'undecided.csv'
    row = f'{OFF},VGPU,1,'
    rows.write_text(rows.read_text().replace(row, f'{row}gpu2_pci_0000_85_00_0'))
    collected = night.content()

    # The first tree is done; the second has its children, and they are empty.
    night.killed('upgrade.yml', '-e', 'reviewed=true', at=11)
    half = {
        'gpu1_pci_0000_84_00_0': {ONE: 1, BOTH: 1},
        'gpu1_pci_0000_85_00_0': {OTHER: 1, BOTH: 1},
    }
    assert night.vgpus() == {**half, 'gpu2': {ON: 1, OFF: 1}}
    planned = night.content()
    assert planned.items() >= collected.items()
    assert night.nodes.state() == {'gpu1': STOPPED, 'gpu2': STOPPED}
    assert night.nodes.calls() == []

    status, printed = night.run('upgrade.yml', *DONE)
    assert (status, night.nodes.state()) == (0, {'gpu1': RUNNING, 'gpu2': RUNNING}), printed
    done = {'gpu2_pci_0000_84_00_0': {ON: 1}, 'gpu2_pci_0000_85_00_0': {OFF: 1}}
    assert night.vgpus() == {**half, **done}
    retained = night.content()
    assert {name for name in planned if retained[name] != planned[name]} == {'plan.json.journal'}
    assert retained['plan.json.journal'].startswith(planned['plan.json.journal'])
    night.nodes.calls()

    status, printed = night.run('upgrade.yml', *DONE)
    assert (status, changed(printed), night.nodes.calls()) == (0, 0, []), printed
    assert (night.content(), night.vgpus()) == (retained, {**half, **done})

    night.killed('rollback.yml', at=3)
    assert night.nodes.state() == {'gpu1': STOPPED, 'gpu2': STOPPED}
    status, printed = night.run('rollback.yml', '-e', 'installed=true')
    assert (status, night.nodes.state()) == (0, {'gpu1': RUNNING, 'gpu2': RUNNING}), printed
    assert night.vgpus() == before
    night.nodes.calls()

    status, printed = night.run('rollback.yml', '-e', 'installed=true')
    assert (status, changed(printed), night.nodes.calls()) == (0, 0, []), printed


def test_the_playbook_stops_at_changes_since_the_review(night):
    # Somebody has disabled this one before, for a reason of their own.
    (night.nodes.folder / 'services' / 'gpu2').write_text('disabled broken fan\n')
    night.work.mkdir()
    guide.write_map(night.work / 'map.csv')
    night.placement('snapshot', 'save', 'reshape/cloud.json')
    night.placement(
        *('reshape', 'plan', '--spec', 'vgpu.yaml', '--snapshot', 'reshape/cloud.json'),
        *('--assignments', 'reshape/map.csv', '-o', 'reshape/plan.json'),
    )
    plan = (night.work / 'plan.json').read_bytes()
    newcomer = capture.capture(night.client).consumers[ONE]
    uuid = clouds.uuid_of('newcomer')
    allocation.set(night.client, replace(newcomer, uuid=uuid, generation=None))
    status, printed = night.run('upgrade.yml', '-e', 'reviewed=true')
    assert (status, 'apply: exit status 3' in printed) == (2, True), printed
    assert f'consumer {uuid} holds VGPU on gpu1 that it did not' in printed
    assert "--limit 'computes:!HOST'" in printed

    status, printed = night.run('upgrade.yml', '--limit', 'computes:!gpu1', *DONE)
    assert status == 0, printed
    assert night.nodes.state() == {
        'gpu1': STOPPED,
        'gpu2': ('active enabled', 'disabled broken fan'),
    }
    assert (night.work / 'plan.json').read_bytes() == plan


def test_check_mode_changes_nothing(night):
    for playbook in 'upgrade.yml', 'rollback.yml':
        status, printed = night.run(playbook, '--check')
        assert status == 0, printed
        assert 'Check mode ends here.' in printed
        assert (night.nodes.calls(), night.content()) == ([], {})
        assert night.nodes.state() == {'gpu1': RUNNING, 'gpu2': RUNNING}
        night.work.mkdir(exist_ok=True)


def test_a_host_that_says_it_is_another_is_not_reshaped_as_that(night):
    (night.folder / 'nodes' / 'gpu2' / 'hostname').write_text('gpu1\n')
    for arguments in (), ('--limit', 'gpu2'), ('-e', '{"nova_compute_hypervisor": "gpu2"}'):
        status, printed = night.run('upgrade.yml', *arguments)
        assert status == 2, printed
        assert 'gpu2 says that it is gpu1, and nothing was done' in ' '.join(printed.split())
        assert (night.nodes.calls(), night.content()) == ([], {})


def test_incomplete_facts_or_those_of_another_host_are_collected_again(night):
    facts = night.work / 'facts'
    facts.mkdir(parents=True)
    (facts / 'gpu1.tar').write_bytes(bytes(1024))
    tar(facts / 'gpu2.tar', FILES)
    assert archive.read_host(str(facts / 'gpu2.tar')).hostname == 'gpu1'
    status, printed = night.run('upgrade.yml')
    assert (status, 'plan: exit status 5' in printed) == (2, True), printed
    for name, servers in ('gpu1', {ONE, OTHER, BOTH}), ('gpu2', {ON, OFF}):
        collected = archive.read_host(str(facts / f'{name}.tar'))
        assert (collected.hostname, {domain.uuid for domain in collected.domains}) == (
            name,
            servers,
        )
    retained = {path: path.read_bytes() for path in facts.iterdir()}
    assert sorted(path.name for path in retained) == ['gpu1.tar', 'gpu2.tar']
    # Those that are whole are believed: the hosts may have changed since.
    shutil.rmtree(night.folder / 'nodes' / 'gpu1' / 'domains')
    night.run('upgrade.yml')
    assert {path: path.read_bytes() for path in facts.iterdir()} == retained
