"""Commands that change nothing, whatever happens on the way."""

import shlex
from functools import partial

from tests.simulation.command import Command, makes, typed

LINES = {
    'allocation candidate explain': '--resource VCPU=1 --resource VGPU={n}',
    'allocation candidate list': '--resource VCPU={n} --resource MEMORY_MB=512',
    'resource api check': '',
    'resource api show': '',
    'resource capacity export': '-o {file}',
    'resource capacity show': '--fits VCPU=1,MEMORY_MB=1024',
    'resource class list': '',
    'resource class show': '{class}',
    'resource provider aggregate list': '{provider}',
    'resource provider allocation list': '{provider}',
    'resource provider allocation show': '{consumer}',
    'resource provider audit': '',
    'resource provider drain plan': '{host}',
    'resource provider inventory list': '{provider}',
    'resource provider inventory show': '{host} VCPU',
    'resource provider list': '--resource VCPU={n}',
    'resource provider report': '-o {file}',
    'resource provider reshape collector': '',
    'resource provider reshape schema': 'plan',
    'resource provider show': '{provider} --allocations',
    'resource provider snapshot diff': '{snapshot} live',
    'resource provider snapshot save': '{file}',
    'resource provider snapshot show': '{snapshot}',
    'resource provider trait list': '{provider}',
    'resource provider tree export': '--tree {host} -o {file}',
    'resource provider tree graph': '--tree {host} --format dot -o {file}',
    'resource provider tree list': '--allocations',
    'resource provider tree show': '{host}',
    'resource provider usage show': '{provider}',
    'resource usage show': '{project}',
    'trait list': '--associated',
    'trait show': '{trait}',
}


def _read(name, line, scene):
    snapshots = sorted(scene.folder.glob('snapshot-*'))
    if '{snapshot}' in line and not snapshots:
        return None
    values = {
        'n': scene.dice.randint(1, 9),
        'class': scene.custom('CLASS'),
        'trait': scene.custom('TRAIT'),
        'provider': scene.called(scene.provider()),
        'host': scene.called(scene.host()),
        'consumer': scene.consumer() or scene.uuid(),
        'project': 'b' * 32,
        'file': scene.file('snapshot' if name.endswith('snapshot save') else 'out'),
        'folder': scene.folder,
        'snapshot': scene.dice.choice(snapshots) if snapshots else '',
    }
    return Command(typed(name, *shlex.split(line.format(**values))))


for _name, _line in LINES.items():
    makes(_name)(partial(_read, _name, _line))
