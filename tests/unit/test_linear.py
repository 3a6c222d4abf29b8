"""Every file and every answer: four times as much takes four times the work and the memory."""

from __future__ import annotations

import csv
import io
import json
import sys
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from placementclient.api import (
    allocation,
    allocation_candidate,
    resource_provider,
)
from placementclient.changes import journal
from placementclient.changes.diff import operations_of
from placementclient.changes.records import operations
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.files import snapshots
from placementclient.model.plans import Plan
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.planner import planner
from placementclient.planner.records import plans
from placementclient.planner.specification import specification
from placementclient.reshape import storage
from tests.functional.clouds import cloud, plan_of, used
from tests.good_files import (
    AGGREGATES,
    DEVICE,
    FACTS,
    FLAVOR,
    GOOD,
    HYPERVISOR,
    MIGRATIONS,
    NODE,
    PORT,
    ROW,
    SERVERS,
)
from tests.unit.dialogue import RP, get, provider

#: What four times as much may cost at the most: calls, and memory.
MOST = 4.6
#: Memory that does not count, in bytes: what is made once.
ONCE = 1 << 17


def uuid(number):
    return f'{number:08d}-0000-4000-8000-000000000000'


def work(read):
    """How many calls, of Python and of C, it takes; and how much memory at its peak, in bytes."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ('call', 'c_call')

    read()  # what is made only once
    sys.setprofile(count)
    try:
        read()
    finally:
        sys.setprofile(None)
    tracemalloc.start()
    try:
        read()
        return calls, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_linear(measured, size):
    """Compare the work of a size with that of four times the size."""
    small, large = measured(size), measured(4 * size)
    assert large[0] <= MOST * small[0], f'{small[0]} calls become {large[0]}'
    assert large[1] <= MOST * small[1] + ONCE, f'{small[1]} bytes become {large[1]}'


def listed(record, *keys):
    """A list of records that differ in some keys."""

    def content(n):
        return json.dumps([record | {key: uuid(i) for key in keys} for i in range(n)]).encode()

    return content


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


def rows(n):
    text = io.StringIO()
    writer = csv.DictWriter(text, ROW)
    writer.writeheader()
    writer.writerows(ROW | {'consumer_uuid': uuid(i)} for i in range(n))
    return text.getvalue().encode()


def declaration(n):
    return '\n'.join(
        f'- {{name: host{i}, inventories: {{VCPU: {{total: 8}}}}, traits: [CUSTOM_A]}}'
        for i in range(n)
    ).encode()


def facts(n):
    """A host that says more and more about its servers."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode='w') as stream:
        for name, text in FACTS.items():
            many = [f'{name}.{i}' for i in range(n)] if name.endswith('.xml') else []
            for path in (name, *many):
                entry = tarfile.TarInfo(path)
                entry.size = len(text.encode())
                stream.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def conf(n):
    lines = (f'device_spec = {{"address": "{i:04x}:81:00.0"}}' for i in range(n))
    return '\n'.join(('[pci]', *lines)).encode()


PLANS: dict[int, Plan] = {}


def planned(n):
    """A plan of ``n`` hosts."""
    if n not in PLANS:
        PLANS[n] = plan_of(used(cloud(hosts=n, servers=2)))
    return PLANS[n]


def in_a_plan(n):
    return _written(lambda path: storage.write_plan(path, planned(n)))


def _written(write):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'file.json')
        write(str(path))
        return path.read_bytes()


def in_a_journal(n):
    def write(path):
        with journal.opened(path, plans.identity(planned(n))) as opened:
            for tree in planned(n).trees:
                for operation in operations_of(tree):
                    opened.intend(tree.root_provider_uuid, operations.record(operation))
                opened.end(tree.root_provider_uuid, 'applied')

    return _written(write)


#: Of each kind of file the content of a size, and the size.
FILES: dict[str, tuple[Callable[[int], bytes], int]] = {
    'snapshot': (lambda n: b''.join(snapshots.encode(cloud(hosts=n, servers=2))), 50),
    'plan': (in_a_plan, 10),
    'journal': (in_a_journal, 10),
    'specification': (lambda n: json.dumps(specified(n)).encode(), 10),
    'assignments': (rows, 200),
    'document': (listed(ROW, 'consumer_uuid'), 200),
    'declaration': (declaration, 15),
    'servers': (listed(SERVERS[0], 'id'), 200),
    'server details': (listed(SERVERS[0], 'id'), 200),
    'migrations': (listed(MIGRATIONS[0], 'uuid', 'instance_uuid'), 200),
    'aggregates': (listed(AGGREGATES[0], 'uuid'), 200),
    'flavors': (listed(FLAVOR, 'id', 'name'), 200),
    'devices': (listed(DEVICE, 'instance_uuid', 'hypervisor_hostname'), 200),
    'services': (listed({'host': 'h', 'status': 'enabled', 'state': 'up'}, 'id'), 200),
    'hypervisors': (listed(HYPERVISOR, 'id'), 200),
    'limits': (listed({'resource_name': 'class:VCPU'}, 'id'), 200),
    'nodes': (listed(NODE, 'uuid'), 200),
    'ports': (listed(PORT, 'id'), 200),
    'device spec': (conf, 100),
    'host facts': (facts, 50),
}


def test_every_kind_of_file_is_there():
    assert FILES.keys() == GOOD.keys()


@pytest.mark.slow
@pytest.mark.parametrize('kind', FILES)
def test_a_file_is_read_in_linear_time_and_memory(kind, tmp_path):
    content, size = FILES[kind]
    read = GOOD[kind][0]

    def measured(n):
        path = tmp_path / f'{n}'
        path.write_bytes(content(n))
        if kind == 'journal':
            return work(lambda: journal.read(str(path), plans.identity(planned(n))))
        return work(lambda: read(str(path)))

    check_linear(measured, size)


ASKED = CandidateRequest(Filter(resources={'VCPU': 1}))
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
        lambda client: allocation_candidate.list(client, ASKED),
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
        service.answer(*[get(path, answer(n))] * 3)
        client = Client(session, HIGHEST)
        return work(lambda: ask(client))

    check_linear(measured, 200)


@pytest.mark.slow
def test_planning_keeps_to_memory_that_is_linear():
    spec = specification.from_document(specified(2), 'spec.yaml')

    def measured(n):
        there = used(cloud(hosts=n, servers=0))
        return work(lambda: planner.make(there, spec, (), allow_inferred=True))

    check_linear(measured, 10)
