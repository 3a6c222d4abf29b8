# SPDX-License-Identifier: Apache-2.0
"""The archives and folders of the collector, which are not trusted."""

import bz2
import contextlib
import functools
import gzip
import io
import itertools
import lzma
import os
import posixpath
import re
import stat
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, NamedTuple, TypeVar

from placementclient.basis import errors
from placementclient.files import kinds, system
from placementclient.hosts import libvirt
from placementclient.hosts.libvirt import Domain, HostFacts, MediatedDevice

T = TypeVar('T')

#: How many bytes all files of a host may have, decompressed.
SIZE_LIMIT = 64 * 2**20
#: How compressed archives begin.
_DECOMPRESSORS: dict[bytes, Callable[[IO[bytes]], io.BufferedIOBase]] = {
    b'\x1f\x8b': gzip.open,
    b'BZ': bz2.open,
    b'\xfd7': lzma.open,
}
#: The last file of an archive: how many files the collector has written into each folder.
_COUNT = 'count'
_COUNTED = re.compile(rb'domains ([0-9]{1,6})\r?\nnodedevs ([0-9]{1,6})\r?\n')
_AGAIN = 'run the script of "placement resource provider reshape collector" again'


class ArchiveMember(NamedTuple):
    """A file of an archive or a folder.

    :param name: its path inside
    :param path: its path for errors, with the name of the archive
    """

    name: str
    path: str
    content: bytes


def read_hosts(paths: Iterable[str]) -> list[HostFacts]:
    """Return the facts of several hosts; a folder may have those of many.

    :raises errors.BadFile: as :func:`read_host` does, and for a host that is given twice
    """
    hosts: dict[str, HostFacts] = {}
    for path in itertools.chain.from_iterable(map(_list_host_paths, paths)):
        facts = read_host(path)
        other = hosts.setdefault(facts.hostname, facts)
        if other is not facts:
            reason = f'is of host {facts.hostname}, as {other.path} is: give one of the two'
            raise errors.BadFile(path, reason)
    return list(hosts.values())


def _list_host_paths(path: str) -> list[str]:
    """Return the paths of the hosts in a folder of many; the path itself if it is of one host."""
    try:
        names = sorted(name for name in os.listdir(path) if not name.startswith('.'))
    except OSError:
        # A file; or its reader reports the fault.
        return [path]
    is_of_one = {'hostname', 'domains', 'nodedevs', 'capabilities.xml', _COUNT} & set(names)
    return [path] if is_of_one or not names else [os.path.join(path, name) for name in names]


def read_host(path: str) -> HostFacts:
    """Return the facts of one host, of a folder or of a tar archive, which may be compressed.

    :raises errors.BadFile: if it is neither, is not complete, or has what it must not have: a link,
        a path that leaves it, more than 64 MiB, a file or a server twice
    """
    members = {member.name: member for member in _read_archive_members(path)}

    def parse(name: str, parser: Callable[[bytes, str], T], default: T) -> T:
        """Return what a parser makes of a file; the default if there is no such file."""
        member = members.get(name)
        return default if member is None else parser(member.content, member.path)

    hostname = parse('hostname', libvirt.parse_hostname, '')
    if not hostname:
        raise errors.BadFile(path, 'has no file "hostname": not what the collector writes')
    folders = {folder: _list_xml_files(members, folder) for folder in ('domains', 'nodedevs')}
    domains: dict[str, Domain] = {}
    for member in folders['domains']:
        domain = libvirt.parse_domain(member.content, member.path)
        if (other := domains.setdefault(domain.uuid, domain)) is not domain:
            reason = f'is of server {domain.uuid}, as {other.path} is: {_AGAIN}'
            raise errors.BadFile(member.path, reason)
    nodedevs = [libvirt.parse_mediated_device(m.content, m.path) for m in folders['nodedevs']]
    no_devices: Iterator[MediatedDevice] = iter(())
    parse_defined = functools.partial(libvirt.parse_mdevctl_list, is_active=False)
    mdevs = defaultdict[str, list[MediatedDevice]](list)
    for device in (
        *filter(None, nodedevs),
        *parse('mdevctl.json', libvirt.parse_mdevctl_list, no_devices),
        *parse('mdevctl-defined.json', parse_defined, no_devices),
    ):
        mdevs[device.uuid].append(device)
    no_count: tuple[int, ...] = ()
    counted = parse(_COUNT, _parse_counts, no_count)
    _require_counted_files(path, counted, (len(folders['domains']), len(folders['nodedevs'])))
    return HostFacts(
        hostname,
        path,
        tuple(sorted(domains.values(), key=lambda domain: domain.uuid)),
        {uuid: tuple(devices) for uuid, devices in sorted(mdevs.items())},
        parse('capabilities.xml', libvirt.parse_numa_cells, {}),
        parse('mdev_types', libvirt.parse_mdev_parents, None),
    )


def _list_xml_files(members: Mapping[str, ArchiveMember], folder: str) -> list[ArchiveMember]:
    """Return the XML files that are directly in a folder of the archive."""
    return [
        member
        for name, member in members.items()
        if posixpath.dirname(name) == folder and name.endswith('.xml')
    ]


