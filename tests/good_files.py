# SPDX-License-Identifier: Apache-2.0
"""A good file of every kind that is read, and what reads it."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from functools import partial
from typing import Any

from placementclient.changes.records import changes, journals, plans
from placementclient.changes.records.journals import JournalEntry
from placementclient.client.http import Client
from placementclient.files import disk, kinds, specifications
from placementclient.hosts import archive, device_spec, devices
from placementclient.nova import host_records, records
from placementclient.planner import planner
from placementclient.producers import declarations
from placementclient.runs import engines, storage
from tests.unit.changes.records.test_plans import CLOUD, SPEC
from tests.unit.hosts.test_archive import FILES as FACTS
from tests.unit.nova.test_host_records import HYPERVISOR, NODE, PORT

SERVER = '3c1b6b0e-2f0f-4f39-a8a9-6e0c1f2f3a10'
ROW = {'consumer_uuid': SERVER, 'resource_class': 'VGPU', 'amount': 1, 'to_provider': 'gpu'}
ROWS = (
    'consumer_uuid,resource_class,amount,to_provider,evidence\n'
    f'{SERVER},VGPU,1,gpu,"looked, it up"\n'
)
YAML = """
trees: {class: [VGPU]}
providers:
- &gpu {name: "{root}_gpu", traits: [CUSTOM_A40], inventories: {VGPU: {total: 4}}}
moves:
- from_resource_provider: "{root}"
  to_resource_provider: "{root}_gpu"
  moved_resources: {VGPU: all}
"""
DECLARED = """
name: compute1
inventories: {VCPU: {total: 16, allocation_ratio: 4.0}}
traits: [HW_CPU_X86_AVX2]
children:
- {name: compute1_gpu0, aggregates: [7aa3a1a2-7ac2-4b1d-a0c2-0c2e1c8f6a11]}
"""
PROVIDERS = {
    'meta': {'schema_version': '1.0'},
    'providers': [
        {
            'identification': {'name': 'compute1'},
            'inventories': {'additional': [{'CUSTOM_X': {'total': 2}}]},
            'traits': {'additional': ['CUSTOM_A40']},
        }
    ],
}
FLAVOR = {
    'id': '1', 'name': 'm1', 'vcpus': 2, 'ram': 512, 'disk': 1, 'swap': '',
    'OS-FLV-EXT-DATA:ephemeral': 0, 'os-flavor-access:is_public': True,
    'extra_specs': {'resources:VGPU': '1', 'trait:CUSTOM_A40': 'required'},
}  # fmt: skip
SERVERS = [
    {
        'id': SERVER, 'tenant_id': 'p', 'user_id': 'u', 'image': '', 'name': 's',
        'OS-EXT-SRV-ATTR:host': 'compute1',
        'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1',
        'OS-EXT-STS:task_state': None,
        'OS-EXT-STS:vm_state': 'active',
        'flavor': {name: value for name, value in FLAVOR.items() if name != 'id'},
    }
]  # fmt: skip
MIGRATIONS = [
    {
        'uuid': '8d8f9a0e-2f43-4c57-8f0e-6d2b6c5c2a11', 'instance_uuid': SERVER,
        'source_compute': 'compute1', 'source_node': 'compute1', 'status': 'running',
        'migration_type': 'live-migration',
    }
]  # fmt: skip
AGGREGATES = [{'uuid': '7aa3a1a2-7ac2-4b1d-a0c2-0c2e1c8f6a11', 'name': 'az', 'hosts': ['compute1']}]
DEVICE = {
    'hypervisor_hostname': 'compute1', 'address': '0000:81:00.1', 'parent_addr': '0000:81:00.0',
    'vendor_id': '8086', 'product_id': '1572', 'dev_type': 'type-VF', 'status': 'allocated',
    'instance_uuid': SERVER,
}  # fmt: skip
XML = '<resultset><row>{}</row></resultset>'.format(
    ''.join(f'<field name="{name}">{value}</field>' for name, value in DEVICE.items())
)
CONF = """
[pci]
device_spec = {"vendor_id": "8086", "product_id": "1572", "address": "0000:81:*.*"}
device_spec = [{"vendor_id": "10de", "traits": "CUSTOM_A40",
  "address": {"domain": "0000", "bus": ".*", "slot": "0[0-9]", "function": "1"}}]
