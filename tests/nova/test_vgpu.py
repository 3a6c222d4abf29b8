# SPDX-License-Identifier: Apache-2.0
"""Virtual GPUs: from the compute node to a provider for each physical GPU."""

from nova import context, objects
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import test_reshape
from nova.virt.libvirt import utils

from tests.nova.judge import Judged

PARENTS = (
    fakelibvirt.MDEVCAP_DEV1_PCI_ADDR,
    fakelibvirt.MDEVCAP_DEV2_PCI_ADDR,
    fakelibvirt.MDEVCAP_DEV3_PCI_ADDR,
)


class VGPUTests(Judged, test_reshape.VGPUReshapeTests):
    def specification(self, hostname):
        return {
            'trees': {'name': [hostname]},
            'providers': [
                {
                    'name': f'{{root}}_{parent}',
                    'inventories': {'VGPU': {'total': 1, 'max_unit': 1}},
                    'traits': ['OWNER_NOVA'],
                }
                for parent in PARENTS
            ],
            'moves': [
                {
                    'from_resource_provider': '{root}',
                    'to_resource_provider': f'{{root}}_{parent}',
                    'moved_resources': {'VGPU': 1},
                }
                for parent in PARENTS
            ],
        }

    def assignments(self, hostname):
        """By the parent of the mediated device that each server has."""
        rows = []
        compute = self.computes[hostname].driver
        for instance in objects.InstanceList.get_all(context.get_admin_context()):
            for mdev in compute._get_all_assigned_mediated_devices(instance):
                device = compute._get_mediated_device_information(utils.mdev_uuid2name(mdev))
                rows.append(
                    {
                        'consumer_uuid': instance.uuid,
                        'resource_class': 'VGPU',
                        'amount': 1,
                        'to_provider': f'{hostname}_{device["parent"]}',
                        'evidence': mdev,
                    }
                )
        return rows
