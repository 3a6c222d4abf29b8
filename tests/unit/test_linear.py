# SPDX-License-Identifier: Apache-2.0
"""Every file and every answer: four times as much takes four times the work and the memory."""

import functools
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from placementclient.api import (
    allocation,
    allocation_candidate,
    resource_provider,
)
from placementclient.changes import journal
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.files import snapshots
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
from placementclient.planner.records import plans
from placementclient.planner.specification import specification
from tests import programs
from tests.functional.clouds import cloud, plan_of, used
from tests.good_files import FACTS, GOOD, of_journal, tar
from tests.unit.dialogue import RP, get, provider
from tests.unit.hosts.libvirt_output import domain

#: What four times as much may cost at the most: calls, and memory; and time, which varies.
MOST, MOST_TIME = 4.6, 8
#: Memory that does not count, in bytes: what is made once; and time that is too short, in seconds.
ONCE, SHORT = 1 << 17, 0.02

#: The fields that tell records apart.
IDENTIFYING = ('id', 'uuid', 'name', 'consumer_uuid', 'instance_uuid', 'hypervisor_hostname')

Read = Callable[[], object]


def uuid(number):
    return f'{number:08d}-0000-4000-8000-000000000000'


def cpu_time(read):
    began = time.process_time()
    read()
    return time.process_time() - began


