# SPDX-License-Identifier: Apache-2.0
"""The command lines that are run: at least one for each command that writes."""

import json
import shlex
from dataclasses import dataclass
from importlib.metadata import distribution
from typing import Any

from placementclient import DISTRIBUTION
from placementclient.basis.errors import ExitStatus
from placementclient.cli.entry_points import COMMANDS
from tests.interleavings.acts import (
    CELL,
    HOST,
    INVENTORIES,
    LEAF,
    NEIGHBOUR,
    PROJECT,
    RACK,
    SERVER,
    USER,
    ZONE,
)
from tests.simulation.lines import READING
from tests.simulation.makers import server_record

NEW = '33333333-4444-4444-8444-444444444444'
#: Servers beside those of the tree: an audit believes no list that lacks one server of three.
OTHERS = tuple(f'44444444-5555-4555-8555-55555555555{digit}' for digit in range(10))
OWNER = f'--project-id {PROJECT} --user-id {USER} --consumer-type INSTANCE'
#: Commands that write nothing but files, or that have a service of their own.
NOT_WRITING = {
    *READING,
    *(
        f'resource provider reshape {verb}'
        for verb in ('assignments', 'demo', 'devices', 'plan', 'rehearse', 'show', 'status')
    ),
    'resource provider reshape verify',
}


@dataclass(frozen=True)
class Scenario:
    """A command line, and what comes before it.

    :param line: without the words that every table takes
    :param before: command lines that prepare it
    :param back: the command line that takes it back, if there is one
    :param is_reviewed: whether an operator sees and confirms what changes
    :param status: with which it ends where nobody disturbs it
    :param is_guarded: whether the operator gives the generation at which it writes
    """

    name: str
    line: str
    before: tuple[str, ...] = ()
    back: str = ''
    is_reviewed: bool = False
    status: int = 0
    is_guarded: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)


def writing_commands() -> set[str]:
    """Return the commands of the registry that write to the service."""
    points = distribution(DISTRIBUTION).entry_points.select(group=COMMANDS)
    names = {point.name.replace('_', ' ') for point in points} - NOT_WRITING
    return names | {'resource provider audit'}


def _tree(**root: Any) -> dict[str, Any]:
    """Declare the host with other inventory, one child less traits, and a new child."""
    inventories = INVENTORIES[HOST] | {'VCPU': {'total': 16, 'allocation_ratio': 4.0}}
    extra = {'name': 'host_extra', 'uuid': NEW, 'inventories': {'CUSTOM_CLASS': {'total': 3}}}
    traits = ['COMPUTE_NODE', 'CUSTOM_TRAIT', 'CUSTOM_NEW']
    declared = {'name': 'host', 'inventories': inventories, 'traits': traits, 'children': [extra]}
    return declared | root


def _reshape() -> dict[str, Any]:
    names = ('{root}_gpu0', '{root}_gpu1')
    units = {'total': 4, 'max_unit': 4}
    provider = {'inventories': {'VGPU': units}, 'traits': ['CUSTOM_NEW']}
    move = {'from_resource_provider': '{root}', 'moved_resources': {'VGPU': 4}}
    return {
        'trees': {'name': ['host']},
        'providers': [provider | {'name': name} for name in names],
        'moves': [move | {'to_resource_provider': name} for name in names],
    }


def _submitted() -> dict[str, Any]:
    """A reshape that moves the ports of the leaf to the cell, at the generations of the tree."""
    inventories = {'CUSTOM_PORT': {'total': 12}}
    cell = {'resource_provider_generation': 4, 'inventories': inventories}
    return {'inventories': {CELL: cell}, 'allocations': {}}


def _replaced() -> dict[str, Any]:
    owner = {'project_id': PROJECT, 'user_id': USER, 'consumer_type': 'INSTANCE'}
    new = {'allocations': {HOST: {'resources': {'VCPU': 1}}}, 'consumer_generation': None}
    return {
        NEIGHBOUR: {'allocations': {}, 'consumer_generation': 1, **owner}, NEW: new | owner,
    }  # fmt: skip


def _aggregate(uuid: str, hosts: list[str]) -> dict[str, Any]:
    plain = {'id': 1, 'name': 'rack', 'availability_zone': None, 'metadata': {}}
    return plain | {'uuid': uuid, 'hosts': hosts}


_CONTENTS = {
    'tree.json': _tree(),
    'spec.json': _reshape(),
    'body.json': _submitted(),
    'consumers.json': _replaced(),
    'aggregates.json': {'aggregates': [_aggregate(RACK, ['host'])]},
    'servers.json': {
        'servers': [server_record(NEW, 'host', USER), server_record(SERVER, 'host', '1' * 32)]
    },
    'kept.json': [
        {'ID': uuid, 'Name': uuid[:8], 'Status': 'ACTIVE', 'Host': 'host'}
        for uuid in (SERVER, NEIGHBOUR, *OTHERS)
    ]
    + [{'ID': NEW, 'Name': NEW[:8], 'Status': 'DELETED', 'Host': None}],
    'migrations.json': {'migrations': []},
}
#: The text of each file that command lines name.
FILES = {name: json.dumps(content) for name, content in _CONTENTS.items()}

