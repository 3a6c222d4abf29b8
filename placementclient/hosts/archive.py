"""The archives and folders that the collector writes, read without trust in what is in them."""

from __future__ import annotations

import lzma
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple

from placementclient import errors
from placementclient.hosts import libvirt
from placementclient.hosts.facts import Domain, HostFacts, MediatedDevice

#: A file of an archive may have so many bytes, all together, and there may be so many of them.
LARGEST_MEMBER = 16 * 2**20
LARGEST_ARCHIVE = 512 * 2**20
MOST_MEMBERS = 20_000
#: How archives begin of which the compression tells whether they are complete: gzip, bzip2, xz.
_COMPRESSED = (b'\x1f\x8b', b'BZ', b'\xfd7')


class Member(NamedTuple):
    """A file of an archive.

    :param name: its path in the archive: ``domains/<uuid>.xml``
    :param path: the same with the archive's, for errors
    """

    name: str
    path: str
    content: bytes


def read(path: str) -> HostFacts:
    """The facts of one host.

    :param path: of a tar archive, compressed or not, or of a folder
    :raises errors.BadFile: if it is neither, or has what it must not have: a link, a path that
        leaves it, a file of more than 16 MiB
    """
    hostname = ''
    domains: list[Domain] = []
    mdevs: dict[str, list[MediatedDevice]] = {}
    cells: dict[int, int] = {}
    for member in _members(path):
        folder, _, name = member.name.rpartition('/')
        if member.name == 'hostname':
            hostname = libvirt.hostname(member.content, member.path)
        elif member.name == 'capabilities.xml':
            cells = libvirt.cells(member.content, member.path)
        elif folder == 'domains' and name.endswith('.xml'):
            domains.append(libvirt.domain(member.content, member.path))
        elif folder == 'nodedevs' and name.endswith('.xml'):
            device = libvirt.mediated_device(member.content, member.path)
            if device is not None:
                mdevs.setdefault(device.uuid, []).append(device)
        elif member.name in ('mdevctl.json', 'mdevctl-defined.json'):
            for device in libvirt.mdevctl(member.content, member.path):
                mdevs.setdefault(device.uuid, []).append(device)
    if not hostname:
        raise errors.BadFile(path, 'has no file "hostname": not what the collector writes')
    return HostFacts(
        hostname,
        path,
        tuple(sorted(domains, key=lambda domain: domain.uuid)),
        {uuid: tuple(found) for uuid, found in sorted(mdevs.items())},
        cells,
    )


def _members(path: str) -> Iterator[Member]:
    count = size = 0
    try:
        for member in _of_folder(path) if os.path.isdir(path) else _of_tar(path):
            count, size = count + 1, size + len(member.content)
            if count > MOST_MEMBERS or size > LARGEST_ARCHIVE:
                raise errors.BadFile(path, 'has more than a host can have: not read on')
            yield member
    except (
        OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError, TypeError, ValueError
    ) as reason:  # fmt: skip
        # The TypeError is of tarfile, where a compressed archive ends within its header; the
        # ValueError of a name with a NUL byte, which a line of a batch can have.
        said = getattr(reason, 'strerror', None) or 'not a tar archive, or damaged'
        raise errors.BadFile(path, said) from None


def _of_folder(path: str) -> Iterator[Member]:
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            whole = os.path.join(folder, name)
            descriptor = os.open(whole, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, 'rb') as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise errors.BadFile(whole, 'not a regular file')
                inside = os.path.relpath(whole, path).replace(os.sep, '/')
                yield Member(inside, whole, _content(stream, whole))


def _of_tar(path: str) -> Iterator[Member]:
    with open(path, 'rb') as raw:
        if raw.read(2) not in _COMPRESSED:
            # A copy that was cut off would read as a shorter one; the end has two empty blocks.
            raw.seek(-min(2 * tarfile.BLOCKSIZE, os.fstat(raw.fileno()).st_size), os.SEEK_END)
            if any(raw.read()) or raw.tell() < 2 * tarfile.BLOCKSIZE:
                raise errors.BadFile(path, 'not a tar archive, or not complete')
    # As a stream: what comes later is not looked for, and nothing is held beside one member.
    with tarfile.open(path, 'r|*') as archive:
        for entry in archive:
            name = entry.name.removeprefix('./')
            whole = f'{path}: {entry.name!r}'
            if name.startswith('/') or '..' in name.split('/') or '\0' in name:
                raise errors.BadFile(whole, 'leaves the archive')
            if entry.isdir():
                continue
            if not entry.isreg():
                raise errors.BadFile(whole, 'is a link or a device')
            if entry.size > LARGEST_MEMBER:
                raise errors.BadFile(whole, f'has more than {LARGEST_MEMBER >> 20} MiB')
            stream = archive.extractfile(entry)
            assert stream is not None
            yield Member(name, f'{path}: {name}', _content(stream, whole))


def _content(stream: IO[bytes], path: str) -> bytes:
    content = stream.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        raise errors.BadFile(path, f'has more than {LARGEST_MEMBER >> 20} MiB')
    return content
