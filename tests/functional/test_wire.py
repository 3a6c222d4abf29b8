"""Every command that writes, on a bad network: done once, or an error that says what is known."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placementclient import http
from placementclient.api import (
    aggregate,
    allocation,
    conflict,
    inventory,
    resource_class,
    resource_provider,
    trait,
)
from placementclient.cli import shell
from placementclient.http import Client
from placementclient.model.consumers import Consumer
from tests.functional.applying import client_of
from tests.functional.conftest import Result
from tests.functional.wire import FAULTS, Wire

GROUP = str(uuid.uuid4())


class Names:
    """Names that nobody else has: one service serves all the tests.

    :ivar here: a provider with inventory, of which the consumer holds something
    :ivar there: another, with as much
    """

    def __init__(self, folder: Path) -> None:
        tag = uuid.uuid4().hex[:8]
        self.here, self.there, self.new = f'here-{tag}', f'there-{tag}', f'new-{tag}'
        self.consumer, self.other = str(uuid.uuid4()), str(uuid.uuid4())
        self.name, self.fresh = f'CUSTOM_{tag.upper()}', f'CUSTOM_NEW_{tag.upper()}'
        self.file = str(folder / 'body.json')
        self.uuids: dict[str, str] = {}


def build(client: Client, names: Names) -> None:
    """Two providers, a consumer on the first, a class and a trait that nobody has."""
    for name in (names.here, names.there):
        made = resource_provider.create(client, name)
        names.uuids[name] = made.uuid
        fields = {'VCPU': {'total': 8}, 'MEMORY_MB': {'total': 64}}
        inventory.set_all(client, made.uuid, fields, made.generation)
    held = {names.uuids[names.here]: {'VCPU': 2}}
    allocation.set(client, Consumer(names.consumer, held, 'p', 'u', None, 'INSTANCE'))
    resource_class.create(client, names.name)
    trait.create(client, names.name)
    body = {
        names.consumer: {
            'allocations': {names.uuids[names.there]: {'resources': {'VCPU': 3}}},
            'project_id': 'p',
            'user_id': 'u',
            'consumer_generation': allocation.show(client, names.consumer).value.generation,
            'consumer_type': 'INSTANCE',
        }
    }
    Path(names.file).write_text(json.dumps(body))


@dataclass(frozen=True)
class State:
    """All that the commands of these tests can change."""

    providers: dict[str, Any]
    held: dict[str, Any]
    names: tuple[bool, ...]


def state(client: Client, names: Names) -> State:
    """What there is now."""
    found = {}
    for name in (names.here, names.there, names.new):
        for provider in resource_provider.list(client, name=name):
            found[name] = {
                'inventories': {
                    known: value.as_fields()
                    for known, value in inventory.list(client, provider.uuid).value.items()
                },
                'traits': sorted(trait.list_of_provider(client, provider.uuid).value),
                'aggregates': sorted(aggregate.list(client, provider.uuid).value),
                'parent': provider.parent_provider_uuid,
            }
    held = {
        each: allocation.show(client, each).value.allocations
        for each in (names.consumer, names.other)
    }
    classes, traits = resource_class.list(client), trait.list(client)
    there = tuple(
        each in known for known in (classes, traits) for each in (names.name, names.fresh)
    )
    return State(found, held, there)


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
    'trait remove': f'{PROVIDER} trait remove {{here}} {{name}}',
    'provider trait delete': f'{PROVIDER} trait delete {{here}}',
    'aggregate add': f'{PROVIDER} aggregate add {{here}} {GROUP}',
    'aggregate remove': f'{PROVIDER} aggregate remove {{here}} {GROUP}',
    'allocation set': f'{ALLOCATION} set {{other}} --allocation rp={{here}},VCPU=1 {OWNER}',
    'allocation unset': f'{ALLOCATION} unset {{consumer}} --resource-class VCPU',
    'allocation delete': f'{ALLOCATION} delete {{consumer}}',
    'allocation replace': f'{ALLOCATION} replace --file {{file}}',
    'allocation move': f'{ALLOCATION} move {{consumer}} --from {{here}} --to {{there}}',
    'allocation transfer': f'{ALLOCATION} transfer {{consumer}} --to-consumer {{other}}',
    'allocation claim': f'{ALLOCATION} claim {{other}} --resource VCPU=5 --in-tree {{there}} '
    f'{OWNER}',
    'purge': f'{PROVIDER} purge {{here}} --force --yes',
    'inventory set, of many': f'{PROVIDER} inventory set --match {{there}} --amend '
    '--resource VCPU:total=4 --yes',
}
#: Who says that it is not there, or there already, if it was done before: by this command or not.
STRICT = {
    'class create',
    'class delete',
    'trait delete',
    'provider create',
    'provider delete',
    'inventory class create',
    'inventory delete, of a class',
    'allocation unset',
    'allocation delete',
    'allocation replace',
    'purge',
}
#: What a proxy that sends it twice is answered the second time looks like a refusal.
REFUSED_TWICE = {
    'class create',
    'class delete',
    'trait delete',
    'provider create',
    'provider delete',
    'inventory class create',
    'inventory delete, of a class',
    'allocation delete',
    'allocation replace',
}
#: What the client makes one of, whatever the command: a few commands show it.
ALIKE = {*FAULTS} - {
    'cut before it is forwarded', 'cut before the answer', '404 with a page', 'sent twice'
}  # fmt: skip
SHOWN = ('class create', 'trait add', 'allocation move', 'purge')
CASES = [
    (kind, fault) for kind in COMMANDS for fault in FAULTS if fault not in ALIKE or kind in SHOWN
]


@pytest.fixture
def wire(service_url: str) -> Iterator[Wire]:
    with Wire(service_url) as wire:
        yield wire


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited; nobody really waits."""
    pauses: list[float] = []

    class Time:
        sleep = staticmethod(pauses.append)
        monotonic = staticmethod(lambda: sum(pauses))

    monkeypatch.setattr(http, 'time', Time)
    monkeypatch.setattr(conflict, 'time', Time)
    return pauses


