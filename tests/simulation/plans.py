"""Plans in files: of a reshape and of changes, made, carried out, looked at and taken back."""

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.simulation.command import Command, Plan, any_of, makes, new_names, nothing, typed
from tests.simulation.state import ABSENT

CARDS = 2
VGPUS = 8


def has_flat_gpus(state, host):
    return ('inventory', host, 'VGPU') in state


@makes('resource provider reshape plan')
def plan_reshape(scene):
    """Move the virtual GPUs of some hosts to a child for each card, or back."""
    flat = [uuid for uuid in scene.nova.hosts if has_flat_gpus(scene.state, uuid)]
    if not flat:
        return None
    chosen = sorted(scene.dice.sample(flat, scene.dice.randint(1, min(2, len(flat)))))
    share = VGPUS // CARDS
    names = [f'{{root}}_gpu{n}' for n in range(CARDS)]
    trait = scene.custom('TRAIT')
    spec = {
        'trees': {'name': [scene.state.name(uuid) for uuid in chosen]},
        'providers': [
            {
                'name': name,
                'inventories': {'VGPU': {'total': share, 'max_unit': share}},
                'traits': [trait],
            }
            for name in names
        ],
        'moves': [
            {
                'from_resource_provider': '{root}',
                'to_resource_provider': name,
                'moved_resources': {'VGPU': share},
            }
            for name in names
        ],
    }
    path = scene.file('plan')
    words = typed('resource provider reshape plan', '--spec', scene.file('spec', spec))
    words += ['-o', path, '--allow-inferred', '--skip-infeasible']
    made = Command([], reshaping(frozenset(chosen)))
    return Command(words, nothing, plan=Plan(path, made, frozenset(chosen)), verb='plan')


def reshaping(hosts):
    """The virtual GPUs of some hosts, who holds them, and the children that have them."""

    def scope(state, key):
        kind, *names = key
        if kind in ('allocation', 'inventory'):
            return names[-1] == 'VGPU' and _is_of(state, names[-2], hosts)
        return kind == 'consumer' or (names[0] not in hosts and _is_of(state, names[0], hosts))

    return any_of(scope, new_names)


def _is_of(state, uuid, hosts):
    """Whether a provider is of some trees; one that is only being made is."""
    return ('provider', uuid) not in state or state.root(uuid) in hosts


def _carried(verb, scene):
    return carried(scene.dice.choice(scene.plans), verb) if scene.plans else None


def carried(plan, verb):
    """Apply a plan, or take it back."""
    words = typed(f'resource provider reshape {verb}', plan.path, '--yes', '-f', 'json')
    planned = Path(plan.path).read_text()
    # A class or a trait that it needs may have been deleted since.
    allowed = any_of(plan.made.scope, new_names)

    def scope(state, key):
        # A reshape may be planned again, for others too; any other plan is as it was reviewed.
        return allowed(state, key) and (bool(plan.hosts) or key[1] in planned)

    made = replace(plan.made, scope=scope, plan=plan, verb=verb)
    if verb == 'rollback':
        return replace(made, words=words, wants={})
    # What was as wanted when the plan was made is not in it, and may change.
    wants = {key: value for key, value in made.wants.items() if key[1] in planned}
    if plan.hosts:
        wants = {('inventory', root, 'VGPU'): ABSENT for root in planned_roots(plan)}
    return replace(made, words=[*words, '--compute-is-up'], wants=wants)


def _looked_at(verb, scene):
    if not scene.plans:
        return None
    return Command(
        typed(f'resource provider reshape {verb}', scene.dice.choice(scene.plans).path)
        + (['-f', 'json'] if verb != 'show' else [])
    )


def planned_roots(plan):
    """The roots of the trees in a plan: without those for which there is none."""
    return [tree['root_provider_uuid'] for tree in json.loads(Path(plan.path).read_text())['trees']]


for _verb in ('apply', 'rollback'):
    makes(f'resource provider reshape {_verb}')(partial(_carried, _verb))
for _verb in ('status', 'verify', 'show'):
    makes(f'resource provider reshape {_verb}')(partial(_looked_at, _verb))


@makes('resource provider snapshot restore')
def restore(scene):
    """What has been deleted since a snapshot is made again."""
    snapshots = sorted(scene.folder.glob('snapshot-*'))
    if not snapshots:
        return None
    path = scene.dice.choice(snapshots)
    document = json.loads(path.read_text())
    known = {record['uuid'] for record in document['providers']}
    consumers = set(document['consumers'])
    missing = {uuid for uuid in known if ('provider', uuid) not in scene.state}

    def is_left(state, key):
        # A restore that was killed may have left a provider without any of these.
        kind, uuid, *name = key
        first = name if kind == 'inventory' else []
        return (
            uuid in known
            and kind in ('inventory', 'trait', 'aggregate')
            and not state.of(kind, uuid, *first)
        )

    def scope(state, key):
        if key[0] in ('allocation', 'consumer'):
            return key[1] in consumers and key[1] not in scene.nova.servers
        # Others may have deleted more since.
        is_gone = key[0] == 'provider' and key[1] in known and key not in state
        return new_names(state, key) or is_gone or key[1] in missing or is_left(state, key)

    words = typed('resource provider snapshot restore', str(path), '--missing', '-f', 'json')
    wants = {('provider', uuid): lambda value: value is not ABSENT for uuid in missing}
    return Command(words, scope, wants, conserves=False)


@makes('resource provider reshape submit')
def submit(scene):
    """A reshape by hand that writes what was there a moment ago."""
    host = scene.host()
    _, there = scene.nova.call('GET', f'/resource_providers/{host}/inventories')
    body = {
        'inventories': {
            host: {
                'resource_provider_generation': there.get('resource_provider_generation', 0),
                'inventories': there.get('inventories', {}),
            }
        },
        'allocations': {},
    }
    words = typed('resource provider reshape submit', '--file', scene.file('body', body))
    return Command(words, lambda _state, key: key[0] == 'inventory' and key[1] == host)


def is_there(path):
    """Whether a plan was written."""
    return os.path.exists(path) and Path(path).stat().st_size > 0