_PLAIN = {
    'resource class create': 'CUSTOM_NEW',
    'resource class set': 'CUSTOM_NEW',
    'resource class delete': 'CUSTOM_SPARE',
    'trait create': 'CUSTOM_NEW',
    'trait delete': 'CUSTOM_UNUSED',
    'resource provider create': f'host_new --uuid {NEW} --parent-provider host_cell',
    'resource provider set': 'host_cell_leaf --name host_new --parent-provider host',
    'resource provider delete': 'host_cell_leaf',
    'resource provider inventory class create': 'host_cell CUSTOM_CLASS --total 3',
    'resource provider inventory class set': 'host VCPU --total 20 --allocation_ratio 8',
    'resource provider inventory delete': 'host_cell_leaf --resource-class CUSTOM_CLASS',
    'resource provider inventory set': 'host --amend --resource VCPU:total=20',
    'resource provider trait set': 'host --trait HW_CPU_X86_AVX --trait COMPUTE_NODE',
    'resource provider trait delete': 'host',
    'resource provider trait add': 'host HW_CPU_X86_AVX HW_CPU_X86_AVX2',
    'resource provider trait remove': 'host COMPUTE_NODE HW_CPU_X86_AVX',
    'resource provider aggregate add': f'host {RACK}',
    'resource provider aggregate remove': f'host {ZONE}',
    'resource provider aggregate set': f'{HOST} --aggregate {RACK} --generation 5',
    'resource provider allocation set': f'{NEW} {OWNER} --allocation rp={HOST},VCPU=1',
    'resource provider allocation unset': f'{SERVER} --provider {HOST} --resource-class VGPU',
    'resource provider allocation delete': SERVER,
    'resource provider allocation move': (
        f'{NEIGHBOUR} --class CUSTOM_PORT --from {CELL} --to {LEAF}'
    ),
    'resource provider allocation resize': f'{SERVER} --provider {HOST} --resource VCPU=1',
    'resource provider allocation transfer': f'{SERVER} --to-consumer {NEW}',
    'resource provider allocation claim': f'{NEW} {OWNER} --resource VCPU=1 --alternates 1',
    'resource provider allocation replace': '--file consumers.json',
    'resource provider reshape submit': '--file body.json',
}
_GUARDED = (
    'resource provider aggregate set',
    'resource provider allocation replace',
    'resource provider reshape submit',
)
#: Of commands that are reviewed, and of which all can be written as a plan; by the kind.
_REVIEWED = {
    'purge': 'resource provider purge host --force',
    'replace': f'resource provider replace host --uuid {NEW}',
    'declare': 'resource provider tree apply tree.json',
    'heal': (
        'resource provider allocation heal --servers servers.json --migrations migrations.json'
    ),
    'amounts': (
        'resource provider allocation heal --servers servers.json --migrations migrations.json '
        f'--server {SERVER} --amounts'
    ),
    'sync': 'resource provider aggregate sync --aggregates aggregates.json --remove',
    'edit': (
        "resource provider inventory set --match 'host*' --with-class CUSTOM_PORT --amend "
        '--resource CUSTOM_PORT:allocation_ratio=2.0'
    ),
    'tag': "resource provider trait add --match 'host*' HW_CPU_X86_AVX",
    'untag': "resource provider trait remove --match 'host*' CUSTOM_TRAIT",
    'join': f"resource provider aggregate add --match 'host*' {RACK}",
    'leave': f"resource provider aggregate remove --match 'host*' {ZONE}",
}
#: Those whose plans are applied and taken back: all kinds of changes are in them.
_PLANNED = ('purge', 'replace', 'declare', 'heal')
#: Commands that read all, at several moments; no server of the host has another place.
_SEVERAL_READS = {
    'drain': ('resource provider drain plan host', ExitStatus.INFEASIBLE),
    'export': ('resource capacity export -o metrics.prom', ExitStatus.DONE),
    'explain': ('allocation candidate explain --resource VGPU=9', ExitStatus.INFEASIBLE),
}
_TABLE = '--yes -f json'
_RESTORE = 'resource provider snapshot restore snapshot.json --missing'
_LOST = ('resource provider snapshot save snapshot.json', 'resource provider delete host_cell_leaf')
_PLAN = 'resource provider reshape plan --spec spec.json -o plan.json --allow-inferred'
_APPLY = f'resource provider reshape apply plan.json --compute-is-up {_TABLE}'
_ROLLBACK = f'resource provider reshape rollback plan.json {_TABLE}'


def _both(kind: str, *before: str) -> list[Scenario]:
    """Return the ways forward and back of a plan."""
    return [
        Scenario(f'apply {kind}', _APPLY, before, _ROLLBACK, True),
        Scenario(f'rollback {kind}', _ROLLBACK, (*before, _APPLY), is_reviewed=True),
    ]


def scenarios() -> dict[str, Scenario]:
    """Return all, by name."""
    made = [
        Scenario(name, f'{name} {rest}', is_guarded=name in _GUARDED)
        for name, rest in _PLAIN.items()
    ]
    made += [
        Scenario(kind, f'{line} {_TABLE}', is_reviewed=True) for kind, line in _REVIEWED.items()
    ]
    made.append(
        Scenario(
            'audit',
            'resource provider audit --servers kept.json --migrations migrations.json --fix '
            + _TABLE,
            tuple(
                f'resource provider allocation set {uuid} {OWNER} --allocation rp={HOST},VCPU=1'
                for uuid in (NEW, *OTHERS)
            ),
            is_reviewed=True,
        )
    )
    made.append(Scenario('restore', f'{_RESTORE} -f json', _LOST, is_reviewed=True))
    made += [Scenario(name, line, status=end) for name, (line, end) in _SEVERAL_READS.items()]
    for kind in _PLANNED:
        made += _both(f'the plan of {kind}', f'{_REVIEWED[kind]} --plan plan.json -f json')
    made += _both('a reshape', _PLAN)
    return {scenario.name: scenario for scenario in made}