def work(read):
    """Return the calls, of Python and of C, the bytes of memory at the peak, and the seconds."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ('call', 'c_call')

    seconds = min(cpu_time(read), cpu_time(read))
    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    tracemalloc.start()
    try:
        read()
        return calls, tracemalloc.get_traced_memory()[1], seconds
    finally:
        tracemalloc.stop()


def check_linear(measured, size):
    """Compare the work of a size with that of four times the size."""
    small, large = measured(size), measured(4 * size)
    assert large[0] <= MOST * small[0], f'{small[0]} calls become {large[0]}'
    assert large[1] <= MOST * small[1] + ONCE, f'{small[1]} bytes become {large[1]}'
    assert large[2] <= MOST_TIME * max(small[2], SHORT), f'{small[2]} s become {large[2]}'


def records(kind, n):
    """Records as the one of a good list, which differ in all that tells records apart."""
    document = json.loads(GOOD[kind][1][-1])
    [record] = document if isinstance(document, list) else next(iter(document.values()))
    keys = [key for key in IDENTIFYING if key in record]
    return [record | dict.fromkeys(keys, uuid(i)) for i in range(n)]


def listed(kind):
    return lambda n: json.dumps(records(kind, n)).encode()


def separated(kind, by):
    def content(n):
        lines = records(kind, n)
        return '\n'.join(by.join(map(str, line)) for line in (lines[0], *map(dict.values, lines)))

    return lambda n: content(n).encode()


def specified(n):
    """A specification of ``n`` children, each of which gets one."""
    names = [f'{{root}}_gpu{i}' for i in range(n)]
    return {
        'trees': {'class': ['VGPU']},
        'providers': [{'name': name, 'inventories': {'VGPU': {'total': 1}}} for name in names],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': name,
                'moved_resources': {'VGPU': 1},
            }
            for name in names
        ],
    }


def declaration(n):
    return '\n'.join(
        f'- {{name: host{i}, inventories: {{VCPU: {{total: 8}}}}, traits: [CUSTOM_A]}}'
        for i in range(n)
    ).encode()


def declared(n):
    host = {'inventories': {'VCPU': {'total': 8}}, 'traits': ['CUSTOM_A']}
    return json.dumps([{'name': f'host{i}'} | host for i in range(n)]).encode()


def facts(n):
    """A host that says more and more about its servers."""
    many = {f'{name}.{i}': text for name, text in FACTS.items() for i in range(n)}
    return tar(FACTS | {name: text for name, text in many.items() if '.xml.' in name})


def conf(n):
    lines = (f'device_spec = {{"address": "{i:04x}:81:00.0"}}' for i in range(n))
    return '\n'.join(('[pci]', *lines)).encode()


@functools.cache
def planned(n):
    """A plan of ``n`` hosts."""
    return plan_of(used(cloud(hosts=n, servers=2)))


def xml(n):
    rows = (
        ''.join(f'<field name="{name}">{value}</field>' for name, value in row.items())
        for row in records('devices', n)
    )
    return f'<r>{"".join(f"<row>{row}</row>" for row in rows)}</r>'.encode()


def continued(n):
    tags = ''.join(f'  "tag{i}": "value",\n' for i in range(n))
    return f'[pci]\ndevice_spec = {{\n{tags}  "last": "value"}}\n'.encode()


def in_a_snapshot(parent=lambda i: i - 1 if i else None, **last):
    """A snapshot of providers; the last one may have other fields."""

    def content(n):
        providers = [
            {
                'uuid': uuid(i),
                'name': f'host{i}',
                'generation': 1,
                'parent_provider_uuid': None if parent(i) is None else uuid(parent(i) % n),
                'root_provider_uuid': uuid(0),
                'inventories': {},
                'traits': [],
                'aggregates': [],
                'usages': {},
            }
            for i in range(n)
        ]
        providers[-1] |= last
        document = {'format': 'placementclient/snapshot', 'version': 1, 'providers': providers}
        return json.dumps(document | {'consumers': {}}).encode()

    return content


def deep(n):
    text = in_a_snapshot()(1)
    return text.replace(b'"generation": 1', b'"generation": ' + b'[' * 99 * n)


#: The kind of each file, its content of a size, and the size; some files are refused.
FILES: dict[str, tuple[Callable[[int], bytes], int]] = {
    'snapshot': (lambda n: b''.join(snapshots.encode(cloud(hosts=n, servers=2))), 50),
    'plan': (lambda n: b''.join(plans.encode(planned(n))), 10),
    'journal': (lambda n: of_journal(planned(n)), 10),
    'specification': (lambda n: json.dumps(specified(n)).encode(), 10),
    'assignments': (separated('assignments', ','), 200),
    'document': (listed('assignments'), 200),
    'declaration': (declaration, 15),
    'declaration, as JSON': (declared, 100),
    'device spec': (conf, 100),
    'host facts': (facts, 50),
}
FILES |= {kind: (listed(kind), 200) for kind in GOOD if kind not in FILES}
FILES |= {
    'devices, as CSV': (separated('devices', ','), 2_000),
    'devices, of mysql --batch': (separated('devices', '\t'), 1_000),
    'devices, as XML': (xml, 500),
    'device spec, of lists': (lambda n: b'[]\n' * n + b'{"vendor_id": "8086"}\n', 20_000),
    'device spec, over many lines': (continued, 20_000),
    'snapshot, of a chain': (in_a_snapshot(), 3_000),
}
#: Snapshots that are refused, with the reason.
REFUSED: dict[str, tuple[Callable[[int], bytes], str]] = {
    'a circle': (in_a_snapshot(lambda i: i - 1), 'the parents of .* are a circle'),
    'a UUID twice': (in_a_snapshot(uuid=uuid(0)), 'two providers have the UUID'),
    'a fault at the end': (in_a_snapshot(generation='x'), 'expected int, got str'),
    'depth': (deep, 'nested too deeply'),
}


@pytest.mark.slow
@pytest.mark.parametrize('kind', FILES)
def test_a_file_is_read_in_linear_time_and_memory(kind, tmp_path):
    content, size = FILES[kind]
    read = GOOD[kind.partition(',')[0]][0]

    def measured(n):
        path = tmp_path / f'{n}'
        path.write_bytes(content(n))
        if kind == 'journal':
            return work(lambda: journal.read(str(path), plans.identity(planned(n))))
        return work(lambda: read(str(path)))

    check_linear(measured, size)


@pytest.mark.parametrize(
    'words', [['trait', 'list'], ['resource', 'provider', 'trait', 'add', 'a'], []]
)
def test_a_command_line_is_refused_in_linear_time_and_memory(words, capsys):
    def measured(n):
        return work(lambda: programs.run(capsys, [*words, *['a'] * n]))

    check_linear(measured, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize(('content', 'reason'), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_in_linear_time_and_memory(content, reason, tmp_path):
    def measured(n):
        path = tmp_path / f'{n}'
        path.write_bytes(content(n))

        def read():
            with pytest.raises(errors.BadFile, match=reason):
                GOOD['snapshot'][0](str(path))

        return work(read)

    check_linear(measured, 3_000)


def tree(allocated: Sequence[str], children: int = 0) -> Snapshot:
    """A host of which some consumers hold a CPU each."""
    root = uuid(1)
    states = [ProviderState(Provider(root, 'gpu1', 1, None, root), {'VCPU': Inventory(8)})]
    states += [
        ProviderState(Provider(uuid(n), f'c{n}', 1, root, root), {}) for n in range(2, children + 2)
    ]
    return Snapshot(states, [Consumer(name, {root: {'VCPU': 1}}) for name in allocated])


def of_devices(n: int) -> Read:
    """Virtual functions of one device, whose servers hold nothing in Placement."""
    kinds = ('8086', '1572', 'type-VF', 'allocated')
    rows = [
        Device('gpu1', f'{i:04x}:81:00.1', '0000:81:00.0', *kinds, uuid(i), 'pci') for i in range(n)
    ]
    specs = {'': device_spec.parse('{"address": {"bus": "[0-9a-f]*"}}', 'spec')}
    snapshot = tree(())
    return lambda: list(additions.of_devices(rows, specs, snapshot))


def of_cells(n: int) -> Read:
    """As many servers as there are providers in the tree."""
    servers = [uuid(i) for i in range(n)]
    snapshot = tree(servers, n)
    host = HostFacts('gpu1', 'f', tuple(Domain(s, 'd', (), frozenset({0})) for s in servers))
    return lambda: (
        list(assignments.of_cells([host], snapshot)),
        list(assignments.of_mediated_devices([host], snapshot, default='VCPU')),
    )


def of_pinned(n: int) -> Read:
    """As many migrations as servers."""
    flavor = Flavor('m', 1, 64, extra_specs={'hw:cpu_policy': 'dedicated'})
    servers = {uuid(i): Server(uuid(i), flavor=flavor) for i in range(n)}
    moves = [ServerMigration(uuid(i), 'running', uuid(n + i)) for i in range(n)]
    snapshot = tree([uuid(i) for i in range(2 * n)])
    return lambda: list(pinned.of_servers(servers, 's.json', snapshot, moves))


def of_pins(n: int) -> Read:
    pins = "<vcpupin vcpu='0' cpuset='0-8191,^7'/>" * n
    content = domain(uuid(1), inside=f'<cputune>{pins}</cputune>').encode()
    return lambda: libvirt.domain(content, 'd.xml')


@pytest.mark.slow
@pytest.mark.parametrize('make', [of_devices, of_cells, of_pinned, of_pins])
def test_facts_of_hosts_are_compared_in_linear_time_and_memory(make):
    check_linear(lambda n: work(make(n)), 3_000)


REQUEST = CandidateRequest(Filter(resources={'VCPU': 1}))
#: Of the largest lists that the service answers with: the function, the path, the answer of a size.
ANSWERS: dict[str, tuple[Callable[[Client], Any], str, Callable[[int], Any]]] = {
    'providers': (
        resource_provider.list,
        '/resource_providers',
        lambda n: {'resource_providers': [provider(uuid(i), f'host{i}') for i in range(n)]},
    ),
    'allocations of a provider': (
        lambda client: allocation.list_of_provider(client, RP),
        f'/resource_providers/{RP}/allocations',
        lambda n: {
            'allocations': {
                uuid(i): {'resources': {'VCPU': 1}, 'consumer_generation': 1} for i in range(n)
            },
            'resource_provider_generation': 1,
        },
    ),
    'allocations of a consumer': (
        lambda client: allocation.show(client, RP),
        f'/allocations/{RP}',
        lambda n: {
            'allocations': {uuid(i): {'resources': {'VCPU': 1}, 'generation': 1} for i in range(n)},
            'project_id': 'p',
            'user_id': 'u',
            'consumer_generation': 1,
            'consumer_type': 'INSTANCE',
        },
    ),
    'candidates': (
        lambda client: allocation_candidate.list(client, REQUEST),
        '/allocation_candidates?resources=VCPU:1',
        lambda n: {
            'allocation_requests': [
                {'allocations': {uuid(i): {'resources': {'VCPU': 1}}}, 'mappings': {'': [uuid(i)]}}
                for i in range(n)
            ],
            'provider_summaries': {
                uuid(i): {'resources': {'VCPU': {'used': 0, 'capacity': 8}}, 'traits': []}
                for i in range(n)
            },
        },
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize('kind', ANSWERS)
def test_an_answer_is_read_in_linear_time_and_memory(kind, session, service):
    ask, path, answer = ANSWERS[kind]

    def measured(n):
        service.answer(*[get(path, answer(n))] * 4)
        client = Client(session, HIGHEST)
        return work(lambda: ask(client))

    check_linear(measured, 200)


@pytest.mark.slow
def test_planning_keeps_to_memory_that_is_linear():
    spec = specification.from_document(specified(2), 'spec.yaml')

    def measured(n):
        live = used(cloud(hosts=n, servers=0))
        return work(lambda: planner.make(live, spec, (), allow_inferred=True))

    check_linear(measured, 10)
