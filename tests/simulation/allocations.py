"""Commands that change who holds what."""

from tests.simulation.command import Command, any_of, makes, of_consumers, typed
from tests.simulation.nova import PROJECT, USER
from tests.simulation.state import ABSENT

OWNER = ('--project-id', PROJECT, '--user-id', USER, '--consumer-type', 'INSTANCE')


def _wanted(consumer, held, state):
    """What a consumer holds, and nothing beside it of what it held."""
    everything = dict.fromkeys(state.held(consumer), ABSENT) | held
    return {('allocation', consumer, *key): amount for key, amount in everything.items()}


@makes('resource provider allocation set')
def set_allocation(scene):
    consumer, host = scene.uuid(), scene.host()
    held = {(host, 'VCPU'): 1, (host, 'MEMORY_MB'): 256}
    words = typed('resource provider allocation set', consumer, *OWNER)
    words += ['--allocation', f'rp={host},VCPU=1,MEMORY_MB=256']
    wants = _wanted(consumer, held, scene.state)
    return Command(words, of_consumers(consumer), wants, conserves=False)


@makes('resource provider allocation unset')
def unset(scene):
    consumer = _owned_by_operators(scene)
    if consumer is None:
        return None
    provider, name = scene.one(scene.state.held(consumer))
    words = typed('resource provider allocation unset', consumer, '--provider', provider)
    key = 'allocation', consumer, provider, name
    return Command(
        [*words, '--resource-class', name], of_consumers(consumer), {key: ABSENT}, conserves=False
    )


@makes('resource provider allocation delete')
def delete(scene):
    consumer = _owned_by_operators(scene)
    if consumer is None:
        return None
    return Command(
        typed('resource provider allocation delete', consumer),
        of_consumers(consumer),
        _wanted(consumer, {}, scene.state),
        conserves=False,
    )


@makes('resource provider allocation move')
def move(scene):
    consumer = scene.consumer()
    if consumer is None:
        return None
    held = scene.state.held(consumer)
    source, name = scene.one(held)
    target = scene.one(uuid for uuid in scene.nova.hosts if uuid != source)
    words = typed('resource provider allocation move', consumer, '--class', name)
    total = held[source, name] + held.get((target, name), 0)
    wants = {
        ('allocation', consumer, source, name): ABSENT,
        ('allocation', consumer, target, name): total,
    }
    words += ['--from', source, '--to', target]
    return Command(words, of_consumers(consumer), wants)


@makes('resource provider allocation transfer')
def transfer(scene):
    consumer, other = _owned_by_operators(scene), scene.uuid()
    if consumer is None:
        return None
    held = scene.state.held(consumer)
    words = typed('resource provider allocation transfer', consumer, '--to-consumer', other)
    wants = _wanted(consumer, {}, scene.state) | _wanted(other, held, scene.state)
    return Command(words, of_consumers(consumer, other), wants, conserves=False)


@makes('resource provider allocation claim')
def claim(scene):
    consumer = scene.uuid()
    words = typed('resource provider allocation claim', consumer, *OWNER)
    words += ['--resource', 'VCPU=1', '--resource', 'MEMORY_MB=256', '--alternates', '1']
    return Command(words, of_consumers(consumer), conserves=False)


@makes('resource provider allocation replace')
def replace(scene):
    consumer = _owned_by_operators(scene)
    if consumer is None:
        return None
    new, host = scene.uuid(), scene.host()
    status, there = scene.nova.call('GET', f'/allocations/{consumer}')
    if status != 200 or not there['allocations']:
        return None
    owner = {'project_id': PROJECT, 'user_id': USER, 'consumer_type': 'INSTANCE'}
    body = {
        consumer: {
            'allocations': {}, 'consumer_generation': there['consumer_generation'], **owner
        },
        new: {
            'allocations': {host: {'resources': {'VCPU': 1}}}, 'consumer_generation': None, **owner
        },
    }  # fmt: skip
    wants = _wanted(consumer, {}, scene.state) | {('allocation', new, host, 'VCPU'): 1}
    words = typed('resource provider allocation replace', '--file', scene.file('body', body))
    return Command(words, of_consumers(consumer, new), wants, conserves=False)