Run = Callable[[str], Result]


@pytest.fixture
def run(wire: Wire, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Run:
    """Runs the program through the proxy; only where an answer is slow it does not wait for it."""
    timeout = '1' if 'slow' in request.node.name else '30'

    def run(command: str) -> Result:
        capsys.readouterr()
        arguments = ['--os-auth-type', 'none', '--os-endpoint', wire.url, '--timeout', timeout]
        status = shell.main([*arguments, *command.split()])
        return Result(status, *capsys.readouterr())

    return run


@pytest.mark.parametrize(('kind', 'fault'), CASES)
def test_a_write_is_carried_out_once_or_what_is_known_is_said(
    service_url: str, wire: Wire, run: Run, pauses: list[float], tmp_path: Path, kind: str,
    fault: str,
) -> None:  # fmt: skip
    client = client_of(service_url)
    names = Names(tmp_path)
    build(client, names)
    if kind.endswith('remove') or kind == 'provider trait delete':
        assert run(COMMANDS['trait add'].format_map(vars(names))).status == 0
        assert run(COMMANDS['aggregate add'].format_map(vars(names))).status == 0
    before, command = state(client, names), COMMANDS[kind].format_map(vars(names))
    wire.hit(FAULTS[fault])
    result = run(command)
    reached = state(client, names)
    if fault == '404 with a page':
        assert (result.status, reached) == (1, before)
    else:
        is_told = (
            kind in REFUSED_TWICE
            if fault == 'sent twice'
            else kind == 'allocation replace' and fault == 'cut before the answer'
        )
        assert (result.status, reached != before) == (int(is_told), True), result
    if result.status:
        # One edit of many is looked at again; its table says that it failed.
        is_known = fault == 'sent twice' or kind == 'inventory set, of many'
        assert ('whether it was done is not known' in result.stderr) is not is_known, result
        assert result.stderr.count('\n') <= 1
        assert 'Traceback' not in result.stderr
    again = run(command)
    assert again.status in ((0, 1) if kind in STRICT else (0,)), again
    after = state(client, names)
    assert after != before
    if reached != before:
        assert after == reached


@pytest.mark.parametrize('fault', [name for name in FAULTS if not name.startswith(('404', 'sent'))])
def test_a_read_is_repeated(
    service_url: str, wire: Wire, run: Run, pauses: list[float], fault: str
) -> None:
    wire.hit(FAULTS[fault], 5, writes=False)
    result = run('resource class list -f value')
    assert (result.status, 'VCPU\n' in result.stdout, result.stderr) == (0, True, '')
    wire.hit(FAULTS[fault], 6, writes=False)
    result = run('resource class list -f value')
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 1)
    assert len(pauses) == 10
    asked = {'429 with Retry-After': 3.0, '503 with Retry-After': 30.0}.get(fault, 0.0)
    assert asked <= min(pauses) <= max(pauses) <= max(asked, 4.25)


def test_a_service_that_is_not_there_is_told_in_a_line(
    wire: Wire, run: Run, pauses: list[float]
) -> None:
    wire.server_close()
    result = run('resource class create CUSTOM_X')
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 1)
    assert 'Connection refused' in result.stderr


def test_an_answer_may_be_cut_at_any_byte(
    service_url: str, wire: Wire, run: Run, pauses: list[float]
) -> None:
    def cut_at(length: int) -> Callable[[Wire, bytes, Any], None]:
        return lambda wire, request, client: client.sendall(wire.forward(request)[:length])

    for length in range(0, 400, 3):
        wire.hit(cut_at(length), 6, writes=False)
        result = run('--retries 0 resource provider list --name nobody')
        wire.hit(cut_at(length), 0)
        assert result.status in (0, 1)
        assert result.stderr.count('\n') == (1 if result.status else 0), result
