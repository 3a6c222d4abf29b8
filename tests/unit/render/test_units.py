# SPDX-License-Identifier: Apache-2.0
"""Amounts with their units."""

import pytest

from placementclient.render.units import format_amount


@pytest.mark.parametrize(
    ('resource_class', 'amount', 'text'),
    [
        ('VCPU', 65536, '65,536'),
        ('MEMORY_MB', 512, '512 MiB'),
        ('MEMORY_MB', 1024, '1 GiB'),
        ('MEMORY_MB', 54784, '53.5 GiB'),
        ('MEMORY_MB', 3 * 2**20, '3 TiB'),
        ('DISK_GB', 0, '0'),
        ('DISK_GB', 1023, '1,023 GiB'),
        ('DISK_GB', 1536, '1.5 TiB'),
        ('DISK_GB', 5000 * 2**20, '5,000 PiB'),
        ('CUSTOM_DISK_GB', 2048, '2,048'),
    ],
)
def test_sizes_have_units(resource_class, amount, text):
    assert format_amount(resource_class, amount) == text
