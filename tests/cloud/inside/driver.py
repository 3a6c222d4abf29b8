# SPDX-License-Identifier: Apache-2.0
"""A hypervisor that remembers its servers and its UUID, and reports the tree that a file names.

The file is ``driver.json`` in the state folder of nova-compute, read at each report:

``vcpus``, ``memory_mb``, ``local_gb``
    what the host has
``inventories``
    inventories of the root, beside those three
``children``
    inventories by the suffix of the child's name. What a child has and the root had before needs
    a reshape, as with the libvirt driver
``traits``
    traits of the root
``cpus``
    the numbers of ``shared`` and ``dedicated`` CPUs of its only NUMA cell, as the libvirt driver
    has them by ``cpu_shared_set`` and ``cpu_dedicated_set``
``devices``
    PCI devices, as ``pci_passthrough_devices`` has them
"""

import json
import os
from typing import ClassVar

import nova.conf
from nova import exception, objects
from nova.compute import power_state
from nova.servicegroup import api
from nova.virt import fake, node

CONF = nova.conf.CONF
# nova-compute says that it is up as soon as it is, and not 5 s later.
api.INITIAL_REPORTING_DELAY = 0


def _path(name):
    return os.path.join(CONF.state_path, name)


def _read(name, otherwise):
    try:
        with open(_path(name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return otherwise


class Driver(fake.FakeDriver):
    capabilities: ClassVar = {**fake.FakeDriver.capabilities, 'supports_pcpus': True}
    vcpus, memory_mb, local_gb = 16, 32768, 500

    def __init__(self, virtapi, read_only=False):
        super().__init__(virtapi, read_only)
        for uuid, (name, state) in _read('guests.json', {}).items():
            self.instances[uuid] = fake.FakeInstance(name, state, uuid)

    def _remember(self):
        guests = {uuid: (guest.name, guest.state) for uuid, guest in self.instances.items()}
        with open(_path('guests.json'), 'w') as file:
            json.dump(guests, file)

    def spawn(self, context, instance, *arguments, **options):
        super().spawn(context, instance, *arguments, **options)
        self._remember()

    def destroy(self, context, instance, *arguments, **options):
        super().destroy(context, instance, *arguments, **options)
        self._remember()

    def power_off(self, instance, timeout=0, retry_interval=0):
        super().power_off(instance, timeout, retry_interval)
        self._remember()

    def power_on(self, context, instance, *arguments, **options):
        super().power_on(context, instance, *arguments, **options)
        self._remember()

    def post_live_migration(self, context, instance, block_device_info, migrate_data=None):
        self.destroy(context, instance, network_info=None)

    def finish_revert_migration(
        self,
        context,
        instance,
        network_info,
        migration,
        block_device_info=None,
        power_on=True,
        share_info=None,
    ):
        state = power_state.RUNNING if power_on else power_state.SHUTDOWN
        self.instances[instance.uuid] = fake.FakeInstance(instance.name, state, instance.uuid)
        self._remember()

    def get_available_resource(self, nodename):
        resources = super().get_available_resource(nodename)
        if resources:
            resources['uuid'] = node.get_local_node_uuid()
            settings = _read('driver.json', {})
            for name in ('vcpus', 'memory_mb', 'local_gb'):
                resources[name] = settings.get(name, resources[name])
            if cpus := settings.get('cpus'):
                resources['numa_topology'] = _topology(cpus, resources['memory_mb'])
            resources['pci_passthrough_devices'] = json.dumps(settings.get('devices', []))
        return resources

    def get_nodenames_by_uuid(self, refresh=False):
        return {node.get_local_node_uuid(): name for name in self.get_available_nodes()}

    def update_provider_tree(self, provider_tree, nodename, allocations=None):
        settings = _read('driver.json', {})
        for name in ('vcpus', 'memory_mb', 'local_gb'):
            setattr(self, name, settings.get(name, getattr(type(self), name)))
        before = provider_tree.data(nodename).inventory
        super().update_provider_tree(provider_tree, nodename, allocations)
        children = settings.get('children', {})
        nested = {name for inventory in children.values() for name in inventory}
        if nested & set(before) and any(
            nested & set(resources['resources'])
            for allocation in (allocations or {}).values()
            for resources in allocation['allocations'].values()
        ):
            raise exception.ReshapeFailed(error='this driver does not know how')
        if nested & set(before) and allocations is None:
            raise exception.ReshapeNeeded()
        local = {name: _inventory(total) for name, total in settings.get('inventories', {}).items()}
        root = provider_tree.data(nodename)
        provider_tree.update_inventory(nodename, {**root.inventory, **local})
        provider_tree.add_traits(nodename, *settings.get('traits', ()))
        for suffix, inventory in children.items():
            name = f'{nodename}_{suffix}'
            if not provider_tree.exists(name):
                provider_tree.new_child(name, nodename)
            provider_tree.update_inventory(
                name, {kind: _inventory(total) for kind, total in inventory.items()}
            )
            provider_tree.add_traits(name, 'OWNER_NOVA')


def _topology(cpus, memory):
    """A NUMA cell with CPUs, and memory in MiB of small pages, as Nova's database has it."""
    pages = objects.NUMAPagesTopology(size_kb=4, total=memory * 256, used=0, reserved=0)
    cell = objects.NUMACell(
        id=0,
        cpuset=set(cpus['shared']),
        pcpuset=set(cpus['dedicated']),
        memory=memory,
        cpu_usage=0,
        memory_usage=0,
        mempages=[pages],
        pinned_cpus=set(),
        siblings=[{cpu} for cpu in {*cpus['shared'], *cpus['dedicated']}],
        socket=0,
        network_metadata=objects.NetworkMetadata(physnets=set(), tunneled=False),
    )
    return objects.NUMATopology(cells=[cell])._to_json()


def _inventory(total):
    return {
        'total': total,
        'reserved': 0,
        'min_unit': 1,
        'max_unit': total,
        'step_size': 1,
        'allocation_ratio': 1.0,
    }
