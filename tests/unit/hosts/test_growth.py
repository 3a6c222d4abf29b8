"""Readers of what others wrote: four times as much takes about four times as long."""

from __future__ import annotations

import gc
import io
import json
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placementclient.hosts import (
    additions,
    archive,
    assignments,
    device_spec,
    devices,
    libvirt,
    pinned,
)
from placementclient.hosts.devices import COLUMNS, Device
from placementclient.hosts.libvirt import Domain, HostFacts
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.servers import Flavor, Server, ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import records
from tests.unit.hosts.libvirt_output import domain

Work = Callable[[], object]


def uuid(number):
    return f'{number:08x}-0000-4000-8000-000000000000'


def address(number):
    return f'{number >> 13:04x}:{number >> 5 & 255:02x}:{number & 31:02x}.0'


def rows(size):
    values = ('10de', '2235', 'type-PCI', 'allocated')
    return [
        dict(zip(COLUMNS, ('gpu1', address(n), '', *values, uuid(n)), strict=True))
        for n in range(size)
    ]


def separated(size, by):
    return '\n'.join(by.join(row) for row in (COLUMNS, *(row.values() for row in rows(size))))


def of_csv(size, folder):
    text = separated(size, ',')
    return lambda: devices.parse(text, 'pci')


def of_batch(size, folder):
    text = separated(size, '\t')
    return lambda: devices.parse(text, 'pci')


def of_json(size, folder):
    text = json.dumps(rows(size))
    return lambda: devices.parse(text, 'pci')


def of_xml(size, folder):
    fields = [
        ''.join(f'<field name="{name}">{value}</field>' for name, value in row.items())
        for row in rows(size)
    ]
    text = f'<r>{"".join(f"<row>{each}</row>" for each in fields)}</r>'
    return lambda: devices.parse(text, 'pci')


def of_lists(size, folder):
    text = '[]\n' * size
    return lambda: device_spec.parse(text, 'spec')


def of_continued(size, folder):
    tags = ''.join(f'  "tag{n}": "value",\n' for n in range(size))
    text = f'[pci]\ndevice_spec = {{\n{tags}  "last": "value"}}\n'
    return lambda: device_spec.parse(text, 'nova.conf')


def of_devices(size, folder):
    """Virtual functions of one device, whose servers hold nothing in Placement."""
    found = [
        Device('gpu1', address(n), '0000:ff:1f.7', '10de', '2235', 'type-VF', '', uuid(n), 'pci')
        for n in range(size)
    ]
    specs = {'': device_spec.parse('{"address": {"bus": "[0-9a-f]*"}}', 'spec')}
    snapshot = cloud({})
    return lambda: additions.of_devices(found, specs, snapshot)


def cloud(held, children=0):
    root = uuid(1)
    states = [ProviderState(Provider(root, 'gpu1', 1, None, root), {'VGPU': Inventory(8)})]
    states += [
        ProviderState(Provider(uuid(n), f'c{n}', 1, root, root), {}) for n in range(2, children + 2)
    ]
    return Snapshot(states, [Consumer(name, {root: what}) for name, what in held.items()])


def of_cells(size, folder):
    """As many servers as there are providers in the tree."""
    servers = [uuid(n) for n in range(size)]
    snapshot = cloud({server: {'VCPU': 1} for server in servers}, size)
    facts = HostFacts('gpu1', 'f', tuple(Domain(s, 'd', (), frozenset({0})) for s in servers))
    return lambda: (
        assignments.of_cells([facts], snapshot),
        assignments.of_mediated_devices([facts], snapshot, default='VCPU'),
    )


def of_pinned(size, folder):
    """As many migrations as servers."""
    flavor = Flavor('m', 1, 64, extra_specs={'hw:cpu_policy': 'dedicated'})
    servers = {uuid(n): Server(uuid(n), flavor=flavor) for n in range(size)}
    moves = [ServerMigration(uuid(size + n), uuid(n), (), 'running') for n in range(size)]
    snapshot = cloud({uuid(n): {'VCPU': 1} for n in range(2 * size)})
    return lambda: pinned.of_servers(servers, 's.json', snapshot, moves)


def of_pins(size, folder):
    pins = "<vcpupin vcpu='0' cpuset='0-8191,^7'/>" * size
    content = domain(uuid(1), inside=f'<cputune>{pins}</cputune>').encode()
    return lambda: libvirt.domain(content, 'd.xml')


def of_archive(size, folder):
    path = folder / f'{size}.tar'
    files = {'hostname': 'gpu1'}
    files |= {f'domains/{uuid(n)}.xml': domain(uuid(n)) for n in range(size)}
    files['count'] = f'domains {size}\nnodedevs 0\n'
    with tarfile.open(path, 'w') as stream:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            stream.addfile(entry, io.BytesIO(text.encode()))
    return lambda: archive.read(str(path))


def of_servers(size, folder):
    document = [{'ID': uuid(n), 'Host': 'h', 'Name': f's{n}'} for n in range(size)]
    return lambda: records.servers(document, 's.json')


def of_flavors(size, folder):
    document = [
        {'id': str(n), 'name': f'f{n}', 'vcpus': 1, 'ram': 64, 'extra_specs': {}}
        for n in range(size)
    ]
    return lambda: records.flavors(document, 'f.json')


def of_aggregates(size, folder):
    hosts = [f'h{n}' for n in range(size)]
    document = [{'uuid': uuid(n), 'name': 'a', 'hosts': hosts[:9]} for n in range(size)]
    document[0]['hosts'] = hosts
    return lambda: records.aggregates(document, 'a.json')


#: With how many things the smaller one of each is.
SIZES: dict[Callable[[int, Path], Work], int] = {
    of_csv: 2_000,
    of_batch: 1_000,
    of_json: 1_000,
    of_xml: 500,
    of_lists: 20_000,
    of_continued: 20_000,
    of_devices: 8_000,
    of_cells: 3_000,
    of_pinned: 3_000,
    of_pins: 5_000,
    of_archive: 150,
    of_servers: 2_000,
    of_flavors: 2_000,
    of_aggregates: 2_000,
}


def cpu_time(work):
    """The CPU time of the fastest of three runs, in seconds."""
    found = []
    gc.disable()
    try:
        for _ in range(3):
            started = time.process_time()
            work()
            found.append(time.process_time() - started)
    finally:
        gc.enable()
    return min(found)


@pytest.mark.slow
@pytest.mark.parametrize('make', SIZES, ids=lambda make: make.__name__)
def test_four_times_as_much(make, tmp_path):
    size = SIZES[make]
    one, four = make(size, tmp_path), make(4 * size, tmp_path)
    # What is quadratic takes 16 times as long; a reader that is done at once is not measured.
    assert cpu_time(four) <= 8 * max(cpu_time(one), 0.02)
