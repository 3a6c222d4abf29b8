# SPDX-License-Identifier: Apache-2.0
"""What other services say of a planted cloud, with faults that only they tell."""

from collections import Counter

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.model.nova import DISABLED, ONE_TIME_USE, OWNER_CYBORG, OWNER_NOVA
from placementclient.placing.providers import is_sharing
from tests.functional.clouds import uuid_of
from tests.functional.planted import AGENT, EGRESS, FLAVOR, HOST, SERVER

NOBODY = '00000000-0000-0000-0000-000000000000'
DEVICE = 'CUSTOM_PCI_8086_0B60'
GOLD = 'CUSTOM_BAREMETAL_GOLD'
#: The nova-compute of all nodes.
IRONIC = 'ironic-compute'


def plant(cloud):
    """Add the faults, and the lists of all services."""
    for part in (
        _owners,
        _nodes,
        _ports,
        _agents,
        _segments,
        _devices,
        _flavors,
        _mismatches,
        _hosts,
    ):
        part(cloud)
    untyped = [consumer.uuid for consumer in cloud.consumers if consumer.type is None]
    assert 2 * len(untyped) < len(cloud.consumers) - len(cloud.forgotten)
    cloud.expected += [('consumer-untyped', uuid) for uuid in untyped]


def _owners(cloud):
    cloud.provider('ancient')
    cloud.expected.append(
        ('consumer-incomplete', cloud.server('nobodys', 'ancient', ancient=SERVER))
    )
    cloud.consumers[-1] = replace(cloud.consumers[-1], project_id=NOBODY, user_id=NOBODY)


def _nodes(cloud):
    """Nodes that are idle, with a server, with an unknown consumer, and out of use."""
    for name, state, server in (
        ('idle-node', 'available', None),
        ('busy-node', 'active', 'metal'),
        ('held-node', 'available', 'ghost'),
        ('broken-node', 'clean failed', None),
    ):
        provider = cloud.provider(uuid_of(name), {GOLD: Inventory(1, max_unit=1)})
        instance = uuid_of(server) if state == 'active' else None
        cloud.node(name, state, resource_class='baremetal.gold', instance_uuid=instance)
        cloud.hypervisor(uuid_of(provider), provider, IRONIC, {}, {}, kind='ironic')
        if server:
            cloud.server(server, provider, **{provider: {GOLD: 1}})
    for name in ('held-node', 'broken-node'):
        cloud.expected.append(('ironic-node', uuid_of(name)))


def _ports(cloud):
    """Servers whose ports have bandwidth, or lack it."""
    fast = cloud.server('fast', 'net', **{'net': SERVER, 'net:bridge': {EGRESS: 100}})
    slow = cloud.server('slow', 'net', net=SERVER)
    for server in (fast, slow):
        cloud.port(server, 'net', uuid_of('net:bridge'))
    cloud.expected.append(('port-resources', slow))
    cloud.lists['ports'].append(
        {'id': uuid_of('dhcp'), 'device_id': 'dhcp', 'device_owner': 'network:dhcp'}
    )


def _agents(cloud):
    """Agents of Neutron that are as they should be, and one for each way not to be."""

    def agent(host, inventory, configured, *, synced):
        cloud.provider(host)
        above = cloud.provider(f'{host}:{AGENT}', {}, parent=host, traits=())
        device = f'{above}:br-ex'
        if inventory is not None:
            cloud.provider(device, {EGRESS: Inventory(inventory)}, parent=above, traits=())
        if configured is not None:
            cloud.agent(host, host, configured, synced=synced)
        return device

    cloud.agent('net', 'net')
    agent('bridged', 1000, 1000, synced=True)
    cloud.expected += [
        ('agent-bandwidth', agent('upgraded', 1000, 2000, synced=True)),
        ('agent-bandwidth', agent('unreported', None, 1000, synced=True)),
        ('agent-gone', agent('without-agent', 1000, None, synced=True)),
        ('agent-gone', f'without-agent:{AGENT}'),
        ('agent-bandwidth', f'unsynced:{AGENT}'),
    ]
    agent('unsynced', 1000, 1000, synced=False)
    strayed = cloud.provider(f'bridged.old:{AGENT}', {}, parent='bridged', traits=())
    cloud.expected.append(('agent-gone', strayed))


def _segments(cloud):
    """Segments of routed networks that are as they should be, and one for each way not to be."""
    cloud.provider('routed', aggregates=('segment',))
    cloud.provider('routed-too', aggregates=('segment',))
    for number, total, aggregate, is_listed in (
        (0, 253, 'segment', True),
        (1, 126, 'segment', True),
        (2, 253, 'unreached', True),
        (3, 253, 'segment', False),
    ):
        addresses = {'IPV4_ADDRESS': Inventory(total, 2, max_unit=1)}
        name = f'Neutron segment id {number}'
        cloud.provider(name, addresses, traits=(), aggregates=(aggregate,))
        if number:
            cloud.expected.append(('segment-addresses', name))
        if is_listed:
            cloud.lists['subnets'].append(
                {
                    'id': uuid_of(f'{name} subnet'), 'network_id': uuid_of('routed network'),
                    'segment_id': uuid_of(name), 'ip_version': 4, 'gateway_ip': '192.0.2.1',
                    'allocation_pools': [{'start': '192.0.2.2', 'end': '192.0.2.253'}],
                }
            )  # fmt: skip
    cloud.expected.append(('aggregate-of-one', uuid_of('unreached')))
    cloud.lists['subnets'].append(
        {'id': uuid_of('flat'), 'network_id': uuid_of('flat network'), 'segment_id': None}
    )


