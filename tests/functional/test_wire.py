# SPDX-License-Identifier: Apache-2.0
"""Every command that writes, on a bad network: done once, or an error that says what is known."""

import json
import re
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from placementclient.api import (
    aggregate,
    allocation,
    attempts,
    inventory,
    resource_class,
    resource_provider,
    trait,
)
from placementclient.cli import shell
from placementclient.client import retries
from placementclient.commands.framework import option
from placementclient.files import disk, specifications
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import Snapshot
from placementclient.planner import planner
from placementclient.runs import storage
from tests import good_files
from tests.functional import away, clouds, databases
from tests.functional.applying import client_of
from tests.functional.wire import FAULTS, Wire
from tests.numbers import few_quick
from tests.programs import Result
from tests.unit.commands.test_registry import POINTS, name

GROUP, OTHER_GROUP = str(uuid.uuid4()), str(uuid.uuid4())
VCPU, MEMORY = {'VCPU': {'total': 8}}, {'MEMORY_MB': {'total': 64}}
#: What names a provider, a class or a trait in the commands below, and a file.
NAMES = {
    'here': 'compute1',
    'there': 'compute2',
    'new': 'compute3',
    'consumer': str(uuid.uuid4()),
    'other': str(uuid.uuid4()),
    'name': 'CUSTOM_NAME',
    'held': 'CUSTOM_HELD',
    'fresh': 'CUSTOM_FRESH',
}


#: Servers that the list has: one that lacks more than a tenth of the consumers, or all those of a
#: host, is not believed.
SERVERS, THIRD = [str(uuid.uuid4()) for _ in range(10)], 'compute9'
SMALL: dict[str, Any] = {'vcpus': 1, 'ram': 1, 'disk': 0, 'extra_specs': {}}


class Cloud:
    """Two providers, a consumer on the first, a class and traits; always as it was at first.

    :ivar words: what stands for the fields of the commands
    """

    def __init__(self, url, database, folder):
        client = client_of(url)
        uuids = build(client)
        generation = resource_provider.show(client, uuids['here']).value.generation
        self.words = {**NAMES, 'generation': generation, 'folder': folder}
        self._plan, self._folder = folder / 'plan.json', folder
        write_files(folder, client, uuids, generation)
        self._database, self._copy = sqlite3.connect(database), sqlite3.connect(folder / 'copy')
        self._database.backup(self._copy)

    def close(self):
        """Let go of the database."""
        self._database.close()
        self._copy.close()

    def renew(self):
        """Bring it back to what it was."""
        self._copy.backup(self._database)
        Path(f'{self._plan}.journal').unlink(missing_ok=True)

    def state(self):
        """What there is now."""
        return databases.content(self._database)


def build(client):
    """The UUIDs of the providers."""
    uuids = {}
    for key in ('here', 'there'):
        made = resource_provider.create(client, NAMES[key])
        uuids[key] = made.uuid
        inventory.set_all(client, made.uuid, {**VCPU, **MEMORY}, made.generation)
    for key in ('name', 'held'):
        trait.create(client, NAMES[key])
    resource_class.create(client, NAMES['name'])
    generation = resource_provider.show(client, uuids['here']).value.generation
    marked = trait.set_on_provider(client, uuids['here'], [NAMES['held']], generation)
    aggregate.set(client, uuids['here'], [OTHER_GROUP], marked.generation)
    third = resource_provider.create(client, THIRD)
    inventory.set_all(client, third.uuid, {'VCPU': {'total': 16}}, third.generation)
    # One of them on the host of the deleted server, and the others on the other host.
    hosts = dict.fromkeys(SERVERS, third.uuid) | {SERVERS[0]: uuids['here']}
    for consumer, host in ({NAMES['consumer']: uuids['here']} | hosts).items():
        allocations = {host: {'VCPU': 2 if consumer == NAMES['consumer'] else 1}}
        allocation.set(client, Consumer(consumer, allocations, 'p', 'u', None, 'INSTANCE'))
    return uuids


