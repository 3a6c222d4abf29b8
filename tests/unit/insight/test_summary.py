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


def test_trait_presences_name_the_only_host_of_a_trait():
    assert summary.find_trait_presences(HOSTS) == {
        'HW_A': Presence(2, 2, ''),
        'HW_B': Presence(3, 1, 'compute1'),
    }


def test_class_presences_count_providers_and_hosts_of_each_class():
    assert summary.find_class_presences(HOSTS) == {
        'VCPU': Presence(2, 2, ''),
        'VGPU': Presence(2, 1, 'compute1'),
    }
