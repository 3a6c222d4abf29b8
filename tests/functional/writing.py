"""A second writer: ``writing.py URL SEED HOST…`` until its standard input ends.

Like a scheduler it allocates and frees, on whatever provider has VGPU at the moment, and sometimes
adds a trait. Where no answer comes it reads back what became of it. Then it prints what its
consumers hold, as it knows it.
"""

from __future__ import annotations

import itertools
import json
import random
import select
import sys
from uuid import UUID

from placementclient.api import allocation, attempts, inventory, resource_provider, trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.requests import Filter
from tests.functional.applying import client_of

TRAIT = 'HW_CPU_X86_SSE'


def allocate(client: Client, dice: random.Random, host: str) -> tuple[str, dict[str, int]] | None:
    """Allocate for a new consumer on one host; nothing, if somebody came between."""
    wanted = {'VCPU': 1} | ({'VGPU': 1} if dice.random() < 0.4 else {})
    allocations: dict[str, dict[str, int]] = {}
    try:
        for provider in resource_provider.list(client, matching=Filter(in_tree=host)):
            has = inventory.list(client, provider.uuid).value
            for name, amount in wanted.items():
                if name in has and not any(name in held for held in allocations.values()):
                    allocations.setdefault(provider.uuid, {})[name] = amount
        if sum(len(held) for held in allocations.values()) < len(wanted):
            return None
        uuid = str(UUID(int=dice.getrandbits(128)))
        new = Consumer(uuid, allocations, 'project', 'user', None, 'INSTANCE')
        attempts.confirmed(
            client,
            lambda: allocation.set(client, new),
            lambda: bool(held_by(client, uuid)),
        )
    except (errors.Conflict, errors.NotFound, errors.BadRequest):
        return None
    return uuid, wanted


def free(client: Client, uuid: str) -> None:
    """Free all that a consumer holds."""
    attempts.confirmed(
        client,
        lambda: allocation.delete(client, uuid),
        lambda: not held_by(client, uuid),
    )


def held_by(client: Client, uuid: str) -> Allocations:
    return allocation.show(client, uuid).value.allocations


def mark(client: Client, host: str) -> None:
    """Add a trait, whoever comes between."""
    attempts.edited(
        client,
        lambda: trait.list_of_provider(client, host),
        lambda there: there if TRAIT in there else [*there, TRAIT],
        lambda wanted, generation: trait.set_on_provider(client, host, wanted, generation),
    )


def main(url: str, seed: str, hosts: list[str]) -> None:
    client, dice = client_of(url), random.Random(seed)
    held: dict[str, dict[str, int]] = {}
    marked: set[str] = set()
    for number in itertools.count():
        if number == 20:
            print('writing', flush=True)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
        host = dice.choice(hosts)
        if held and dice.random() < 0.5:
            gone = dice.choice(sorted(held))
            free(client, gone)
            del held[gone]
        elif new := allocate(client, dice, host):
            held[new[0]] = new[1]
        if dice.random() < 0.1:
            mark(client, host)
            marked.add(host)
    print(json.dumps({'held': held, 'marked': sorted(marked)}))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