def write_files(folder, client, uuids, generation):
    """What the commands read."""
    scene = clouds.captured(client)
    # Before the lists, as an audit wants it that frees somebody.
    disk.write_snapshot(str(folder / 'before.json'), scene)
    allocations = allocation.show(client, NAMES['consumer']).value
    documents = {
        'allocations': {
            NAMES['consumer']: {
                'allocations': {uuids['there']: {'resources': {'VCPU': 3}}},
                'project_id': 'p',
                'user_id': 'u',
                'consumer_generation': allocations.generation,
                'consumer_type': 'INSTANCE',
            }
        },
        'body': {
            'inventories': {
                uuids['here']: {
                    'resource_provider_generation': generation,
                    'inventories': {**VCPU, 'MEMORY_MB': {'total': 32}},
                }
            },
            'allocations': {},
        },
        'trees': {'name': NAMES['there'], 'inventories': {'VCPU': {'total': 4}}},
        'aggregates': [{'uuid': GROUP, 'name': 'az', 'hosts': [NAMES['here']]}],
        'servers': [
            good_files.SERVERS[0]
            | {'id': NAMES['other'], 'flavor': good_files.SERVERS[0]['flavor'] | SMALL}
        ],
        'audited': [
            *(
                {'id': key, 'host': NAMES['here'] if key == SERVERS[0] else THIRD}
                for key in SERVERS
            ),
            {'id': NAMES['consumer'], 'status': 'DELETED'},
        ],
        'migrations': [],
    }
    for kind, document in documents.items():
        (folder / f'{kind}.json').write_text(json.dumps(document))
    more = scene.providers[uuids['there']]
    added = replace(
        more,
        provider=replace(more.provider, uuid=GROUP, name=NAMES['new'], root_provider_uuid=GROUP),
    )
    disk.write_snapshot(str(folder / 'cloud.json'), Snapshot([added], []))
    move = {
        'from_resource_provider': NAMES['here'],
        'to_resource_provider': f'{NAMES["here"]}_child',
        'moved_resources': {'MEMORY_MB': 64},
    }
    plan = planner.make(scene, specifications.from_document([move], 'spec.yaml'), ())
    storage.write_plan(str(folder / 'plan.json'), plan)


