# SPDX-License-Identifier: Apache-2.0
"""Makers of command lines whose arguments are files, and of reshapes and their plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.simulation.commands import AGGREGATES, Command, Missing, Plan, Scene, nothing
from tests.simulation.lines import READING, WRITING
from tests.simulation.nova import PROJECT, USER

CARDS = 2
VGPUS = 8


def _declare(scene):
    """A host gets a child, a ratio, a trait and a class; all that may be there already."""
    uuid = scene.host()
    name = scene.state.name(uuid)
    child = {'name': f'{name}_extra', 'uuid': scene.state.by_name(f'{name}_extra') or scene.uuid()}
    fields = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')
    inventories = {
        key[2]: dict(zip(fields, scene.state[key], strict=True))
        for key in scene.state.of('inventory', uuid)
    }
    ratio = {'allocation_ratio': scene.dice.choice([2.0, 4.0, 16.0])}
    inventories['VCPU'] = inventories.get('VCPU', {'total': 16}) | ratio
    units = {'CUSTOM_CLASS_0': {'total': scene.dice.randint(1, 9)}}
    declared = {
        'name': name,
        'inventories': inventories,
        'traits': [scene.custom('TRAIT')],
        'children': [{**child, 'inventories': units}],
    }
    return [scene.file('tree', declared), '--yes', '-f', 'json']


def _replace_host(scene):
    """A host, or a spare provider, comes back under another UUID."""
    old, new = scene.spare() if scene.dice.random() < 0.3 else scene.host(), scene.uuid()
    scene.nova.replace(old, new)
    return [scene.called(old), '--uuid', new, '--yes', '-f', 'json']


def _sync(scene):
    names = [scene.state.name(uuid) for uuid in scene.hosts() if scene.dice.random() < 0.5]
    aggregate = {
        'id': 1, 'uuid': AGGREGATES[3], 'name': 'rack', 'availability_zone': None, 'metadata': {},
        'hosts': names,
    }  # fmt: skip
    path = scene.file('aggregates', {'aggregates': [aggregate]})
    return ['--aggregates', path, '--remove', '--yes', '-f', 'json']


def _replace_consumer(scene):
    """A consumer of operators goes, and another one comes."""
    consumer, new, host = scene.one(scene.own_consumers()), scene.uuid(), scene.host()
    status, live = scene.nova.call('GET', f'/allocations/{consumer}')
    if status != 200 or not live['allocations']:
        raise Missing
    owner = {'project_id': PROJECT, 'user_id': USER, 'consumer_type': 'INSTANCE'}
    resources = {host: {'resources': {'VCPU': 1}}}
    gone = {'allocations': {}, 'consumer_generation': live['consumer_generation'], **owner}
    body = {consumer: gone, new: {'allocations': resources, 'consumer_generation': None, **owner}}
    return ['--file', scene.file('body', body)]


def _heal(scene):
    """A server of which Placement knows nothing, and one whose allocations have another user."""
    servers = [server_record(scene.uuid(), scene.state.name(scene.host()), USER)]
    for uuid in sorted(scene.nova.servers.keys() & set(scene.state.consumers()))[:1]:
        user = str(scene.dice.randrange(3)) * 32
        servers.append(server_record(uuid, str(_host_of(scene.state, uuid)), user))
    words = ['--servers', scene.file('servers', {'servers': servers})]
    words += ['--migrations', scene.file('migrations', {'migrations': []})]
    return [*words, '--yes', '-f', 'json']


def server_record(uuid, host, user):
    """A server as Nova lists it."""
    flavor = {'vcpus': 1, 'ram': 256, 'disk': 0, 'ephemeral': 0, 'swap': 0, 'extra_specs': {}}
    return {
        'id': uuid, 'status': 'ACTIVE', 'tenant_id': PROJECT, 'user_id': user,
        'OS-EXT-SRV-ATTR:host': host, 'OS-EXT-SRV-ATTR:hypervisor_hostname': host,
        'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': 'active', 'image': {'id': 'x'},
        'flavor': {'original_name': 'small', **flavor},
    }  # fmt: skip


def _audit(scene):
    """Some servers are on no list, so what they hold may be freed; the others keep it."""
    state, nova = scene.state, scene.nova
    listed = sorted({*nova.servers, *state.consumers()} - {*scene.own_consumers(), *nova.migrating})
    servers = [
        {'ID': uuid, 'Name': uuid[:8], 'Status': 'ACTIVE', 'Host': _host_of(state, uuid)}
        for uuid in listed
    ]
    migrations = [
        {'uuid': uuid, 'instance_uuid': server, 'status': 'running', 'id': number}
        for number, (uuid, server) in enumerate(sorted(nova.migrating.items()))
    ]
    words = ['--servers', scene.file('servers', servers)]
    words += ['--migrations', scene.file('migrations', {'migrations': migrations})]
    return [*words, '--fix', '--yes', '-f', 'json']


def _host_of(state, uuid):
    allocations = sorted(state.held(uuid))
    return state.name(state.root(allocations[0][0])) if allocations else None


def _submit(scene):
    """A reshape by hand that writes what was there a moment ago."""
    host = scene.host()
    _, live = scene.nova.call('GET', f'/resource_providers/{host}/inventories')
    content = {
        'resource_provider_generation': live.get('resource_provider_generation', 0),
        'inventories': live.get('inventories', {}),
    }
    body = {'inventories': {host: content}, 'allocations': {}}
    return ['--file', scene.file('body', body)]


#: The makers of arguments with files, by the names of the commands.
_FILES: dict[str, Callable[[Scene], list[str]]] = {
    'resource provider tree apply': _declare,
    'resource provider replace': _replace_host,
    'resource provider aggregate sync': _sync,
    'resource provider allocation replace': _replace_consumer,
    'resource provider allocation heal': _heal,
    'resource provider audit': _audit,
    'resource provider reshape submit': _submit,
}
_PLAN, _APPLY, _ROLLBACK = (
    f'resource provider reshape {verb}' for verb in ('plan', 'apply', 'rollback')
)
#: The names of all commands that write.
WRITERS = sorted({*WRITING, *_FILES, _PLAN, _APPLY, _ROLLBACK})


def made(name, scene):
    """A command of a name.

    :raises Missing: if something that it needs is not there
    """
    if name == _PLAN:
        return plan_reshape(scene)
    if name in (_APPLY, _ROLLBACK):
        paths = {plan.path: plan for plan in scene.plans}
        return carried(paths[scene.one(paths)], name.split()[-1])
    makers: list[Callable[[], list[str]]] = []
    makers += [lambda line=line: scene.filled(line) for line in WRITING.get(name, ())]
    makers += [lambda: _FILES[name](scene)] if name in _FILES else []
    if not makers or (name in READING and scene.dice.random() < 0.5):
        return Command(name, scene.filled(READING[name]), nothing)
    return _varied(Command(name, scene.dice.choice(makers)()), scene)


def _varied(command, scene):
    """The same, or only looked at, or written as a plan, where that is possible."""
    chance = scene.dice.random()
    if '--yes' in command.arguments and '--fix' not in command.arguments:
        if chance < 0.1:
            return Command(command.name, [*command.arguments, '--dry-run'], nothing)
        if chance < 0.45:
            plan = Plan(scene.file('plan'), command)
            arguments = [*command.arguments, '--plan', plan.path]
            return Command(command.name, arguments, nothing, plan, 'plan')
    return command


def has_flat_gpus(state, host):
    return ('inventory', host, 'VGPU') in state


def plan_reshape(scene):
    """Move the virtual GPUs of some hosts to a child for each card."""
    flat = sorted(uuid for uuid in scene.nova.hosts if has_flat_gpus(scene.state, uuid))
    if not flat:
        raise Missing
    chosen = frozenset(scene.dice.sample(flat, scene.dice.randint(1, min(2, len(flat)))))
    share = VGPUS // CARDS
    names = [f'{{root}}_gpu{n}' for n in range(CARDS)]
    trait = scene.custom('TRAIT')
    content = {'inventories': {'VGPU': {'total': share, 'max_unit': share}}, 'traits': [trait]}
    move = {'from_resource_provider': '{root}', 'moved_resources': {'VGPU': share}}
    spec = {
        'trees': {'name': sorted(map(scene.state.name, chosen))},
        'providers': [{'name': name, **content} for name in names],
        'moves': [{'to_resource_provider': name, **move} for name in names],
    }
    plan = Plan(scene.file('plan'), Command(_PLAN), chosen)
    arguments = ['--spec', scene.file('spec', spec), '-o', plan.path]
    arguments += ['--allow-inferred', '--skip-infeasible']
    return Command(_PLAN, arguments, nothing, plan, 'plan')


def carried(plan, verb):
    """Apply a plan, or take it back."""
    planned = Path(plan.path).read_text()
    # A host that was chosen by its name may have got another UUID before it was planned.
    trees = json.loads(planned)['trees'] if plan.hosts else []
    hosts = {uuid for tree in trees for uuid in (tree['root_provider_uuid'], *tree['joined'])}

    def scope(state, key):
        kind, *names = key
        # A class or a trait that it needs may have been deleted since.
        if kind in ('class name', 'trait name'):
            return True
        if not hosts:
            return names[0] in planned
        # A reshape may be planned again, for others too: only the virtual GPUs of its hosts.
        if kind in ('allocation', 'inventory'):
            return names[-1] == 'VGPU' and _is_of(state, names[-2], hosts)
        return kind == 'consumer' or (names[0] not in hosts and _is_of(state, names[0], hosts))

    arguments = [plan.path, '--yes', '-f', 'json']
    arguments += ['--compute-is-up'] if verb == 'apply' else []
    return Command(f'resource provider reshape {verb}', arguments, scope, plan, verb)


def _is_of(state, uuid, hosts):
    """Whether a provider is of some trees; one that is only being made is."""
    return ('provider', uuid) not in state or state.root(uuid) in hosts
