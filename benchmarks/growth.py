# SPDX-License-Identifier: Apache-2.0
"""What is four times as large takes four times the calls, the memory and the seconds.

    python -m benchmarks.growth [PART OF A NAME ...]

Files, large answers, facts of hosts, command lines, a plan. It ends with 1 if one takes more.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import requests_mock
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session

from placementclient.api import allocation, allocation_candidate, resource_provider
from placementclient.basis import errors
from placementclient.changes import journal
from placementclient.changes.records import plans
from placementclient.cli import shell
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.files import snapshots, specifications
from placementclient.hosts import additions, assignments, device_spec, libvirt, pinned
from placementclient.hosts.devices import Device
from placementclient.hosts.libvirt import Domain, HostFacts
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor, Server, ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import planner
from tests.functional.clouds import cloud, plan_of, used
from tests.good_files import GOOD, of_journal, tar
from tests.unit.dialogue import RP, SIGNED, URL, provider
from tests.unit.hosts.libvirt_output import domain
from tests.unit.hosts.test_archive import FILES as FACTS

#: How much more four times as much may cost: calls and memory; and time, which varies. Then bytes
#: that are made once, and seconds that are too short to count.
MOST, MOST_TIME, ONCE, SHORT = 4.6, 8, 1 << 17, 0.02
#: The fields that tell records apart.
IDENTIFYING = ('id', 'uuid', 'name', 'consumer_uuid', 'instance_uuid', 'hypervisor_hostname')

Read = Callable[[], object]
#: Prepares a size, and returns what is measured.
Prepare = Callable[[int], Read]


class Work(NamedTuple):
    """The calls, of Python and of C, the bytes of memory at the peak, and the seconds."""

    calls: int
    memory: int
    seconds: float


def measure(read: Read) -> Work:
    """Return the work of a call."""
    calls, seconds = 0, []

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ('call', 'c_call')

    for _ in range(2):
        began = time.process_time()
        read()
        seconds.append(time.process_time() - began)
    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    tracemalloc.start()
    read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Work(calls, peak, min(seconds))


def uuid(number: int) -> str:
    """A UUID that has a number."""
    return f'{number:08d}-0000-4000-8000-000000000000'


def records(kind: str, n: int) -> list[dict[str, Any]]:
    """Records as the one of a good list, which differ in all that tells records apart."""
    document = json.loads(GOOD[kind][1][-1])
    [record] = document if isinstance(document, list) else next(iter(document.values()))
    keys = [key for key in IDENTIFYING if key in record]
    return [record | dict.fromkeys(keys, uuid(i)) for i in range(n)]


def separated(kind: str, by: str, n: int) -> str:
    """The same as rows."""
    lines = records(kind, n)
    return '\n'.join(by.join(map(str, line)) for line in (lines[0], *map(dict.values, lines)))


def specified(n: int) -> dict[str, Any]:
    """A specification of ``n`` children, each of which gets one."""
    names = [f'{{root}}_gpu{i}' for i in range(n)]
    move = {'from_resource_provider': '{root}', 'moved_resources': {'VGPU': 1}}
    return {
        'trees': {'class': ['VGPU']},
        'providers': [{'name': name, 'inventories': {'VGPU': {'total': 1}}} for name in names],
        'moves': [move | {'to_resource_provider': name} for name in names],
    }


def facts(n: int) -> bytes:
    """A host that says more and more about its servers."""
    many = {f'{name}.{i}': text for name, text in FACTS.items() for i in range(n)}
    archive: bytes = tar(FACTS | {name: text for name, text in many.items() if '.xml.' in name})
    return archive


@functools.cache
def planned(n: int) -> Any:
    """A plan of ``n`` hosts."""
    return plan_of(used(cloud(hosts=n, servers=2)))


def xml(n: int) -> str:
    """Devices as ``mysql --xml`` prints them."""
    rows = (
        ''.join(f'<field name="{name}">{value}</field>' for name, value in row.items())
        for row in records('devices', n)
    )
    return f'<r>{"".join(f"<row>{row}</row>" for row in rows)}</r>'


def chain(n: int, first: int | None = None, **last: object) -> str:
    """A snapshot in which each provider is the parent of the next.

    :param first: the parent of the first one
    :param last: other fields of the last one
    """
    empty: dict[str, Any] = {'inventories': {}, 'traits': [], 'aggregates': [], 'usages': {}}
    providers = [
        empty
        | {'uuid': uuid(i), 'name': f'host{i}', 'generation': 1, 'root_provider_uuid': uuid(0)}
        | {'parent_provider_uuid': uuid(i - 1) if i else first and uuid(first)}
        for i in range(n)
    ]
    providers[-1] |= last
    document = {'format': 'placementclient/snapshot', 'version': 1, 'providers': providers}
    return json.dumps(document | {'consumers': {}})


SPEC_LINE = 'device_spec = {"address": "0000:81:00.0"}\n'
#: The kind of each file, its content of a size, and the size.
FILES: dict[str, tuple[Callable[[int], str | bytes], int]] = {
    'snapshot': (lambda n: b''.join(snapshots.encode_snapshot(cloud(hosts=n, servers=2))), 50),
    'snapshot, a chain': (chain, 3_000),
    'plan': (lambda n: b''.join(plans.encode(planned(n))), 10),
    'journal': (lambda n: of_journal(planned(n)), 10),
    'specification': (lambda n: json.dumps(specified(n)), 10),
    'assignments, CSV': (functools.partial(separated, 'assignments', ','), 200),
    'document': (lambda n: json.dumps(records('assignments', n)), 200),
    'declaration': (
        lambda n: '\n'.join(f'- {{name: h{i}, traits: [CUSTOM_A]}}' for i in range(n)),
        15,
    ),
    'devices, CSV': (functools.partial(separated, 'devices', ','), 2_000),
    'devices, mysql --batch': (functools.partial(separated, 'devices', '\t'), 1_000),
    'devices, XML': (xml, 500),
    'device spec': (lambda n: f'[pci]\n{SPEC_LINE * n}', 100),
    'device spec, lists': (lambda n: '[]\n' * n + '{"vendor_id": "8086"}\n', 20_000),
    'device spec, many lines': (
        lambda n: (
            '[pci]\ndevice_spec = {\n'
            + ''.join(f'  "tag{i}": "value",\n' for i in range(n))
            + '  "last": "value"}\n'
        ),
        20_000,
    ),
    'host facts': (facts, 50),
}
FILES |= {
    kind: (lambda n, kind=kind: json.dumps(records(kind, n)), 200)  # type: ignore[misc]
    for kind in GOOD
    if kind not in FILES
}
#: Snapshots that are refused.
REFUSED: dict[str, Callable[[int], str]] = {
    'snapshot, a circle': lambda n: chain(n, n - 1),
    'snapshot, a UUID twice': lambda n: chain(n, uuid=uuid(0)),
    'snapshot, an error at the end': lambda n: chain(n, generation='x'),
    'snapshot, depth': lambda n: chain(1).replace('"generation": 1', f'"x": {"[" * 99 * n}'),
}


def file_reader(folder: Path, kind: str, content: Callable[[int], str | bytes]) -> Prepare:
    """Return what writes a file of a size and reads it."""
    reader = GOOD[kind.partition(',')[0]][0]

    def prepare(n: int) -> Read:
        path, text = folder / str(n), content(n)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if kind == 'journal':
            return lambda: journal.read_records(str(path), plans.get_plan_digest(planned(n)))

        def read() -> None:
            with contextlib.suppress(errors.BadFile):
                reader(str(path))
                assert kind not in REFUSED

        return read

    return prepare


def command_line(words: list[str]) -> Prepare:
    """Return what refuses a long command line."""

    def prepare(n: int) -> Read:
        def read() -> None:
            with contextlib.suppress(SystemExit):
                shell.main([*words, *['a'] * n])

        return read

    return prepare


def tree(allocated: Iterable[str], children: int = 0) -> Snapshot:
    """A host of which some consumers hold a CPU each."""
    root = uuid(1)
    states = [ProviderState(Provider(root, 'gpu1', 1, None, root), {'VCPU': Inventory(8)})]
    states += [
        ProviderState(Provider(uuid(n), f'c{n}', 1, root, root), {}) for n in range(2, children + 2)
    ]
    return Snapshot(states, [Consumer(name, {root: {'VCPU': 1}}) for name in allocated])


def compare_devices(n: int) -> Read:
    """Virtual functions of one device, whose servers hold nothing in Placement."""
    kinds = ('8086', '1572', 'type-VF', 'allocated')
    rows = [
        Device('gpu1', f'{i:04x}:81:00.1', '0000:81:00.0', *kinds, uuid(i), 'pci') for i in range(n)
    ]
    specs = {'': device_spec.parse_device_specs('{"address": {"bus": "[0-9a-f]*"}}', 'spec')}
    snapshot = tree(())
    return lambda: list(additions.build_additions(rows, specs, snapshot))


def compare_cells(n: int) -> Read:
    """As many servers as there are providers in the tree."""
    servers = [uuid(i) for i in range(n)]
    snapshot = tree(servers, n)
    host = HostFacts('gpu1', 'f', tuple(Domain(s, 'd', (), frozenset({0})) for s in servers))
    return lambda: (
        list(assignments.assign_numa_cells([host], snapshot)),
        list(assignments.assign_mediated_devices([host], snapshot, default='VCPU')),
    )


def compare_pinned(n: int) -> Read:
    """As many migrations as servers."""
    flavor = Flavor('m', 1, 64, extra_specs={'hw:cpu_policy': 'dedicated'})
    servers = {uuid(i): Server(uuid(i), flavor=flavor) for i in range(n)}
    moves = [ServerMigration(uuid(i), 'running', uuid(n + i)) for i in range(n)]
    snapshot = tree(uuid(i) for i in range(2 * n))
    return lambda: list(pinned.assign_pinned_servers(servers, 's.json', snapshot, moves))


def read_pins(n: int) -> Read:
    """A server of many pinned CPUs."""
    pins = "<vcpupin vcpu='0' cpuset='0-8191,^7'/>" * n
    content = domain(uuid(1), inside=f'<cputune>{pins}</cputune>').encode()
    return lambda: libvirt.parse_domain(content, 'd.xml')


def candidates(n: int) -> dict[str, Any]:
    """As many candidates as there are hosts."""
    usage = {'resources': {'VCPU': {'used': 0, 'capacity': 8}}, 'traits': []}
    return {
        'allocation_requests': [
            {'allocations': {uuid(i): {'resources': {'VCPU': 1}}}, 'mappings': {'': [uuid(i)]}}
            for i in range(n)
        ],
        'provider_summaries': {uuid(i): usage for i in range(n)},
    }


REQUEST = CandidateRequest(Filter(resources={'VCPU': 1}))
ONE = {'resources': {'VCPU': 1}, 'generation': 1, 'consumer_generation': 1}
OWNER = {'project_id': 'p', 'user_id': 'u', 'consumer_generation': 1, 'consumer_type': 'INSTANCE'}
#: Of the largest lists that the service answers with: the function, and the answer of a size.
ANSWERS: dict[str, tuple[Callable[[Client], object], Callable[[int], object]]] = {
    'providers': (
        resource_provider.list,
        lambda n: {'resource_providers': [provider(uuid(i), f'host{i}') for i in range(n)]},
    ),
    'allocations of a provider': (
        lambda client: allocation.list_of_provider(client, RP),
        lambda n: {
            'allocations': {uuid(i): ONE for i in range(n)},
            'resource_provider_generation': 1,
        },
    ),
    'allocations of a consumer': (
        lambda client: allocation.show(client, RP),
        lambda n: OWNER | {'allocations': {uuid(i): ONE for i in range(n)}},
    ),
    'candidates': (lambda client: allocation_candidate.list(client, REQUEST), candidates),
}


def answer_reader(ask: Callable[[Client], object], answer: Callable[[int], object]) -> Prepare:
    """Return what reads an answer of a size."""

    def prepare(n: int) -> Read:
        content = json.dumps(answer(n)).encode()
        client = Client(Session(auth=NoAuth(endpoint=URL)), HIGHEST)

        def read() -> None:
            with requests_mock.Mocker() as mocker:
                mocker.get(requests_mock.ANY, content=content, headers=SIGNED)
                ask(client)

        return read

    return prepare


def plan(n: int) -> Read:
    """A reshape of many hosts."""
    spec = specifications.convert_specification(specified(2), 'spec.yaml')
    live = used(cloud(hosts=n, servers=0))
    return lambda: planner.plan_reshape(live, spec, (), allow_inferred=True)


def subjects(folder: Path) -> dict[str, tuple[Prepare, int]]:
    """Return what is measured, and the smaller size of each."""
    return {
        **{
            f'file: {kind}': (file_reader(folder, kind, content), size)
            for kind, (content, size) in FILES.items()
        },
        **{
            f'file: {kind}': (file_reader(folder, kind, content), 3_000)
            for kind, content in REFUSED.items()
        },
        **{
            f'command line: placement {words}': (command_line(words.split()), 1_000)
            for words in ('', 'trait list', 'resource provider trait add a')
        },
        **{
            f'hosts: {prepare.__name__}': (prepare, 3_000)
            for prepare in (compare_devices, compare_cells, compare_pinned, read_pins)
        },
        **{
            f'answer: {kind}': (answer_reader(ask, answer), 200)
            for kind, (ask, answer) in ANSWERS.items()
        },
        'planning': (plan, 10),
    }


def main() -> int:
    """Print a row for each subject; return 1 if one of them takes too much."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for subject, (prepare, size) in subjects(Path(name)).items():
            if sys.argv[1:] and not any(part in subject for part in sys.argv[1:]):
                continue
            with contextlib.redirect_stderr(io.StringIO()):
                small, large = measure(prepare(size)), measure(prepare(4 * size))
            is_linear = (
                large.calls <= MOST * small.calls
                and large.memory <= MOST * small.memory + ONCE
                and large.seconds <= MOST_TIME * max(small.seconds, SHORT)
            )
            failed += not is_linear
            print(
                f'{subject:<55} calls x{large.calls / small.calls:.1f}  memory '
                f'x{large.memory / small.memory:.1f}  time x{large.seconds / small.seconds:.1f}'
                f'{"" if is_linear else "  TOO MUCH"}',
                flush=True,
            )
    return bool(failed)


if __name__ == '__main__':
    sys.exit(main())
