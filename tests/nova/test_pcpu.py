# SPDX-License-Identifier: Apache-2.0
"""Pinned CPUs: VCPU becomes PCPU on the compute node, for servers and for a migration under way."""

from nova.tests.functional.libvirt import test_numa_servers

from tests.nova.judge import Judged


class PCPUTests(Judged, test_numa_servers.ReshapeForPCPUsTest):
    def specification(self, hostname):
        return {
            'trees': {'name': [hostname]},
            'providers': [
                {
                    'name': '{root}',
                    'inventories': {'PCPU': {'total': 8, 'max_unit': 8, 'allocation_ratio': 1.0}},
                }
            ],
            'moves': [
                {
                    'from_resource_provider': '{root}',
                    'to_resource_provider': '{root}',
                    'moved_resources': {'VCPU': 8},
                    'as': {'VCPU': 'PCPU'},
                }
            ],
        }
