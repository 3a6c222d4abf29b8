# SPDX-License-Identifier: Apache-2.0
"""The collector under real shells: it says all of a host, or fails and leaves nothing behind."""

import os
import shutil
import subprocess
import tarfile

import pytest

from placementclient.hosts import archive
from tests.functional import clouds
from tests.functional.collecting import collect, make_host
from tests.unit.hosts.libvirt_output import GPU0, MDEVS

#: Every POSIX shell that is here; ``sh`` is everywhere.
SHELLS = [shell for shell in ('sh', 'dash', 'busybox sh', 'bash') if shutil.which(shell.split()[0])]


@pytest.mark.parametrize('shell', SHELLS)
def test_collector_packs_all_facts_of_a_host_and_no_secret(shell, placement, tmp_path):
    server = clouds.uuid_of('server0')
    programs = make_host(tmp_path, 'gpu1', {server: (MDEVS[0],)}, {MDEVS[0]: GPU0})
    collect(placement, programs, tmp_path / 'gpu1.tar', shell)
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
    facts = archive.read_host(str(tmp_path / 'gpu1.tar'))
    assert (facts.hostname, facts.parents) == ('gpu1', {GPU0})
    assert b'do-not-tell' not in (tmp_path / 'gpu1.tar').read_bytes()
    assert not [
        path for path in tmp_path.iterdir() if path.name not in ('answers', 'bin', 'gpu1.tar')
    ]


def test_collector_leaves_out_a_server_that_ends_meanwhile(placement, tmp_path):
    server, gone = clouds.uuid_of('server0'), clouds.uuid_of('server1')
    programs = make_host(tmp_path, 'gpu1', {server: (), gone: ()}, {})
    (tmp_path / 'answers' / f'dumpxml {gone}').unlink()
    virsh = (programs / 'virsh').read_text()
    # It is listed once, and then never again.
    flag = tmp_path / 'once'
    once = f'case "$*" in list*) [ -e \'{flag}\' ] && {{ echo {server}; exit; }}\n'
    once += f"    : > '{flag}' ;;\nesac\ncat "
    (programs / 'virsh').write_text(virsh.replace('cat ', once, 1).replace('|| exit 1', '2>&-'))
    collect(placement, programs, tmp_path / 'gpu1.tar')
    facts = archive.read_host(str(tmp_path / 'gpu1.tar'))
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
def test_collector_fails_where_a_command_of_the_host_fails(command, placement, tmp_path):
    server = clouds.uuid_of('server0')
    programs = make_host(tmp_path, 'gpu1', {server: (MDEVS[0],)}, {MDEVS[0]: GPU0})
    (tmp_path / 'answers' / command).unlink()
    files = set(tmp_path.iterdir()) | {tmp_path / 'collect.sh'}
    for arguments in (), ('gpu1.tar',):
        done = run_script(placement, programs, *arguments)
        assert (done.returncode, done.stdout) == (1, b'')
        assert f'collect.sh: {FAILURES[command]}\n' in done.stderr.decode()
        assert set(tmp_path.iterdir()) == files


def test_collector_refuses_a_server_name_that_is_no_uuid(placement, tmp_path):
    programs = make_host(tmp_path, 'gpu1', {}, {})
    (tmp_path / 'answers' / 'list --all --uuid').write_text('../../etc/passwd\n')
    done = run_script(placement, programs)
    assert (done.returncode, done.stdout) == (1, b'')
    assert b'virsh list printed a name that is none: ../../etc/passwd' in done.stderr


@pytest.mark.parametrize('name', ['gpu1.tar', 'host:x.tar', '-C', 'there.tar', 'a b/it.tar'])
def test_the_file_that_the_collector_writes_is_for_its_owner_alone(name, placement, tmp_path):
    programs = make_host(tmp_path, 'gpu1', {}, {})
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    if name == 'there.tar':
        target.touch()
        target.chmod(0o666)
    done = run_script(placement, programs, name)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'', b'')
    assert target.stat().st_mode & 0o777 == 0o600
    assert archive.read_host(str(target)).hostname == 'gpu1'
    assert sorted(path.name for path in target.parent.iterdir() if 'tar' in path.name) in (
        [target.name],
        [],
    )


@pytest.mark.parametrize('kind', ['link', 'dangling link', 'link to a folder', 'folder', 'pipe'])
def test_the_collector_follows_no_link_and_replaces_nothing_but_files(kind, placement, tmp_path):
    programs = make_host(tmp_path, 'gpu1', {}, {})
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