def _devices(cloud):
    """Devices for one-time use, and one that two services own."""
    host = cloud.provider('devices')
    for slot, reserved, is_used in ((1, 0, False), (2, 1, True), (3, 1, False)):
        device = cloud.provider(
            f'{host}_0000:8{slot}:00.0', {DEVICE: Inventory(1, reserved, max_unit=1)},
            parent=host, traits=(OWNER_NOVA, ONE_TIME_USE),
        )  # fmt: skip
        if is_used:
            cloud.server('burning', host, **{host: SERVER, device: {DEVICE: 1}})
        if reserved and not is_used:
            cloud.expected.append(('burned-device', device))
    shared = {DEVICE: Inventory(1, max_unit=1)}
    nova = cloud.provider(f'{host}_0000:AF:00.0', shared, parent=host)
    cloud.provider(f'{host}_0000:af:00.0', shared, parent=host, traits=(OWNER_CYBORG,))
    cloud.expected.append(('doubled-device', nova))


def _flavors(cloud):
    """Flavors that fit, and one that does not; and a class without a limit."""
    none = {f'resources__{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
    cloud.flavor('m', disk=80)
    cloud.flavor('metal', **none, **{f'resources__{GOLD}': '1'})
    cloud.flavor('gpu', **none, resources__VGPU='1')
    # Cards and nodes are on other hosts.
    cloud.flavor('apart', resources__VGPU='1', **{f'resources__{GOLD}': '1'})
    cloud.expected.append(('flavor-unplaceable', 'apart'))
    cloud.limits('VCPU', 'MEMORY_MB', 'DISK_GB', GOLD)
    cloud.expected.append(('limit-missing', 'class:VGPU'))


def _mismatches(cloud):
    """Servers that hold what their flavor has lost, and that are where it does not want them."""
    cloud.provider('gilded', HOST | {GOLD: Inventory(4)})
    for name, check, amounts, specs in (
        ('faded', 'class-without-flavor', {GOLD: 1}, {}),
        ('slow-disk', 'trait-mismatch', {}, {'trait:CUSTOM_SSD': 'required'}),
    ):
        uuid = cloud.consumer(name, gilded=SERVER | amounts)
        cloud.detailed(name, 'gilded', flavor=FLAVOR | {'extra_specs': specs})
        cloud.expected.append((check, uuid))


def _hosts(cloud):
    """Every host as nova-compute reports it, but for a few."""
    cloud.provider('opened', traits=(OWNER_NOVA, DISABLED))
    cloud.provider('closed')
    cloud.provider('out-of-order', traits=(OWNER_NOVA, DISABLED))
    cloud.provider('reinstalled')
    cloud.provider('short')
    cloud.provider('short.example.com')
    cloud.server('on-short', 'short.example.com', short=SERVER)
    cloud.provider('shrunk')
    cloud.provider('removed')
    nodes = {node['uuid'] for node in cloud.lists['nodes']}
    snapshot = cloud.snapshot
    for root in snapshot.roots():
        tree = list(snapshot.tree(root.uuid))
        totals, reserved = Counter[str](), Counter[str]()
        for state in tree:
            for name, inventory in state.inventories.items():
                totals[name] += inventory.total
                reserved[name] += inventory.reserved
        is_host = totals['VCPU'] or OWNER_NOVA in root.traits
        if root.name in {*nodes, 'short', 'removed'} or not is_host or is_sharing(root):
            continue
        if root.name == 'shrunk':
            totals['VCPU'] *= 2
        is_used = any(snapshot.consumers_on(state.uuid) for state in tree)
        used = reserved + Counter(SERVER if is_used else {})
        node = uuid_of(f'{root.name} anew' if root.name == 'reinstalled' else root.name)
        cloud.hypervisor(node, root.name, root.name, totals, used, int(is_used))
        cloud.service(root.name, enabled=root.name not in ('closed', 'out-of-order'))
    cloud.service(IRONIC)
    for name in ('fresh', 'stopped'):
        cloud.hypervisor(uuid_of(name), name, name, {}, {})
        cloud.service(name, up=name == 'fresh')
    cloud.expected += [('provider-without-host', 'removed'), ('host-without-provider', 'fresh')]
    cloud.expected += [('disabled-mismatch', name) for name in ('opened', 'closed')]
    cloud.expected += [('renamed', 'reinstalled'), ('twin', 'short')]
    cloud.expected.append(('inventory-drift', 'shrunk'))
