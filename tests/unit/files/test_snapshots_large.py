"""Snapshots of any form and size: read, or refused, in a time that grows with their size only."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from placementclient.client import errors
from placementclient.files import disk

#: What four times as much may cost at most: twice that if it is linear, half of that if it is not.
MOST = 8
#: What is too short to be compared, in seconds.
SHORT = 0.02


def uuid(number):
    return f'{number:08d}-0000-4000-8000-000000000000'


def provider(number, parent=None, root=0, **fields):
    return {
        'uuid': uuid(number),
        'name': f'host{number}',
        'generation': 1,
        'parent_provider_uuid': None if parent is None else uuid(parent),
        'root_provider_uuid': uuid(root),
        'inventories': {},
        'traits': [],
        'aggregates': [],
        'usages': {},
    } | fields


def snapshot(providers, **consumers):
    content = {'format': 'placementclient/snapshot', 'version': 1, 'providers': providers}
    return json.dumps(content | {'consumers': consumers}).encode()


def with_generation(text):
    return snapshot([provider(0)]).replace(b'"generation": 1', f'"generation": {text}'.encode())


#: Of each form the bytes of a size, and what is wrong with them.
FORMS: dict[str, tuple[Callable[[int], bytes], str]] = {
    'a chain': (lambda n: snapshot([provider(i, i - 1 if i else None) for i in range(n)]), ''),
    'a circle': (
        lambda n: snapshot([provider(i, (i - 1) % n) for i in range(n)]),
        'the parents of .* are a circle',
    ),
    'a UUID twice': (
        lambda n: snapshot([provider(i % (n - 1), root=i % (n - 1)) for i in range(n)]),
        'two providers have the UUID',
    ),
    'a fault at the end': (
        lambda n: snapshot([*(provider(i, root=i) for i in range(n)), provider(n, generation='x')]),
        'expected int, got str',
    ),
    'depth': (lambda n: with_generation('[' * 99 * n), 'nested too deeply'),
}


def seconds(path, said):
    """The processor's time to read a file; the best of two."""
    taken = []
    for _ in range(2):
        before = time.process_time()
        if said:
            with pytest.raises(errors.BadFile, match=said):
                disk.read_snapshot(str(path))
        else:
            disk.read_snapshot(str(path))
        taken.append(time.process_time() - before)
    return min(taken)


@pytest.mark.slow
@pytest.mark.parametrize(('content', 'said'), FORMS.values(), ids=FORMS)
def test_the_time_is_linear(tmp_path, content, said):
    path, taken = tmp_path / 'cloud.json', []
    for size in (3_000, 12_000):
        path.write_bytes(content(size))
        taken.append(seconds(path, said))
    assert taken[1] < MOST * max(taken[0], SHORT)


def test_a_file_that_is_too_large_is_not_parsed(tmp_path, monkeypatch):
    path = tmp_path / 'cloud.json'
    path.write_bytes(snapshot([provider(0)]) + b' ' * 4_000_000)
    monkeypatch.setattr(disk, 'WRITTEN', 3 << 20)
    monkeypatch.setattr(disk.snapshots, 'decode', lambda *arguments: pytest.fail('parsed'))
    with pytest.raises(errors.BadFile, match=r'is larger than 3 MiB$'):
        disk.read_snapshot(str(path))
