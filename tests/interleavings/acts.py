# SPDX-License-Identifier: Apache-2.0
"""The tree of three providers, and the acts of other clients on it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.simulation.state import State
from tests.simulation.world import World

HOST, CELL, LEAF = (f'{n * 8}-0000-4000-8000-000000000000' for n in 'abc')
SERVER, NEIGHBOUR = (f'{n * 8}-1111-4111-8111-111111111111' for n in 'de')
PROJECT, USER = 'b' * 32, 'c' * 32
RACK, ZONE = (f'9999999{n}-9999-4999-8999-999999999999' for n in '01')
#: The values that others write, which no command writes.
TRAIT, CLASS, AGGREGATE = 'HW_CPU_X86_VMX', 'CUSTOM_OTHERS', RACK[:-4] + '7777'
STRANGER, CHILD = (f'{n * 8}-2222-4222-8222-222222222222' for n in '67')
RATIO, RESERVED, OWNER = 3.25, 77, 'f' * 32

INVENTORIES = {
    HOST: {
        'VCPU': {'total': 16, 'max_unit': 16, 'allocation_ratio': 2.0},
        'MEMORY_MB': {'total': 32768, 'max_unit': 32768, 'reserved': 512},
        'VGPU': {'total': 8, 'max_unit': 8},
    },
    CELL: {'CUSTOM_PORT': {'total': 8}},
    LEAF: {'CUSTOM_PORT': {'total': 4}, 'CUSTOM_CLASS': {'total': 2}},
}
ALLOCATIONS = {
    SERVER: {HOST: {'VCPU': 2, 'MEMORY_MB': 1024, 'VGPU': 1}},
    NEIGHBOUR: {HOST: {'VCPU': 1, 'MEMORY_MB': 512, 'VGPU': 2}, CELL: {'CUSTOM_PORT': 1}},
}


class Refused(Exception):
    """The service does not allow the act here."""


class Act(NamedTuple):
    """Something that another client does.

    :param subject: the UUID of a provider or a consumer
    """

    kind: str
    subject: str

    def __str__(self) -> str:
        return f'{self.kind}:{self.subject}'

    def done(self, world: World) -> None:
        """Do it, in one moment.

        :raises Refused: if the service does not allow it
        """
        _ACTS[self.kind](_Other(world), self.subject)

    def is_shown(self, path: str, answer: str) -> bool:
        """Return whether an answer shows the result of the act."""
        if self.kind == 'parent':
            is_root = '"parent_provider_uuid": null' in answer
            return self.subject in answer and (is_root or HOST in answer)
        if self.kind == 'move':
            return STRANGER in path + answer
        if self.kind == 'end':
            is_listed = path.endswith(f'{HOST}/allocations') and self.subject not in answer
            return is_listed or self.subject in path
        if self.kind == 'delete':
            return self.subject in path or ('in_tree' in path and self.subject not in answer)
        marks = _MARKS.get(self.kind, ())
        return all(mark in answer for mark in marks) and self.subject in path + answer


_MARKS = {
    'trait': (TRAIT,),
    'aggregate': (AGGREGATE,),
    'inventory': (CLASS,),
    'ratio': (f'"allocation_ratio": {RATIO}',),
    'compute': (f'"reserved": {RESERVED}',),
    'rename': ('renamed',),
    'child': (CHILD,),
    'consumer': (STRANGER,),
    'owner': (OWNER,),
}


def acts(state: State, text: str) -> Iterator[Act]:
    """Return all acts on the providers and consumers that a text names."""
    for uuid in (key[1] for key in state.of('provider') if key[1] in text):
        yield from (Act(kind, uuid) for kind in OF_PROVIDERS)
    for uuid in (uuid for uuid in state.consumers() if uuid in text):
        yield from (Act(kind, uuid) for kind in OF_CONSUMERS)


class _Other:
    """Another client, which reads a generation and writes with it."""

    def __init__(self, world: World) -> None:
        self.world = world

    def send(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.world.call(method, path, body, version='1.37')
        if status >= 400:
            raise Refused
        return answer

    def change(self, uuid: str, facet: str, edit: Callable[[Any], Any]) -> None:
        """Change one part of a provider."""
        path = f'/resource_providers/{uuid}/{facet}'
        live = self.send('GET', path)
        edited = edit(live[facet])
        if edited == live[facet]:
            raise Refused
        self.send('PUT', path, live | {facet: edited})

    def provider(self, uuid: str) -> Any:
        return self.send('GET', f'/resource_providers/{uuid}')

    def hold(self, uuid: str, edit: Callable[[Any], Any]) -> None:
        """Change a consumer."""
        live = self.send('GET', f'/allocations/{uuid}')
        if not live['allocations']:
            raise Refused
        self.send('PUT', f'/allocations/{uuid}', edit(live))


def _add(name: str) -> Callable[[list[str]], list[str]]:
    return lambda names: sorted({*names, name})


def _trait(other: _Other, uuid: str) -> None:
    other.change(uuid, 'traits', _add(TRAIT))


def _aggregate(other: _Other, uuid: str) -> None:
    other.change(uuid, 'aggregates', _add(AGGREGATE))


def _inventory(other: _Other, uuid: str) -> None:
    other.send('PUT', f'/resource_classes/{CLASS}')
    other.change(uuid, 'inventories', lambda live: live | {CLASS: {'total': 5}})


def _ratio(other: _Other, uuid: str) -> None:
    def edit(live: Any) -> Any:
        return {name: fields | {'allocation_ratio': RATIO} for name, fields in live.items()}

    other.change(uuid, 'inventories', edit)


def _compute(other: _Other, uuid: str) -> None:
    """Write what a driver reports of a host, and leave the rest as it is."""

    def edit(live: Any) -> Any:
        if 'MEMORY_MB' not in live:
            raise Refused
        return live | {'MEMORY_MB': live['MEMORY_MB'] | {'reserved': RESERVED}}

    other.change(uuid, 'inventories', edit)


def _rename(other: _Other, uuid: str) -> None:
    other.send('PUT', f'/resource_providers/{uuid}', {'name': 'renamed'})


def _parent(other: _Other, uuid: str) -> None:
    """Make a child a root, or put a grandchild below the host."""
    live = other.provider(uuid)
    if live['parent_provider_uuid'] is None:
        raise Refused
    above = None if live['parent_provider_uuid'] == HOST else HOST
    body = {'name': live['name'], 'parent_provider_uuid': above}
    other.send('PUT', f'/resource_providers/{uuid}', body)


def _child(other: _Other, uuid: str) -> None:
    body = {'uuid': CHILD, 'name': 'child', 'parent_provider_uuid': uuid}
    other.send('POST', '/resource_providers', body)


def _delete(other: _Other, uuid: str) -> None:
    other.send('DELETE', f'/resource_providers/{uuid}')


def _consumer(other: _Other, uuid: str) -> None:
    """Allocate one of everything that the provider has."""
    names = other.send('GET', f'/resource_providers/{uuid}/inventories')['inventories']
    body = {
        'allocations': {uuid: {'resources': dict.fromkeys(names, 1)}},
        'project_id': PROJECT, 'user_id': USER, 'consumer_generation': None,
    }  # fmt: skip
    other.send('PUT', f'/allocations/{STRANGER}', body)


def _end(other: _Other, uuid: str) -> None:
    other.hold(uuid, lambda live: live | {'allocations': {}})


def _owner(other: _Other, uuid: str) -> None:
    other.hold(uuid, lambda live: live | {'project_id': OWNER})


def _resize(other: _Other, uuid: str) -> None:
    """Let a server have one more of each."""

    def edit(live: Any) -> Any:
        for holding in live['allocations'].values():
            holding['resources'] = {name: n + 1 for name, n in holding['resources'].items()}
        return live

    other.hold(uuid, edit)


def _move(other: _Other, uuid: str) -> None:
    """Hand everything to a migration, as Nova does at its start."""
    live = other.send('GET', f'/allocations/{uuid}')
    if not live['allocations']:
        raise Refused
    moved = {p: {'resources': holding['resources']} for p, holding in live['allocations'].items()}
    owner = {name: live[name] for name in ('project_id', 'user_id')}
    generation = live['consumer_generation']
    body = {
        uuid: {'allocations': {}, 'consumer_generation': generation, **owner},
        STRANGER: {'allocations': moved, 'consumer_generation': None, **owner},
    }
    other.send('POST', '/allocations', body)


OF_PROVIDERS = {
    'trait': _trait, 'aggregate': _aggregate, 'inventory': _inventory, 'ratio': _ratio,
    'compute': _compute, 'rename': _rename, 'parent': _parent, 'child': _child,
    'delete': _delete, 'consumer': _consumer,
}  # fmt: skip
OF_CONSUMERS = {'end': _end, 'owner': _owner, 'resize': _resize, 'move': _move}
_ACTS = {**OF_PROVIDERS, **OF_CONSUMERS}


def build(world: World) -> None:
    """Make the tree and its consumers."""
    other = _Other(world)
    for name in ('CUSTOM_PORT', 'CUSTOM_CLASS', 'CUSTOM_SPARE'):
        other.send('PUT', f'/resource_classes/{name}')
    for name in ('CUSTOM_TRAIT', 'CUSTOM_UNUSED'):
        other.send('PUT', f'/traits/{name}')
    for uuid, name, parent in (
        (HOST, 'host', None), (CELL, 'host_cell', HOST), (LEAF, 'host_cell_leaf', CELL),
    ):  # fmt: skip
        body = {'uuid': uuid, 'name': name}
        parent_body = {'parent_provider_uuid': parent} if parent else {}
        other.send('POST', '/resource_providers', body | parent_body)
        other.change(uuid, 'inventories', lambda _, uuid=uuid: INVENTORIES[uuid])
        other.change(uuid, 'traits', lambda _: ['CUSTOM_TRAIT', 'COMPUTE_NODE'])
        other.change(uuid, 'aggregates', lambda _: [ZONE])
    for uuid, allocations in ALLOCATIONS.items():
        body = {
            'allocations': {p: {'resources': resources} for p, resources in allocations.items()},
            'project_id': PROJECT, 'user_id': USER, 'consumer_generation': None,
        }  # fmt: skip
        other.send('PUT', f'/allocations/{uuid}', body)
