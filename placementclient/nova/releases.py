# SPDX-License-Identifier: Apache-2.0
"""The microversions of Placement that the releases of Nova need. Pure.

Sources: ``MIN_PLACEMENT_MICROVERSION`` in ``nova/cmd/status.py`` of each release, 18.3.0 to 34.0.0;
for those before, the history of checks on the page of ``nova-status``.
"""

import itertools

from placementclient.client.microversion import Microversion

#: By the name that operators know the release by, oldest first: from 16, Pike, one each.
NEEDED = {
    'pike': Microversion(1, 4),
    'queens': Microversion(1, 17),
    'rocky': Microversion(1, 28),
    'stein': Microversion(1, 30),
    'train': Microversion(1, 32),
    **dict.fromkeys(('ussuri', 'victoria', 'wallaby'), Microversion(1, 35)),
    **dict.fromkeys(('xena', 'yoga', 'zed'), Microversion(1, 36)),
    **dict.fromkeys(('2023.1', '2023.2', '2024.1', '2024.2', '2025.1'), Microversion(1, 36)),
    **dict.fromkeys(('2025.2', '2026.1', '2026.2'), Microversion(1, 36)),
}
#: The names of the releases that operators know by a number.
NUMBERS = {
    'antelope': '2023.1',
    'bobcat': '2023.2',
    'caracal': '2024.1',
    'dalmatian': '2024.2',
    'epoxy': '2025.1',
    'flamingo': '2025.2',
    'gazpacho': '2026.1',
    'hibiscus': '2026.2',
}


def find_release_name(release: str) -> str | None:
    """Return the usual name of a release of Nova: ``2025.1``, ``zed``; ``None`` if there is none.

    :param release: ``2025.1``, ``Epoxy``, ``zed``, or Nova's own version: ``30``, ``30.3.0``
    """
    name = NUMBERS.get(release.lower(), release.lower())
    if name in NEEDED:
        return name
    major = release.partition('.')[0]
    return dict(zip(map(str, itertools.count(16)), NEEDED, strict=False)).get(major)
