# SPDX-License-Identifier: Apache-2.0
"""Where traits and classes are."""

from placementclient.insight import summary
from placementclient.insight.summary import Presence
from tests.unit.insight.clouds import cloud, provider

HOSTS = cloud(
    [
        provider('compute1', VCPU=8, traits=['HW_A', 'HW_B']),
        provider('compute1_gpu0', 'compute1', VGPU=4, traits=['HW_B']),
        provider('compute1_gpu1', 'compute1', VGPU=4, traits=['HW_B']),
        provider('compute2', VCPU=8, traits=['HW_A']),
    ]
)


def test_presences_count_providers_and_hosts_and_begin_with_the_most_used_name():
    traits = summary.list_presences(HOSTS, lambda state: state.traits)
    assert traits == [('HW_A', Presence(2, 2, '')), ('HW_B', Presence(3, 1, 'compute1'))]
    classes = summary.list_presences(
        HOSTS, lambda state: state.inventories, ['FPGA', 'DISK_GB', 'VGPU', 'VCPU']
    )
    assert classes == [
        ('VCPU', Presence(2, 2, '')),
        ('VGPU', Presence(2, 1, 'compute1')),
        ('DISK_GB', Presence(0, 0, '')),
        ('FPGA', Presence(0, 0, '')),
    ]
