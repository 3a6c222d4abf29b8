from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from placementclient import errors
from placementclient.hosts import archive
from tests.unit.hosts.libvirt_output import GPU0, MDEVS, SERVERS, domain, mdevctl, nodedev

FILES = {
    'hostname': 'gpu1\n',
    f'domains/{SERVERS[0]}.xml': domain(SERVERS[0], MDEVS[0]),
    'nodedevs/mdev.xml': nodedev(MDEVS[0], GPU0),
    'mdevctl.json': mdevctl(('0000:84:00.0', MDEVS[0])),
}


def tar(path: Path, files: dict[str, str], *entries: tarfile.TarInfo) -> str:
    with tarfile.open(path, 'w') as stream:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            stream.addfile(entry, io.BytesIO(text.encode()))
        for entry in entries:
            stream.addfile(entry, io.BytesIO(b'\0' * entry.size) if entry.isreg() else None)
    return str(path)


def folder(path: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return str(path)


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = ''
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size, link
    return made


@pytest.mark.parametrize('form', ['tar', 'folder'])
def test_a_host(form: str, tmp_path: Path) -> None:
    path = tar(tmp_path / 'f.tar', FILES) if form == 'tar' else folder(tmp_path / 'f', FILES)
    facts = archive.read(path)
    assert facts.hostname == 'gpu1'
    assert [domain.mdevs for domain in facts.domains] == [(MDEVS[0],)]
    assert {device.parent for device in facts.mdevs[MDEVS[0]]} == {GPU0}
    assert len(facts.mdevs[MDEVS[0]]) == 2


@pytest.mark.parametrize(
    ('bad', 'said'),
    [
        (entry('../evil'), "'../evil': leaves the archive"),
        (entry('/etc/evil'), "'/etc/evil': leaves the archive"),
        (entry('a/../../evil'), "'a/../../evil': leaves the archive"),
        (entry('hostname', tarfile.SYMTYPE, link='/etc/passwd'), 'is a link or a device'),
        (entry('hostname', tarfile.LNKTYPE, link='x'), 'is a link or a device'),
        (entry('domains/null', tarfile.CHRTYPE), 'is a link or a device'),
        (entry('domains/x.xml', size=archive.LARGEST_MEMBER + 1), 'has more than 16 MiB'),
    ],
)
def test_what_an_archive_must_not_have(bad: tarfile.TarInfo, said: str, tmp_path: Path) -> None:
    path = tar(tmp_path / 'f.tar', FILES, bad)
    with pytest.raises(errors.BadFile) as caught:
        archive.read(path)
    assert str(caught.value).startswith(path)
    assert str(caught.value).endswith(said)
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_has_no_links(tmp_path: Path) -> None:
    path = folder(tmp_path / 'f', FILES)
    os.symlink('/etc/passwd', tmp_path / 'f' / 'domains' / 'x.xml')
    with pytest.raises(errors.BadFile):
        archive.read(path)


def test_a_folder_has_no_pipes(tmp_path: Path) -> None:
    path = folder(tmp_path / 'f', FILES)
    os.mkfifo(tmp_path / 'f' / 'domains' / 'x.xml')
    with pytest.raises(errors.BadFile, match='not a regular file'):
        archive.read(path)


@pytest.mark.parametrize('content', [b'', b'no tar', b'\x1f\x8b\x08', b'\0' * 1024])
def test_what_is_no_archive(content: bytes, tmp_path: Path) -> None:
    (tmp_path / 'f.tar').write_bytes(content)
    with pytest.raises(errors.BadFile) as caught:
        archive.read(str(tmp_path / 'f.tar'))
    assert str(caught.value).startswith(str(tmp_path / 'f.tar'))


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = Path(tar(tmp_path / 'f.tar', FILES))
    whole = path.read_bytes()
    end = len(whole.rstrip(b'\0'))
    for length in range(100, end, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(errors.BadFile):
            archive.read(str(path))
    with pytest.raises(errors.BadFile, match='No such file'):
        archive.read(str(tmp_path / 'gone.tar'))
