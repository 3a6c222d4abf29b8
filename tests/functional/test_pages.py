"""The console blocks of the documentation's pages print what they say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from placementclient.client.http import Client
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.snapshot import restore
from tests.functional.clouds import uuid_of
from tests.functional.conftest import Placement
from tests.functional.hosts import PROJECT, USER, host, provider, storage

DOC = Path(__file__).parents[2] / 'doc' / 'source'
PAGES = [
    'dead-host',
    'list-providers',
    'many-hosts',
    'move-allocations',
    'no-valid-host',
    'remove-host',
    'trees',
]
SERVER, EVACUATED = (f'5c4bd1a6-5c3e-5b0e-9d0e-00000000000{number}' for number in (1, 4))
BLOCK = re.compile(r'^\.\. code-block:: console\n\n((?:   .*\n|\n)+)', re.MULTILINE)


def cloud() -> Snapshot:
    """What the pages look at."""
    states = [state for number in range(2) for state in host(f'compute{number}')]
    for number in (2, 3):
        states.append(provider(f'compute{number}', {'PCPU': Inventory(8)}))
    held = {
        SERVER: {
            'compute0': {'VCPU': 4, 'MEMORY_MB': 8192},
            'compute0_gpu0': {'VGPU': 1},
            'storage': {'DISK_GB': 40},
        },
        EVACUATED: {'compute2': {'PCPU': 2}, 'compute3': {'PCPU': 2}},
    }
    consumers = [
        Consumer(
            uuid,
            {uuid_of(name): resources for name, resources in where.items()},
            PROJECT,
            USER,
            None,
            'INSTANCE',
        )
        for uuid, where in held.items()
    ]
    return Snapshot([*states, storage()], consumers)


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a page, without the program, and what it prints."""
    for block in BLOCK.findall((DOC / f'{page}.rst').read_text()):
        lines = [line[3:] for line in block.splitlines()]
        commands = '\n'.join(lines).strip('\n').split('$ openstack ')[1:]
        for command in commands:
            typed, _, printed = command.partition('\n')
            yield typed, f'{printed.rstrip()}\n' if printed.strip() else ''


@pytest.mark.parametrize('page', PAGES)
def test_a_page(
    client: Client,
    placement: Placement,
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    restore.load(client, cloud())
    shown = list(steps(page))
    assert shown
    for command, printed in shown:
        result = placement(*shlex.split(command))
        # As a terminal shows both: the summary is said before the table is printed.
        seen = result.stderr + result.stdout
        assert seen.rstrip() == printed.rstrip(), f'{command}\n{result}'