"""
PLAN = planner.plan_reshape(
    disk.read_snapshot(str(CLOUD)),
    specifications.convert_specification(SPEC, 'spec'),
    skip_infeasible=True,
)


def tar(files=FACTS):
    """The archive of a host."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode='w') as stream:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            stream.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def text_with(parse, kind):
    """What reads a file by its text."""
    return lambda path: parse(disk.read_text(path, kind), path)


def document_with(parse, name='servers'):
    """What reads a file by what its JSON or YAML says."""
    return lambda path: parse(disk.read_document(path, kinds.LISTS[name]), path)


def separated(by):
    """Rows of devices, as CSV or of ``mysql --batch``."""
    return ''.join(f'{by.join(row)}\n' for row in (DEVICE, DEVICE.values())).encode()


def of_json(document):
    """A document in a file."""
    return json.dumps(document).encode()


Reader = Callable[[str], Any]


def of_journal(plan=PLAN):
    """Return the journal of trees that were planned again, and left alone."""
    facts: list[dict[str, Any]] = [
        {
            'journal': journals.FORMAT,
            'version': journals.VERSION,
            'plan': plans.get_plan_digest(plan),
        }
    ]
    for tree in plan.changes:
        facts += (
            {'tree': tree.root_provider_uuid, **fact}
            for fact in (
                {'intent': {'operation': 'reshape'}},
                {'outcome': 'done'},
                {'plan': changes.encode_change(tree)},
                {'end': 'left alone', 'reason': 'ü'},
            )
        )
    at = '2026-11-21T14:00:00.000+00:00'
    return b''.join(journals.encode(JournalEntry(at=at, **fact)) for fact in facts)


GOOD: dict[str, tuple[Reader, list[bytes]]] = {
    'snapshot': (disk.read_snapshot, [CLOUD.read_bytes()]),
    'plan': (storage.read_plan, [b''.join(plans.encode(PLAN))]),
    'journal': (partial(engines.load_carrier, Client(None), PLAN), [of_journal()]),
    'specification': (storage.read_spec_and_rows, [YAML.encode(), of_json(SPEC)]),
    'assignments': (storage.read_assignments, [ROWS.encode(), of_json([ROW])]),
    'document': (
        partial(disk.read_document, needed=kinds.SPECIFICATION),
        [YAML.encode(), of_json(SPEC)],
    ),
    'declaration': (
        lambda path: declarations.parse_declarations(
            disk.read_text(path, kinds.TREES, kinds.NOVA_PROVIDERS), path
        ),
        [DECLARED.encode(), of_json(PROVIDERS)],
    ),
    'servers': (document_with(records.decode_servers), [of_json({'servers': SERVERS})]),
    'server details': (
        document_with(lambda document, path: records.decode_server_details(document, path, {})),
        [of_json(SERVERS)],
    ),
    'migrations': (document_with(records.decode_migrations, 'migrations'), [of_json(MIGRATIONS)]),
    'aggregates': (
        document_with(records.decode_aggregates, 'aggregates'),
        [of_json({'aggregates': AGGREGATES})],
    ),
    'flavors': (document_with(records.decode_flavors, 'flavors'), [of_json({'flavors': [FLAVOR]})]),
    'services': (
        document_with(host_records.decode_compute_services, 'services'),
        [of_json({'services': [{'id': 's', 'host': 'h', 'status': 'enabled', 'state': 'up'}]})],
    ),
    'hypervisors': (
        document_with(host_records.decode_hypervisors, 'hypervisors'),
        [of_json({'hypervisors': [HYPERVISOR]})],
    ),
    'limits': (
        document_with(host_records.decode_registered_limits, 'registered_limits'),
        [of_json({'registered_limits': [{'id': 'l', 'resource_name': 'class:VCPU'}]})],
    ),
    'nodes': (
        document_with(host_records.decode_baremetal_nodes, 'nodes'),
        [of_json({'nodes': [NODE]})],
    ),
    'ports': (
        document_with(host_records.decode_bound_ports, 'ports'),
        [of_json({'ports': [PORT]})],
    ),
    'devices': (
        text_with(devices.parse_devices, kinds.DEVICES),
        [separated(','), separated('\t'), XML.encode(), of_json([DEVICE])],
    ),
    'device spec': (
        text_with(device_spec.parse_device_specs, kinds.CONFIGURATION),
        [CONF.encode(), of_json({'vendor_id': '8086', 'address': '0000:81:00.0'})],
    ),
    'host facts': (
        archive.read_host,
        [tar(), gzip.compress(tar(), mtime=0), bz2.compress(tar()), lzma.compress(tar())],
    ),
}
