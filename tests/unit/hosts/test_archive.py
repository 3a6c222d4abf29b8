# SPDX-License-Identifier: Apache-2.0
import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from placementclient.basis import errors
from placementclient.hosts import archive
from tests.unit.hosts.libvirt_output import GPU0, MDEVS, SERVERS, domain, mdevctl, nodedev

FILES = {
    'hostname': 'gpu1\n',
    f'domains/{SERVERS[0]}.xml': domain(SERVERS[0], MDEVS[0]),
    'nodedevs/mdev.xml': nodedev(MDEVS[0], GPU0),
    'mdevctl.json': mdevctl(('0000:84:00.0', MDEVS[0])),
    'mdev_types': f'{GPU0}\n',
    'count': 'domains 1\nnodedevs 1\n',
}


def tar(path, files, *entries):
    with tarfile.open(path, 'w') as stream:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            stream.addfile(entry, io.BytesIO(text.encode()))
        for entry in entries:
            stream.addfile(entry, io.BytesIO(b'\0' * entry.size) if entry.isreg() else None)
    return str(path)


def folder(path, files):
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return str(path)


def entry(name, kind=tarfile.REGTYPE, size=0, link=''):
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size, link
    return made


@pytest.mark.parametrize('end', ['\n', '\r\n'], ids=['file', 'through a terminal'])
@pytest.mark.parametrize('form', ['tar', 'folder'])
def test_the_archive_of_a_host_is_read(form, end, tmp_path):
    if form == 'tar':
        path = tar(tmp_path / 'f.tar', FILES)
        Path(path).write_bytes(Path(path).read_bytes().replace(b'\n', end.encode()))
    else:
        files = {name: text.replace('\n', end) for name, text in FILES.items()}
        path = folder(tmp_path / 'f', files)
    facts = archive.read_host(path)
    assert facts.hostname == 'gpu1'
    assert [domain.mdevs for domain in facts.domains] == [(MDEVS[0],)]
    assert {device.parent for device in facts.mdevs[MDEVS[0]]} == {GPU0}
    assert len(facts.mdevs[MDEVS[0]]) == 2
    assert facts.parents == {GPU0}


def test_devices_that_are_only_defined_are_not_active(tmp_path):
    files = {**FILES, 'mdevctl-defined.json': FILES['mdevctl.json'], 'mdevctl.json': '[]'}
    del files['nodedevs/mdev.xml']
    facts = archive.read_host(folder(tmp_path, {**files, 'count': 'domains 1\nnodedevs 0\n'}))
    assert [device.is_active for device in facts.mdevs[MDEVS[0]]] == [False]


@pytest.mark.parametrize(
    ('bad', 'message'),
    [
        (entry('../evil'), "'../evil': leaves the archive"),
        (entry('/etc/evil'), "'/etc/evil': leaves the archive"),
        (entry('a/../../evil'), "'a/../../evil': leaves the archive"),
        (entry('hostname', tarfile.SYMTYPE, link='/etc/passwd'), 'is a link or a device'),
        (entry('hostname', tarfile.LNKTYPE, link='x'), 'is a link or a device'),
        (entry('domains/null', tarfile.CHRTYPE), 'is a link or a device'),
    ],
)
def test_an_archive_with_links_or_strange_paths_is_refused(bad, message, tmp_path):
    path = tar(tmp_path / 'f.tar', FILES, bad)
    with pytest.raises(errors.BadFile) as caught:
        archive.read_host(path)
    assert str(caught.value).startswith(path)
    assert str(caught.value).endswith(message)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    'make', [os.mkfifo, lambda path: os.symlink('/etc/passwd', path)], ids=['pipe', 'link']
)
def test_a_folder_with_a_link_or_a_pipe_is_refused(make, tmp_path):
    path = folder(tmp_path / 'f', FILES)
    make(tmp_path / 'f' / 'domains' / 'x.xml')
    with pytest.raises(errors.BadFile, match=r'not a regular file'):
        archive.read_host(path)