def _parse_counts(content: bytes, path: str) -> tuple[int, ...]:
    """Return the number of domains and that of node devices that the collector has counted."""
    match = _COUNTED.fullmatch(content)
    if match is None:
        raise errors.BadFile(path, 'does not say "domains N" and "nodedevs N"')
    return tuple(map(int, match.groups()))


def _require_counted_files(path: str, expected: tuple[int, ...], present: tuple[int, ...]) -> None:
    """Refuse an archive without all domains and node devices that the collector has counted.

    :param expected: the counted numbers of domains and node devices; empty without the count
    :param present: the numbers in the archive
    """
    if not expected:
        raise errors.BadFile(
            path,
            f'has no file "{_COUNT}": the collector did not end, or is that of an older release: '
            f'{_AGAIN}',
        )
    if expected != present:
        had, has = (f'{n} domains and {m} node devices' for n, m in (expected, present))
        raise errors.BadFile(path, f'has {has}, and the host had {had}: {_AGAIN}')


def _read_archive_members(path: str) -> Iterator[ArchiveMember]:
    """Yield the files of a folder or an archive.

    :raises errors.BadFile: once they are too large together, or a name appears twice
    """
    size, seen = 0, set[str]()
    with system.translate_system_errors(path, kinds.HOST_FACTS), _translate_damage(path):
        for member in _read_folder(path) if os.path.isdir(path) else _read_tar(path):
            if member.name in seen:
                raise errors.BadFile(member.path, f'appears twice: {_AGAIN}')
            seen.add(member.name)
            size += len(member.content)
            if size > SIZE_LIMIT:
                raise _make_size_error(path)
            yield member


@contextlib.contextmanager
def _translate_damage(path: str) -> Iterator[None]:
    """Raise :class:`errors.BadFile` in place of what unpacking in the block raises."""
    try:
        yield
    except (EOFError, tarfile.TarError, zlib.error, lzma.LZMAError, ValueError):
        raise errors.BadFile(path, 'not a tar archive, or damaged') from None


def _make_size_error(path: str) -> errors.BadFile:
    return errors.BadFile(path, f'has more than {SIZE_LIMIT >> 20} MiB, which no host can have')


def _read_folder(path: str) -> Iterator[ArchiveMember]:

    def refuse(reason: OSError) -> None:
        raise reason

    # A folder that cannot be read is not an empty one.
    for folder, _, names in os.walk(path, onerror=refuse):
        for name in sorted(names):
            whole = os.path.join(folder, name)
            if os.path.islink(whole):
                raise errors.BadFile(whole, 'not a regular file')
            descriptor = os.open(whole, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, 'rb') as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise errors.BadFile(whole, 'not a regular file')
                inside = os.path.relpath(whole, path).replace(os.sep, '/')
                yield ArchiveMember(inside, whole, _read_bounded_content(stream, whole))


def _read_tar(path: str) -> Iterator[ArchiveMember]:
    with open(path, 'rb') as raw:
        start = raw.read(2)
        raw.seek(0)
        with _DECOMPRESSORS[start](raw) if start in _DECOMPRESSORS else raw as stream:
            content = _read_bounded_content(stream, path)
    if len(content) % tarfile.BLOCKSIZE:
        # A terminal, as of "ssh -t", writes CR LF for each LF; libvirt writes no CR. Few
        # archives keep a whole number of blocks so: they are refused as incomplete.
        content = content.replace(b'\r\n', b'\n')
    # A copy that was cut off would read as a shorter one; the end has two empty blocks.
    if content[-2 * tarfile.BLOCKSIZE :] != bytes(2 * tarfile.BLOCKSIZE):
        kinds.refuse_other_kind(content, path, kinds.HOST_FACTS, kinds.TAR)
        reason = 'damaged or cut off, or not a tar archive'
        raise errors.WrongFile(path, reason, kinds.HOST_FACTS, kinds.HOST_FACTS.copy_remedy)
    with tarfile.open(fileobj=io.BytesIO(content), mode='r:') as archive:
        for entry in archive:
            name = posixpath.normpath(entry.name)
            whole = f'{path}: {entry.name!r}'
            if entry.name.startswith('/') or '..' in entry.name.split('/') or '\0' in name:
                raise errors.BadFile(whole, 'leaves the archive')
            if entry.isdir():
                continue
            if not entry.isreg():
                raise errors.BadFile(whole, 'is a link or a device')
            # A sparse file has a few bytes in the archive, and any size in memory.
            if entry.size > SIZE_LIMIT:
                raise _make_size_error(path)
            member = archive.extractfile(entry)
            assert member is not None
            yield ArchiveMember(name, f'{path}: {name}', member.read())


def _read_bounded_content(stream: io.BufferedIOBase, path: str) -> bytes:
    """Return the content of a stream; refuse one that is larger than a host's files may be."""
    content = stream.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise _make_size_error(path)
    return content