OWNER = '--project-id p --user-id u --consumer-type INSTANCE'
ALLOCATION, PROVIDER = 'resource provider allocation', 'resource provider'
#: The commands, by what they are called; each writes once.
COMMANDS = {
    'class create': 'resource class create {fresh}',
    'class set': 'resource class set {fresh}',
    'class delete': 'resource class delete {name}',
    'trait create': 'trait create {fresh}',
    'trait delete': 'trait delete {name}',
    'provider create': f'{PROVIDER} create {{new}} --parent-provider {{here}}',
    'provider set': f'{PROVIDER} set {{there}} --parent-provider {{here}}',
    'provider delete': f'{PROVIDER} delete {{there}}',
    'inventory set': f'{PROVIDER} inventory set {{there}} --resource VCPU=4',
    'inventory set, amended': f'{PROVIDER} inventory set {{there}} --amend --resource VCPU:total=4',
    'inventory class create': f'{PROVIDER} inventory class create {{there}} VGPU --total 2',
    'inventory class set': f'{PROVIDER} inventory class set {{there}} VCPU --total 2',
    'inventory delete, of a class': f'{PROVIDER} inventory delete {{there}} --resource-class VCPU',
    'inventory delete': f'{PROVIDER} inventory delete {{there}}',
    'trait set': f'{PROVIDER} trait set {{here}} --trait {{name}}',
    'trait add': f'{PROVIDER} trait add {{here}} {{name}}',
    'trait remove': f'{PROVIDER} trait remove {{here}} {{held}}',
    'provider trait delete': f'{PROVIDER} trait delete {{here}}',
    'aggregate add': f'{PROVIDER} aggregate add {{here}} {GROUP}',
    'aggregate remove': f'{PROVIDER} aggregate remove {{here}} {OTHER_GROUP}',
    'aggregate set': f'{PROVIDER} aggregate set {{here}} --generation {{generation}} '
    f'--aggregate {GROUP}',
    'aggregate sync': f'{PROVIDER} aggregate sync --aggregates {{folder}}/aggregates.json --yes',
    'allocation set': f'{ALLOCATION} set {{other}} --allocation rp={{here}},VCPU=1 {OWNER}',
    'allocation unset': f'{ALLOCATION} unset {{consumer}} --resource-class VCPU',
    'allocation delete': f'{ALLOCATION} delete {{consumer}}',
    'allocation replace': f'{ALLOCATION} replace --file {{folder}}/allocations.json',
    'allocation move': f'{ALLOCATION} move {{consumer}} --from {{here}} --to {{there}}',
    'allocation resize': f'{ALLOCATION} resize {{consumer}} --provider {{here}} --resource VCPU=1',
    'allocation transfer': f'{ALLOCATION} transfer {{consumer}} --to-consumer {{other}}',
    'allocation claim': f'{ALLOCATION} claim {{other}} --resource VCPU=5 --in-tree {{there}} '
    f'{OWNER}',
    'allocation heal': f'{ALLOCATION} heal --servers {{folder}}/servers.json --yes',
    'audit': f'{PROVIDER} audit --snapshot {{folder}}/before.json '
    '--servers {folder}/audited.json --migrations {folder}/migrations.json --fix --yes',
    'reshape submit': f'{PROVIDER} reshape submit --file {{folder}}/body.json',
    'reshape apply': f'{PROVIDER} reshape apply {{folder}}/plan.json --yes',
    'reshape rollback': f'{PROVIDER} reshape rollback {{folder}}/plan.json --yes',
    'snapshot restore': f'{PROVIDER} snapshot restore {{folder}}/cloud.json --missing',
    'tree apply': f'{PROVIDER} tree apply {{folder}}/trees.json --yes',
    'purge': f'{PROVIDER} purge {{here}} --force --yes',
    'replace': f'{PROVIDER} replace {{here}} --uuid {{other}} --yes',
    'inventory set, of many': f'{PROVIDER} inventory set --match {{there}} --amend '
    '--resource VCPU:total=4 --yes',
}
#: Who writes what the operator's generation guards: of a lost answer nothing can be found out.
GUARDED = {'aggregate set', 'allocation replace', 'reshape submit'}
#: Who is refused the second time: by a proxy that sends it twice, or where it is run again.
ONCE = {
    'class create', 'class delete', 'trait delete', 'provider create', 'provider delete',
    'inventory class create', 'inventory delete, of a class', 'allocation unset',
    'allocation delete', *GUARDED,
}  # fmt: skip
#: Who writes more than once, and says in a table what came of each.
MANY = {
    'aggregate sync', 'allocation heal', 'audit', 'inventory set, of many', 'purge',
    'replace', 'reshape apply', 'reshape rollback', 'snapshot restore', 'tree apply',
}  # fmt: skip
#: How many writes of these come before the one that matters.
BEFORE = {'replace': 5, 'reshape apply': 2, 'reshape rollback': 1}
#: Who looks what became of it, whatever is answered.
JOURNALED = {'reshape apply', 'reshape rollback'}
#: What the client makes one of, whatever the command: a few commands show it.
ALIKE = {*FAULTS} - {'cut before the answer', 'sent twice'}
SHOWN = ('class create', 'trait add', 'allocation move', 'purge')
#: A lost answer is tried with every command, the other faults with one of them.
CASES = [
    pytest.param(
        kind,
        fault,
        marks=() if fault == 'cut before the answer' or kind == 'purge' else pytest.mark.slow,
    )
    for kind in COMMANDS
    for fault in FAULTS
    if fault not in ALIKE or kind in SHOWN
]


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp('wire')
    service = away.Service(folder)
    service.start()
    try:
        cloud = Cloud(service.url, folder / 'service.sqlite', folder)
        with closing(cloud):
            yield cloud, service.url
    finally:
        service.stop()


@pytest.fixture
def wire(cloud):
    cloud[0].renew()
    with Wire(cloud[1]) as wire:
        yield wire


@pytest.fixture
def pauses(monkeypatch):
    """How long was waited; nobody really waits."""
    pauses: list[float] = []

    class Time:
        sleep = staticmethod(pauses.append)
        monotonic = staticmethod(lambda: sum(pauses))

    monkeypatch.setattr(retries, 'time', Time)
    monkeypatch.setattr(attempts, 'time', Time)
    return pauses


Run = Callable[[str], Result]


