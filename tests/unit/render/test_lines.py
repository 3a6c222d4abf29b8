# SPDX-License-Identifier: Apache-2.0
"""Lines as wide as a terminal."""

from placementclient.render.lines import wrap_lines

SERVER = '5c4bd1a6-5c3e-5b0e-9d0e-000000000001'


def test_a_long_line_is_wrapped_in_its_gaps_and_a_tree_keeps_its_branch():
    lines = [
        'short',
        '',
        f'    {SERVER}  1 VGPU  host → host_pci_0000_84_00_0  (mapped: mdev 1 on host)',
        '    ├─ host_pci_0000_84_00_0  VGPU (8 - 2 reserved), at most 1 at once  PCPU 16',
        f'\x1b[1m{"painted " * 9}\x1b[0m',
        f'  host: a sentence without gaps is wrapped between its words, not within {SERVER}',
        f'  host: waits: openstack server resize confirm {SERVER}',
        f'    1. placement resource provider allocation delete {SERVER}',
    ]
    assert list(wrap_lines(lines, 60)) == [
        'short',
        '',
        f'    {SERVER}  1 VGPU',
        '        host → host_pci_0000_84_00_0',
        '        (mapped: mdev 1 on host)',
        '    ├─ host_pci_0000_84_00_0',
        '    │      VGPU (8 - 2 reserved), at most 1 at once  PCPU 16',
        f'\x1b[1m{"painted " * 9}\x1b[0m',
        '  host: a sentence without gaps is wrapped between its',
        f'      words, not within {SERVER}',
        '  host: waits:',
        f'      openstack server resize confirm {SERVER}',
        f'    1. placement resource provider allocation delete {SERVER}',
    ]
