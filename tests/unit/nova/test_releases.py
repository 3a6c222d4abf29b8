# SPDX-License-Identifier: Apache-2.0
"""Releases of Nova by all their names."""

import pytest

from placementclient.nova.releases import NEEDED, find_release_name


@pytest.mark.parametrize(
    ('release', 'name'),
    [
        ('2024.2', '2024.2'),
        ('Zed', 'zed'),
        ('epoxy', '2025.1'),
        ('Hibiscus', '2026.2'),
        ('30', '2024.2'),
        ('30.3.0', '2024.2'),
        ('16', 'pike'),
        ('34.0.0', '2026.2'),
        ('35', None),
        ('15', None),
        ('2022.1', None),
        ('', None),
        ('x', None),
    ],
)
def test_a_release_has_three_names(release, name):
    assert find_release_name(release) == name


def test_no_release_needs_a_lower_microversion_than_the_one_before():
    assert list(NEEDED.values()) == sorted(NEEDED.values())
