"""Random trees of which one provider is replaced; ``python -m tests.functional.replacing`` by hand.

``python -m tests.functional.replacing [FIRST [LAST]]`` replaces in the clouds of these seeds, each
of them once undisturbed and once killed at random requests, and says how many were as they should.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from keystoneauth1.session import Session
from msgspec.structs import replace

from placementclient.cli import shell
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.functional import clouds
from tests.snapshot_pairs import content, uuid_of

COMMAND = 'resource provider replace'
CLASSES = ('VCPU', 'MEMORY_MB', 'VGPU', 'CUSTOM_A')
TRAITS = ('COMPUTE_NODE', 'HW_CPU_X86_AVX2', 'CUSTOM_T', 'CUSTOM_U')
NEW = uuid_of('the new one')


class Killed(BaseException):
    """A kill, as it looks from inside."""


@dataclass(frozen=True)
class Case:
    """A cloud, and a replacement in it.

    :param before: the cloud, a twin included where there is one
    :param after: as it shall be: all that is known of the old one under the UUID of the new one
    :param arguments: of the command
    """

    before: Snapshot
    after: Snapshot
    arguments: tuple[str, ...]


def case(seed: int) -> Case:
    """A random one: a root or a child, made or there, with a new name or not."""
    random = Random(seed)
    there = cloud(random)
    hosts = [s for s in there.providers.values() if s.name.startswith('host')]
    old = random.choice([there.named('host'), random.choice(hosts)])
    assert old is not None
    name = random.choice([None, None, 'fresh'])
    options = ['--name', name] if name else []
    as_old = random.choice([old.name, old.uuid])
    heirs = {old.uuid: ProviderState(Provider(NEW, '', 0))}
    if random.random() < 0.4:
        after = succeeded(there, heirs, old, name or old.name)
        return Case(there, after, (as_old, '--uuid', NEW, *options))
    twin = _twin(random, old, name or 'twin.example.org', NEW, old.provider.parent_provider_uuid)
    heirs[old.uuid] = twin
    for child in [*there.tree(old.uuid)][1:]:
        rest = child.name.removeprefix(f'{old.name}_')
        above = heirs.get(str(child.provider.parent_provider_uuid))
        if above and rest != child.name and random.random() < 0.5:
            other = f'{twin.name}_{rest}'
            heirs[child.uuid] = _twin(random, child, other, uuid_of(other), above.uuid)
    before = Snapshot([*there.providers.values(), *heirs.values()], there.consumers.values())
    after = succeeded(there, heirs, old, name or old.name)
    as_new = random.choice([twin.name, NEW])
    return Case(before, after, (as_old, '--with', as_new, *options))


def _twin(
    random: Random, old: ProviderState, name: str, uuid: str, parent: str | None
) -> ProviderState:
    """One that has some of the inventories already, or more of them."""
    inventories = {
        each: replace(there, total=there.total + random.choice((0, 4)))
        for each, there in old.inventories.items()
        if random.random() < 0.3
    }
    return ProviderState(Provider(uuid, name, 0, parent), inventories)


def cloud(random: Random) -> Snapshot:
    """A host with providers below it, another one, and storage that they share."""
    states = [_provider(random, 'host', None), _provider(random, 'other', None)]
    names = ['host']
    for number in range(random.randint(0, 5)):
        name = f'{random.choice(("host_", "host:", "child"))}{number}'
        states.append(_provider(random, name, random.choice(names)))
        names.append(name)
    storage = Provider(uuid_of('storage'), 'storage', 0, None, uuid_of('storage'))
    pool = Inventory(1000)
    states.append(ProviderState(storage, {'DISK_GB': pool}, frozenset({SHARING_TRAIT})))
    return Snapshot(states, list(_consumers(random, states)))


def _provider(random: Random, name: str, parent: str | None) -> ProviderState:
    inventories = {
        each: Inventory(
            random.choice((8, 16, 64)),
            reserved=random.choice((0, 1)),
            max_unit=random.choice((4, 64)),
            step_size=random.choice((1, 1, 2)),
            allocation_ratio=random.choice((1.0, 1.1, 4.0)),
        )
        for each in random.sample(CLASSES, random.randint(0, 3))
    }
    above = parent and uuid_of(parent)
    return ProviderState(
        Provider(uuid_of(name), name, 0, above, uuid_of('host') if parent else uuid_of(name)),
        inventories,
        frozenset(random.sample(TRAITS, random.randint(0, 2))),
        frozenset(random.sample([uuid_of('rack'), uuid_of('zone')], random.randint(0, 2))),
    )


def _consumers(random: Random, states: list[ProviderState]) -> Iterator[Consumer]:
    """Some with little, which fits wherever it is."""
    places = [(state, name) for state in states for name in state.inventories]
    for number in range(random.choice((0, 3, 6))):
        held: dict[str, dict[str, int]] = {}
        for state, name in random.sample(places, min(len(places), random.randint(1, 4))):
            held.setdefault(state.uuid, {})[name] = state.inventories[name].step_size
        owner, kind = random.choice(('alice', 'bob')), random.choice((None, 'INSTANCE'))
        yield Consumer(uuid_of(f'server{number}'), held, f'{owner}s', owner, None, kind)


def succeeded(
    there: Snapshot, heirs: Mapping[str, ProviderState], old: ProviderState, name: str
) -> Snapshot:
    """The cloud with other UUIDs for some providers, written without the product's own means.

    :param heirs: by the UUID of the one that each replaces
    """
    below = {state.uuid for state in there.tree(old.uuid)} - {old.uuid}

    def new(uuid: str | None) -> str | None:
        return heirs[uuid].uuid if uuid in heirs else uuid

    def renamed(state: ProviderState) -> str:
        if state.uuid == old.uuid:
            return name
        is_named_after = state.uuid in below and state.name.startswith(f'{old.name}_')
        return name + state.name[len(old.name) :] if is_named_after else state.name

    states = [
        replace(
            state,
            provider=Provider(
                str(new(state.uuid)),
                renamed(state),
                0,
                new(state.provider.parent_provider_uuid),
                new(state.provider.root_provider_uuid),
            ),
            inventories={
                **state.inventories,
                **(heirs[state.uuid].inventories if state.uuid in heirs else {}),
            },
        )
        for state in there.providers.values()
    ]
    consumers = [
        replace(each, allocations={str(new(u)): held for u, held in each.allocations.items()})
        for each in there.consumers.values()
    ]
    return Snapshot(states, consumers)


def comparable(snapshot: Snapshot) -> Any:
    """A snapshot without usages, which are those of its consumers."""
    states = (replace(state, usages={}) for state in snapshot.providers.values())
    return content(Snapshot(states, snapshot.consumers.values()))


@contextlib.contextmanager
def killed_at(session: Session, number: int, *, answered: bool) -> Iterator[None]:
    """Kill the run at a request, counted from 0; before it is sent, or before its answer comes."""
    send, left = session.request, [number]

    def request(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] < 0 and not answered:
            raise Killed
        answer = send(*args, **kwargs)
        if left[0] < 0:
            raise Killed
        return answer

    session.request = request
    try:
        yield
    finally:
        del session.request


def is_killed(session: Session, random: Random, *arguments: str) -> bool:
    """Run a command, kill it at a random request; tell whether it came that far."""
    try:
        with killed_at(session, random.randrange(30), answered=random.random() < 0.5):
            run(session, *arguments)
    except Killed:
        return True
    return False


def carried_out(
    session: Session, arguments: tuple[str, ...], random: Random, kills: int, plan: str
) -> int:
    """Replace, killed so many times and then completed by the same command.

    What cannot do without a journal is planned, and the plan applied.

    :param plan: the path of that plan, where there is none yet
    :return: how often it was killed
    """
    command = (*COMMAND.split(), *arguments, '--yes')
    killed = sum(is_killed(session, random, *command) for _ in range(kills))
    status, said = run(session, *command)
    if 'Write a plan with --plan FILE' in said:
        assert run(session, *command, '--plan', plan)[0] == 0
        command = ('resource', 'provider', 'reshape', 'apply', plan, '--yes')
        killed += sum(is_killed(session, random, *command) for _ in range(kills))
        status, said = run(session, *command)
    # A name that the twin has lost cannot tell that nothing is left to do: then it is said.
    is_lost = arguments[1:] == ('--with', 'twin.example.org') and 'nothing is left to do' in said
    assert status == 0 or is_lost, f'{status}: {said}'
    return killed


def run(session: Session, *arguments: str) -> tuple[int, str]:
    """Run the program; return its exit status, and what it said on stderr."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = shell.main(list(arguments), session=session)
    return status, said.getvalue()


def replaced(session: Session, seed: int, kills: int, folder: Path) -> int:
    """Replace in the cloud of a seed, and see whether it is as it shall be.

    :param folder: of the plan, where one is needed
    :return: how often it was killed
    """
    found, client = case(seed), http.Client(session, microversion.HIGHEST)
    clouds.load(client, found.before)
    plan = str(folder / f'{seed}-{kills}.json')
    killed = carried_out(session, found.arguments, Random(seed), kills, plan)
    assert comparable(clouds.captured(client)) == comparable(found.after), found.arguments
    return killed


def main(folder: Path, first: int, last: int) -> None:
    """Replace in many clouds, and say what was wrong."""
    killed = wrong = 0
    for seed in range(first, last):
        for kills in (0, 3):
            try:
                with Direct.scratch() as service:
                    killed += replaced(Session(auth=service), seed, kills, folder)
            except Exception as fault:
                wrong += 1
                print(f'seed {seed}, {kills} kills: {fault}')
    print(f'{2 * (last - first)} replacements, {killed} kills, {wrong} wrong')


if __name__ == '__main__':
    bounds = [int(each) for each in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as name:
        main(Path(name), *(bounds if len(bounds) == 2 else (0, *(bounds or [200]))))