def test_a_truncated_archive_is_refused(tmp_path):
    path = Path(tar(tmp_path / 'f.tar', FILES))
    whole = path.read_bytes()
    end = len(whole.rstrip(b'\0'))
    for length in range(100, end, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(errors.BadFile):
            archive.read_host(str(path))
    with pytest.raises(errors.BadFile, match='No such file'):
        archive.read_host(str(tmp_path / 'gone.tar'))


def without(name):
    return {member: text for member, text in FILES.items() if member != name}


@pytest.mark.parametrize('form', ['tar', 'folder'])
@pytest.mark.parametrize(
    ('files', 'message'),
    [
        (without('count'), 'has no file "count": the collector did not end'),
        (without('nodedevs/mdev.xml'), 'has 1 domains and 0 node devices, and the host had 1 '),
        (without(f'domains/{SERVERS[0]}.xml'), 'has 0 domains and 1 node devices, and the host '),
        (FILES | {'count': 'domains 0\nnodedevs 1\n'}, 'and the host had 0 domains'),
        (FILES | {'count': 'domains 1\n'}, 'does not say "domains N" and "nodedevs N"'),
        (FILES | {'count': ''}, 'does not say "domains N" and "nodedevs N"'),
        ({'count': 'domains 0\nnodedevs 0\n'}, 'has no file "hostname"'),
    ],
)  # fmt: skip
def test_incomplete_facts_are_refused(form, files, message, tmp_path):
    path = tar(tmp_path / 'f.tar', files) if form == 'tar' else folder(tmp_path / 'f', files)
    with pytest.raises(errors.BadFile) as caught:
        archive.read_host(path)
    assert str(caught.value).startswith(path)
    assert message in str(caught.value)


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path, monkeypatch):
    path = folder(tmp_path / 'f', FILES | {'count': 'domains 0\nnodedevs 1\n'})
    scandir = os.scandir

    def refused(name):
        if str(name).endswith('domains'):
            raise PermissionError(13, 'Permission denied')
        return scandir(name)

    monkeypatch.setattr(os, 'scandir', refused)
    with pytest.raises(errors.BadFile, match='Permission denied'):
        archive.read_host(path)


@pytest.mark.parametrize('name', ['hostname', './hostname', f'domains/./{SERVERS[0]}.xml'])
def test_a_file_twice_in_an_archive_is_refused(name, tmp_path):
    path = tar(tmp_path / 'f.tar', FILES, entry(name))
    with pytest.raises(errors.BadFile, match='appears twice: run the script of'):
        archive.read_host(path)


def test_a_server_twice_in_an_archive_is_refused(tmp_path):
    again = {'domains/again.xml': domain(SERVERS[0]), 'count': 'domains 2\nnodedevs 1\n'}
    path = tar(tmp_path / 'f.tar', FILES | again)
    with pytest.raises(errors.BadFile) as caught:
        archive.read_host(path)
    assert f'domains/again.xml: is of server {SERVERS[0]}, as {path}: domains' in str(caught.value)


def test_a_host_that_is_given_twice_is_refused(tmp_path):
    """Not servers on several hosts, as in a migration."""
    one, other = tar(tmp_path / 'one.tar', FILES), folder(tmp_path / 'other', FILES)
    with pytest.raises(errors.BadFile) as caught:
        archive.read_hosts([one, other])
    assert str(caught.value) == f'{other}: is of host gpu1, as {one} is: give one of the two'
    assert [facts.path for facts in archive.read_hosts([one])] == [one]


@pytest.mark.parametrize(
    'kind', [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE]
)
def test_a_small_archive_with_too_much_in_it_is_refused(kind, tmp_path):
    size = 100 << 20
    with gzip.open(tmp_path / 'f.tar', 'wb') as stream:
        stream.write(entry('domains/x.xml', kind, size).tobuf())
        for _ in range(size >> 20):
            stream.write(bytes(1 << 20))
    with pytest.raises(errors.BadFile, match=r'f\.tar: has more than 64 MiB'):
        archive.read_host(str(tmp_path / 'f.tar'))


def test_a_sparse_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(tarfile.TarFile, 'extractfile', lambda *_: pytest.fail('read'))
    hole = entry('domains/x.xml')
    hole.pax_headers = {
        'GNU.sparse.major': '0',
        'GNU.sparse.size': str(archive.SIZE_LIMIT + 1),
        'GNU.sparse.map': '0,0',
    }
    with pytest.raises(errors.BadFile, match=r'f\.tar: has more than 64 MiB'):
        archive.read_host(tar(tmp_path / 'f.tar', {}, hole))


def test_a_folder_with_too_much_in_it_is_refused(tmp_path, monkeypatch):
    path = folder(tmp_path / 'f', FILES)
    monkeypatch.setattr(archive, 'SIZE_LIMIT', sum(map(len, FILES.values())) - 1)
    with pytest.raises(errors.BadFile, match='which no host can have'):
        archive.read_host(path)


def test_a_folder_has_the_archives_of_many_hosts(tmp_path):
    facts = tmp_path / 'facts'
    facts.mkdir()
    tar(facts / 'gpu1.tar', FILES)
    folder(facts / 'gpu2', FILES | {'hostname': 'gpu2\n'})
    (facts / '.hidden').write_text('not read')
    assert [host.hostname for host in archive.read_hosts([str(facts)])] == ['gpu1', 'gpu2']
    (facts / 'notes.txt').write_text('no archive')
    with pytest.raises(
        errors.BadFile, match=r'notes\.txt: damaged or cut off, or not a tar archive'
    ):
        archive.read_hosts([str(facts)])