@pytest.fixture
def run(wire, capsys, request):
    """Runs the program through the proxy; only where an answer is slow it does not wait for it."""
    timeout = '1' if 'slow' in request.node.name else '30'

    def run(command):
        capsys.readouterr()
        arguments = ['--os-auth-type', 'none', '--os-endpoint', wire.url, '--timeout', timeout]
        status = shell.main([*arguments, *command.split()])
        return Result(status, *capsys.readouterr())

    return run


@pytest.mark.parametrize(('kind', 'fault'), CASES)
def test_a_write_is_carried_out_once_or_what_is_known_is_said(
    cloud, wire, run, pauses, kind, fault
):
    scene, _ = cloud
    # What an audit could not mend it has found.
    reported_status = 3 if kind == 'audit' else 1
    if kind == 'reshape rollback':
        assert run(COMMANDS['reshape apply'].format_map(scene.words)).status == 0
    before, command = scene.state(), COMMANDS[kind].format_map(scene.words)
    wire.hit(FAULTS[fault], after=BEFORE.get(kind, 0))
    result = run(command)
    reached = scene.state()
    if fault == '404 with a page' and kind not in JOURNALED:
        assert result.status
        assert reached == before or kind in MANY
    else:
        is_confirmed = (
            kind in ONCE | {'snapshot restore'}
            if fault == 'sent twice'
            else kind in GUARDED and fault == 'cut before the answer'
        )
        status = reported_status if is_confirmed else 0
        assert (result.status, reached != before) == (status, True), result
    if result.status == 1:
        # A table says what failed, and it is looked at again.
        is_reported = fault == 'sent twice' or kind in MANY
        assert is_reported or 'whether it was done is not known' in result.stderr, result
        assert result.stderr.count('\n') <= 1 or kind in MANY
        assert 'Traceback' not in result.stderr
    again = run(command)
    assert again.status in ((0, reported_status) if kind in ONCE | {'audit', 'purge'} else (0,)), (
        again
    )
    after = scene.state()
    assert after != before
    if reached != before and kind not in MANY:
        assert after == reached


#: What writes without a question, and at several endpoints.
RELOCATIONS = {f'{ALLOCATION} {verb}' for verb in ('claim', 'move', 'resize', 'transfer')}
PAGE = Path(__file__).parents[2] / 'doc' / 'source' / 'lost-answers.rst'


def test_every_command_that_writes_is_one_of_these_and_in_the_documentation():
    points = {name(point): point.load() for point in POINTS}
    tried = {
        max((registered for registered in points if command.startswith(f'{registered} ')), key=len)
        for command in COMMANDS.values()
    }
    writing = {
        registered
        for registered, command in points.items()
        if option.YES in command.options or (command.endpoint and not command.endpoint.is_read)
    }
    assert tried == writing | RELOCATIONS
    rows = re.findall(r'^   \* - (``.*?)\n     - ', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert {key for row in rows for key in re.findall('``(.+?)``', row)} == tried


@pytest.mark.parametrize('fault', [name for name in FAULTS if not name.startswith(('404', 'sent'))])
def test_a_read_is_repeated(wire, run, pauses, fault):
    wire.hit(FAULTS[fault], 5, writes=False)
    result = run('resource class list -f value')
    assert (result.status, 'VCPU\n' in result.stdout) == (0, True)
    assert re.findall('Trying again, with pauses of about .* s in all\n', result.stderr)
    assert result.stderr.count('\n') == 1
    wire.hit(FAULTS[fault], 6, writes=False)
    result = run('resource class list -f value')
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 2)
    assert len(pauses) == 10
    shortest = {'429 with Retry-After': 3.0, '503 with Retry-After': 30.0}.get(fault, 0.0)
    assert shortest <= min(pauses) <= max(pauses) <= max(shortest, 4.25)


@pytest.mark.parametrize('step', few_quick([80, 3], quick=1))
def test_an_answer_may_be_cut_at_any_byte(wire, run, pauses, step):
    def cut_at(length):
        return lambda wire, request, client: client.sendall(wire.forward(request)[:length])

    for length in range(0, 400, step):
        wire.hit(cut_at(length), 6, writes=False)
        result = run('--retries 0 resource provider list --name nobody')
        wire.hit(cut_at(length), 0)
        assert result.status in (0, 1)
        assert result.stderr.count('\n') == 1, result
        assert bool(result.status) == ('matches' not in result.stderr)
