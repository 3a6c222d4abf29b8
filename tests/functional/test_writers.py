"""Many writers on one provider: each has its effect, and none gives up."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from placementclient.api import resource_provider, trait
from placementclient.api.attempts import edited
from tests.functional.applying import client_of

WRITERS = 24


@pytest.mark.slow
def test_every_one_of_many_writers_has_its_effect(service_url: str) -> None:
    client = client_of(service_url)
    tag = uuid.uuid4().hex[:8].upper()
    names = [f'CUSTOM_{tag}_{number}' for number in range(WRITERS)]
    provider = resource_provider.create(client, f'shared-{tag}').uuid
    for name in names:
        trait.create(client, name)

    def add(name: str) -> None:
        mine = client_of(service_url)
        edited(
            mine,
            lambda: trait.list_of_provider(mine, provider),
            lambda there: [*there, name],
            lambda wanted, generation: trait.set_on_provider(mine, provider, wanted, generation),
        )

    with ThreadPoolExecutor(WRITERS) as pool:
        assert list(pool.map(add, names)) == [None] * WRITERS
    assert sorted(trait.list_of_provider(client, provider).value) == sorted(names)