@makes('resource provider allocation heal')
def heal(scene):
    """A server of which Placement knows nothing, and one whose allocations have another user."""
    lost, host = scene.uuid(), scene.host()
    servers = [server_record(lost, scene.state.name(host), USER)]
    for uuid in sorted(scene.nova.servers.keys() & set(scene.state.consumers()))[:1]:
        user = str(scene.dice.randrange(3)) * 32
        servers.append(server_record(uuid, str(_host_of(scene.state, uuid)), user))
    words = ['--servers', scene.file('servers', {'servers': servers})]
    words += ['--migrations', scene.file('migrations', {'migrations': []}), '--yes', '-f', 'json']
    wants = {('allocation', lost, host, 'VCPU'): 1, ('allocation', lost, host, 'MEMORY_MB'): 256}
    listed = {server['id'] for server in servers}

    def scope(_before, key):
        # The list is out of date where Nova has deleted or migrated the other server since.
        nova = scene.nova
        is_stale = key[1] not in nova.servers or key[1] in nova.migrating.values()
        return key[1] in listed and (key[0] == 'consumer' or is_stale)

    return Command(
        typed('resource provider allocation heal', *words),
        any_of(of_consumers(lost), scope),
        wants,
        conserves=False,
    )


def server_record(uuid, host, user):
    """A server as Nova lists it."""
    flavor = {'vcpus': 1, 'ram': 256, 'disk': 0, 'ephemeral': 0, 'swap': 0, 'extra_specs': {}}
    return {
        'id': uuid, 'status': 'ACTIVE', 'tenant_id': PROJECT, 'user_id': user,
        'OS-EXT-SRV-ATTR:host': host, 'OS-EXT-SRV-ATTR:hypervisor_hostname': host,
        'OS-EXT-STS:task_state': None, 'OS-EXT-STS:vm_state': 'active', 'image': {'id': 'x'},
        'flavor': {'original_name': 'small', **flavor},
    }  # fmt: skip


@makes('resource provider audit')
def audit(scene):
    """Some servers are on no list, so what they hold may be freed; the others keep it."""
    state, nova = scene.state, scene.nova
    listed = sorted({*nova.servers, *state.consumers()} - set(_leaked(scene)))
    servers = [
        {'ID': uuid, 'Name': uuid[:8], 'Status': 'ACTIVE', 'Host': _host_of(state, uuid)}
        for uuid in listed
        if uuid not in nova.migrating
    ]
    migrations = [
        {'uuid': uuid, 'instance_uuid': server, 'status': 'running', 'id': number}
        for number, (uuid, server) in enumerate(sorted(nova.migrating.items()))
    ]
    words = typed('resource provider audit', '--servers', scene.file('servers', servers))
    words += ['--migrations', scene.file('migrations', {'migrations': migrations})]
    known = {*listed, *nova.migrating, *nova.migrating.values()}
    hosts = {server['ID']: server['Host'] for server in servers}

    def scope(before, key):
        if key[0] not in ('allocation', 'consumer'):
            return key[0] in ('trait', 'inventory')
        if key[1] not in known:
            return key[1] in state.consumers()
        # What it holds on another host than Nova lists is doubled.
        is_elsewhere = key[0] == 'allocation' and before.name(before.root(key[2])) != hosts.get(
            key[1]
        )
        return is_elsewhere and key[1] in hosts

    return Command(
        [*words, '--fix', '--yes', '-f', 'json'],
        scope,
        conserves=False,
        sets_capacity=True,
    )


@makes('resource provider purge')
def purge(scene):
    """A provider goes with all below it, unless somebody would lose what it uses."""
    top = scene.spare() or scene.provider()
    tree = scene.state.tree(scene.state.root(top))
    gone = [uuid for uuid in tree if _is_below(scene.state, uuid, top)]
    words = typed('resource provider purge', top, '--yes', '-f', 'json')

    def scope(state, key):
        # Others may have made a child since.
        if key[0] in ('allocation', 'consumer'):
            return key[0] == 'consumer' or _is_below(state, key[2], top)
        return key[0] in kinds and _is_below(state, key[1], top)

    kinds = ('provider', 'inventory', 'trait', 'aggregate')
    wants = {('provider', uuid): ABSENT for uuid in gone}
    return Command(words, scope, wants, conserves=False)


def _is_below(state, uuid, top):
    """Whether a provider is another one or below it; one that is only being made is."""
    while uuid != top and ('provider', uuid) in state:
        uuid = state['provider', str(uuid)][1]
    return uuid is not None


def _owned_by_operators(scene):
    """A consumer that is no server of Nova's."""
    found = _leaked(scene)
    return scene.dice.choice(found) if found else None


def _leaked(scene):
    known = {*scene.nova.servers, *scene.nova.migrating, *scene.nova.migrating.values()}
    return [uuid for uuid in scene.state.consumers() if uuid not in known]


def _host_of(state, uuid):
    held = sorted(state.held(uuid))
    return state.name(state.root(held[0][0])) if held else None
