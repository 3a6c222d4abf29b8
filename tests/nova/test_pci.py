# SPDX-License-Identifier: Apache-2.0
"""PCI devices: inventory and allocations that Placement never had."""

import csv
import io
import unittest
from typing import Any

from nova import context, objects
from nova.tests.functional.libvirt import test_pci_in_placement

from tests.nova.judge import RESHAPE, Judged

COLUMNS = (
    'hypervisor_hostname',
    'address',
    'parent_addr',
    'vendor_id',
    'product_id',
    'dev_type',
    'status',
    'instance_uuid',
)


class PCITests(Judged, test_pci_in_placement.PlacementPCIAllocationHealingTests):
    """Two of Nova's tests: the others start with the devices in Placement."""

    def reshape(self, hostname):
        run, write = self.bridge.run, self.bridge.write
        rows = write(f'{hostname}.csv', self.rows(hostname))
        specs = write(f'{hostname}-spec', '\n'.join(test_pci_in_placement.CONF.pci.device_spec))
        plan, cloud, spec = f'{hostname}-plan.json', f'{hostname}-cloud.json', f'{hostname}.yaml'
        run('resource', 'provider', 'snapshot', 'save', cloud)
        facts = ('--devices', rows, '--device-spec', specs, '--snapshot', cloud)
        self.assertEqual([], run(*RESHAPE, 'devices', *facts, '-o', spec))
        run(*RESHAPE, 'plan', '--spec', spec, '--snapshot', cloud, '-o', plan)
        run(*RESHAPE, 'rehearse', plan, '--snapshot', cloud)
        run(*RESHAPE, 'apply', plan, '--yes')
        run(*RESHAPE, 'verify', plan)

    def rows(self, hostname):
        """The devices of a host, as the query of the documentation prints them."""
        admin = context.get_admin_context()
        node = objects.ComputeNode.get_first_node_by_host_for_old_compat(admin, hostname)
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for device in objects.PciDeviceList.get_by_compute_node(admin, node.id):
            values: list[Any] = [hostname, device.address, device.parent_addr, device.vendor_id]
            values += [device.product_id, device.dev_type, device.status, device.instance_uuid]
            writer.writerow(['' if value is None else value for value in values])
        return out.getvalue()


def load_tests(loader, tests, pattern):
    names = ('test_heal_single_pci_allocation', 'test_heal_multiple_allocations')
    return unittest.TestSuite(PCITests(name) for name in names)
