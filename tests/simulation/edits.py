"""Commands that edit classes, traits, aggregates, providers and inventories."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.simulation.command import Command, any_of, makes, new_names, of_provider, typed
from tests.simulation.state import ABSENT, Key

STANDARD = ('HW_CPU_X86_AVX', 'HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE')
TOTAL, RESERVED, MIN_UNIT, MAX_UNIT, STEP_SIZE, RATIO = range(6)


def _name_edit(kind, verb, scene):
    name = scene.custom(kind.upper())
    key = f'{kind} name', name
    word = f'resource {kind}' if kind == 'class' else kind
    wanted = ABSENT if verb == 'delete' else True
    return Command(
        typed(f'{word} {verb}', name),
        lambda _state, changed: changed == key,
        {key: wanted},
    )


for _kind, _verb in (
    ('class', 'create'), ('class', 'set'), ('class', 'delete'),
    ('trait', 'create'), ('trait', 'delete'),
):  # fmt: skip
    makes(f'resource class {_verb}' if _kind == 'class' else f'trait {_verb}')(
        partial(_name_edit, _kind, _verb)
    )


@makes('resource provider create')
def create(scene):
    uuid, name = scene.uuid(), f'spare{scene.dice.randrange(6)}'
    parent = scene.provider() if scene.dice.random() < 0.3 else None
    words = typed('resource provider create', name, '--uuid', uuid)
    words += ['--parent-provider', parent] if parent else []
    return Command(words, of_provider(uuid, 'provider'), {('provider', uuid): (name, parent)})


@makes('resource provider set')
def set_provider(scene):
    uuid = scene.spare()
    if uuid is None:
        return None
    name = f'spare{scene.dice.randrange(6)}'
    words = typed('resource provider set', uuid, '--name', name)
    return Command(
        words,
        of_provider(uuid, 'provider'),
        {('provider', uuid): lambda value: value and value[0] == name},
    )


@makes('resource provider delete')
def delete_provider(scene):
    uuid = scene.spare() or scene.provider()
    return Command(
        typed('resource provider delete', scene.called(uuid)),
        of_provider(uuid, 'provider', 'inventory', 'trait', 'aggregate'),
        {('provider', uuid): ABSENT},
    )


@makes('resource provider inventory set')
def set_inventory(scene):
    uuid, total = scene.host(), scene.dice.randint(8, 64)
    words = typed(
        'resource provider inventory set',
        scene.called(uuid),
        *('--amend', '--resource', f'VCPU:total={total}', '-f', 'json'),
    )
    wants = {('inventory', uuid, 'VCPU'): lambda value: value and value[TOTAL] == total}
    return Command(
        words,
        lambda _state, key: key == ('inventory', uuid, 'VCPU'),
        wants,
        sets_capacity=True,
        fields=frozenset({TOTAL}),
    )


@makes('resource provider inventory set')
def set_many(scene):
    ratio = scene.dice.choice([4.0, 8.0, 16.0])
    words = typed(
        'resource provider inventory set',
        *('--match', 'host*', '--with-class', 'VCPU', '--amend', '--yes', '-f', 'json'),
        *('--resource', f'VCPU:allocation_ratio={ratio}'),
    )
    hosts = scene.hosts()
    keys = [key for key in scene.state.of('inventory') if key[2] == 'VCPU' and key[1] in hosts]
    return Command(
        words,
        lambda state, key: key[0] == 'inventory' and key[2] == 'VCPU',
        {key: lambda value: value and value[RATIO] == ratio for key in keys},
        sets_capacity=True,
        fields=frozenset({RATIO}),
    )


@makes('resource provider inventory class create')
def create_inventory(scene):
    uuid, name, total = scene.host(), scene.custom('CLASS'), scene.dice.randint(1, 9)
    words = typed('resource provider inventory class create', scene.called(uuid), name)
    wants = {('inventory', uuid, name): lambda value: value and value[TOTAL] == total}
    return Command([*words, '--total', str(total)], of_provider(uuid, 'inventory'), wants)


@makes('resource provider inventory class set')
def set_inventory_class(scene):
    uuid, total = scene.host(), scene.dice.randint(8, 64)
    words = typed('resource provider inventory class set', scene.called(uuid), 'VCPU')
    return Command(
        [*words, '--total', str(total), '--allocation_ratio', '8'],
        lambda _state, key: key == ('inventory', uuid, 'VCPU'),
        {('inventory', uuid, 'VCPU'): lambda v: v and v[TOTAL] == total and v[RATIO] == 8},
        sets_capacity=True,
    )


@makes('resource provider inventory delete')
def delete_inventory(scene):
    found = [key for key in scene.state.of('inventory') if key[2].startswith('CUSTOM')]
    key = scene.dice.choice(found) if found else ('inventory', scene.host(), 'VGPU')
    words = typed('resource provider inventory delete', key[1], '--resource-class', key[2])
    return Command(words, lambda _state, changed: changed == key, {key: ABSENT})


def _traits(verb, scene):
    uuid, chosen = scene.host(), scene.dice.sample(STANDARD, 2)
    there = {key[2] for key in scene.state.of('trait', uuid)}
    words = typed(f'resource provider trait {verb}', scene.called(uuid))
    if verb == 'set':
        words += [word for name in chosen for word in ('--trait', name)]
    elif verb != 'delete':
        words += chosen
    wants: dict[Key, Any] = {('trait', uuid, name): True for name in chosen if verb != 'delete'}
    if verb == 'remove':
        wants = dict.fromkeys(wants, ABSENT)
    if verb in ('set', 'delete'):
        wants = {('trait', uuid, name): ABSENT for name in there} | wants
    own = of_provider(uuid, 'trait')

    def scope(state, key):
        return own(state, key) and (verb in ('set', 'delete') or key[2] in chosen)

    return Command(words, scope, wants)


for _verb in ('set', 'delete', 'add', 'remove'):
    makes(f'resource provider trait {_verb}')(partial(_traits, _verb))


@makes('resource provider trait add')
def tag_many(scene):
    name = scene.dice.choice(STANDARD)
    words = typed('resource provider trait add', '--match', 'host*', name, '--yes', '-f', 'json')
    wants = {('trait', uuid, name): True for uuid in scene.hosts()}
    return Command(words, lambda _state, key: key[0] == 'trait' and key[2] == name, wants)


AGGREGATES = tuple(f'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa{n}' for n in range(4))


def _aggregates(verb, scene):
    uuid, chosen = scene.host(), scene.dice.choice(AGGREGATES)
    words = typed(f'resource provider aggregate {verb}', scene.called(uuid), chosen)
    key = 'aggregate', uuid, chosen
    wanted = ABSENT if verb == 'remove' else True
    return Command(words, lambda _state, changed: changed == key, {key: wanted})


for _verb in ('add', 'remove'):
    makes(f'resource provider aggregate {_verb}')(partial(_aggregates, _verb))


@makes('resource provider aggregate set')
def set_aggregates(scene):
    uuid, chosen = scene.host(), scene.dice.choice(AGGREGATES)
    status, there = scene.nova.call('GET', f'/resource_providers/{uuid}/aggregates')
    generation = str(there['resource_provider_generation']) if status == 200 else '0'
    words = typed('resource provider aggregate set', uuid, '--aggregate', chosen)
    words += ['--generation', generation]
    return Command(words, of_provider(uuid, 'aggregate'), {('aggregate', uuid, chosen): True})


@makes('resource provider aggregate sync')
def sync(scene):
    hosts = scene.hosts()
    members = [uuid for uuid in hosts if scene.dice.random() < 0.5]
    aggregate = {
        'id': 1, 'uuid': AGGREGATES[3], 'name': 'rack', 'availability_zone': None, 'metadata': {},
        'hosts': [scene.state.name(uuid) for uuid in members],
    }  # fmt: skip
    path = scene.file('aggregates', {'aggregates': [aggregate]})
    words = typed('resource provider aggregate sync', '--aggregates', path, '--remove', '--yes')
    wants = {
        ('aggregate', uuid, AGGREGATES[3]): True if uuid in members else ABSENT for uuid in hosts
    }
    return Command(
        [*words, '-f', 'json'],
        lambda _state, key: key[0] == 'aggregate' and key[2] == AGGREGATES[3],
        wants,
    )


@makes('resource provider tree apply')
def declare(scene):
    """A host gets a child, a ratio, a trait and a class; all that may be there already."""
    uuid, ratio = scene.host(), scene.dice.choice([2.0, 4.0, 16.0])
    name, trait = scene.state.name(uuid), scene.custom('TRAIT')
    child = {'name': f'{name}_extra', 'uuid': scene.state.by_name(f'{name}_extra') or scene.uuid()}
    units = scene.dice.randint(1, 9)
    fields = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')
    has = {
        key[2]: dict(zip(fields, scene.state[key], strict=True))
        for key in scene.state.of('inventory', uuid)
    }
    declared = {
        'name': name,
        'inventories': has | {'VCPU': has.get('VCPU', {'total': 16}) | {'allocation_ratio': ratio}},
        'traits': [trait],
        'children': [{**child, 'inventories': {'CUSTOM_CLASS_0': {'total': units}}}],
    }
    words = typed('resource provider tree apply', scene.file('tree', declared), '--yes')
    wants: dict[Key, Any] = {
        ('inventory', uuid, 'VCPU'): lambda value: value and value[RATIO] == ratio,
        ('trait', uuid, trait): True,
        ('inventory', child['uuid'], 'CUSTOM_CLASS_0'): lambda v: v and v[TOTAL] == units,
    }
    kinds = ('provider', 'inventory', 'trait')
    own = any_of(of_provider(uuid, *kinds), of_provider(child['uuid'], *kinds), new_names)
    return Command([*words, '-f', 'json'], own, wants)


@makes('resource provider replace')
def replace(scene):
    """A host, or a spare provider, comes back under another UUID."""
    old, new = scene.spare() if scene.dice.random() < 0.3 else None, scene.uuid()
    old = old or scene.host()
    scene.nova.replace(old, new)
    words = typed('resource provider replace', scene.called(old), '--uuid', new, '--yes')

    def scope(state, key):
        if key[0] in ('allocation', 'consumer'):
            return key[0] == 'consumer' or key[2] in (old, new)
        # Also of the children that others have made since.
        _, parent = state.get(('provider', key[1]), (None, None))
        return key[1] in (old, new) or parent in (old, new)

    wants = {('provider', old): ABSENT, ('provider', new): scene.state['provider', old]}
    return Command([*words, '-f', 'json'], scope, wants)
