# SPDX-License-Identifier: Apache-2.0
"""One seed: a cloud, some steps in which operators type commands, and what holds after each."""

import itertools
import random
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.simulation import faults, invariants, makers
from tests.simulation.actors import Operator, listening
from tests.simulation.clock import Clock, virtual
from tests.simulation.commands import Command, Missing, Scene
from tests.simulation.invariants import Violation
from tests.simulation.lines import READING
from tests.simulation.nova import LOCAL_TRAITS
from tests.simulation.stage import SHOWN, Stage
from tests.simulation.world import World

STEPS = 12
GPUS = {'total': makers.VGPUS, 'max_unit': makers.VGPUS, 'reserved': 0}
_OF_PLANS = [
    f'resource provider reshape {verb}'
    for verb in ('apply', 'apply', 'apply', 'rollback', 'status', 'verify')
]
#: How often each kind of step is, and what may happen to its requests.
RATES = (0.0, 0.03, 0.12, 0.25)


class Failed(Exception):
    """An invariant does not hold.

    :param step: the number of the step in which it was seen
    :param kind: of the invariant
    """

    def __init__(self, seed, step, violation, stage):
        self.seed, self.step, self.kind = seed, step, violation.kind
        log = '\n'.join(stage.lines[-SHOWN:])
        super().__init__(f'{log}\nseed {seed}, step {step}: {violation}')


@dataclass(frozen=True)
class History:
    """What a seed has come to.

    :param digest: of all that happened
    :param ended: how often each command has ended with each status
    """

    digest: str
    ended: Counter[tuple[str, int | None]]


def play(world, seed, steps=STEPS, only=()):
    """Play a seed to its end.

    :param only: the numbers of the steps to play; none: all
    :raises Failed: at the first invariant that does not hold
    """
    world.emptied()
    clock = Clock()
    with virtual(clock, seed), tempfile.TemporaryDirectory() as folder:
        stage = Stage(world, clock, random.Random(f'stage {seed}'), Path(folder))
        with listening(stage):
            return _Seed(seed, stage, Path(folder)).run(steps, only)


def shrunk(world, failure, only=()):
    """The option that plays the fewest steps found that fail in the same way."""
    needed = sorted(only or range(failure.step + 1))
    for step in list(needed):
        fewer = [number for number in needed if number != step]
        if fewer and _fails(world, failure, fewer):
            needed = fewer
    return f'--only {",".join(map(str, needed))}'


def _fails(world, failure, only):
    try:
        play(world, failure.seed, only=only)
    except Failed as again:
        return again.kind == failure.kind
    return False


class _Seed:
    def __init__(self, seed, stage, folder):
        self._seed, self._stage, self._folder = seed, stage, folder
        self._step = 0
        self._ended = Counter[tuple[str, int | None]]()
        self._numbers = itertools.count(1)

    def run(self, steps, only):
        dice = random.Random(f'cloud {self._seed}')
        build(self._stage, dice)
        path = str(self._folder / 'snapshot-0.json')
        self._quietly(Command('resource provider snapshot save', [path]))
        for step in range(steps):
            self._step = step
            if not only or step in only:
                self._play(random.Random(f'{self._seed} {step}'))
        self._step = steps
        if not only or steps in only:
            self._take_all_back()
        stage = self._stage
        return History(stage.digest.hexdigest(), self._ended)

    def _play(self, dice):
        """Play a step: one command with its faults, or two, beside each other and Nova."""
        stage = self._stage
        stage.dice = stage.nova.dice = dice
        rate = dice.choice(RATES)
        stage.unrest = dice.choice([0.0, 0.1, 0.3])
        pairs = [
            (self._operator(name, dice, rate), self._command(dice))
            for name in (('A',) if dice.random() < 0.6 else ('A', 'B'))
        ]
        stage.log('step', str(self._step), f'rate: {rate}')
        self._stop_computes([command for _, command in pairs])
        results = stage.play(pairs)
        for (_, command), (ended, written) in zip(pairs, results, strict=True):
            self._judge(command, ended, written)
        if dice.random() < 0.3:
            self._check_steady(pairs[0][1], results[0][1])

    def _stop_computes(self, commands):
        """A host is reshaped while its nova-compute is down."""
        for command in commands:
            if command.plan and command.verb != 'plan':
                self._stage.nova.stopped |= command.plan.hosts

    def _start_computes(self, plan):
        """From now on they report what they find."""
        nova = self._stage.nova
        for host in plan.hosts & nova.hosts.keys():
            nova.hosts[host].pop('VGPU', None)
            if makers.has_flat_gpus(self._stage.state, host):
                nova.hosts[host] = nova.hosts[host] | {'VGPU': GPUS}
        nova.stopped -= plan.hosts

    def _operator(self, name, dice, rate=0.0):
        operator = Operator(name, self._stage, is_embedded=dice.random() < 0.3)
        kinds = faults.LOCAL if operator.is_embedded else tuple(faults.KINDS)
        operator.faults = faults.Faults(dice, rate, kinds)
        return operator

    def _command(self, dice):
        stage = self._stage
        scene = Scene(dice, stage.state, stage.nova, self._folder, stage.plans, self._numbers)
        while True:
            with suppress(Missing):
                return makers.made(self._name(dice), scene)

    def _name(self, dice):
        """The name of a command: more often one that writes, most often one of plans."""
        chance = dice.random()
        if self._stage.plans and chance < 0.3:
            return dice.choice(_OF_PLANS)
        if chance < 0.15:
            return 'resource provider reshape plan'
        return dice.choice(sorted(READING) if chance < 0.3 else makers.WRITERS)

    def _judge(self, command, ended, written):
        self._ended[command.name, ended.status] += 1
        violations = [*written.violations]
        violations += invariants.of_end(ended, written, self._stage.state)
        plan = command.plan
        if plan is not None:
            self._note(plan, command, ended, written)
            if ended.status == 0 and command.verb != 'plan':
                self._start_computes(plan)
            if command.verb == 'rollback' and ended.status == 0:
                violations += invariants.of_rollback(plan, self._stage.state)
                plan.done, plan.disturbed = {}, set()
        self._raise(violations, command, ended)
        self._stage.nova.follow()

    def _note(self, plan, command, ended, written):
        """Remember a plan that was made, and what was done for it."""
        if command.verb == 'plan':
            if plan.is_written and plan not in self._stage.plans:
                self._stage.plans.append(plan)
            return
        if command.verb == 'apply':
            for key, (was, now) in written.net().items():
                plan.done[key] = plan.done.get(key, (was, now))[0], now
        plan.disturbed |= written.disturbed & plan.done.keys()

    def _raise(self, violations, command, ended):
        if violations:
            first = violations[0]
            text = (
                f'{first.text}\n  {command}\n  -> {ended.status}\n  {ended.stdout[-1500:]}\n'
                f'  {ended.stderr[-1500:]}'
            )
            raise Failed(self._seed, self._step, first._replace(text=text), self._stage)

    def _check_steady(self, command, earlier):
        """What has succeeded, and is typed twice more, does nothing the second time."""
        ended, written = self._quietly(command)
        # What others have changed before counts: the first time may have done all of it.
        written.disturbed |= earlier.disturbed
        self._judge(command, ended, written)
        again, written = self._quietly(command)
        written.disturbed |= earlier.disturbed
        self._judge(command, again, written)
        if ended.status == 0 and written.net():
            text = f'done before, and {sorted(written.net())[:4]} is written again'
            self._raise([Violation('steady', text)], command, again)

    def _quietly(self, command):
        with self._stage.quiet():
            operator = Operator('A', self._stage, is_embedded=False)
            return self._stage.play([(operator, command)])[0]

    def _take_all_back(self):
        """Take every plan back: what nobody else has changed is as it was."""
        for plan in list(self._stage.plans):
            command = makers.carried(plan, 'rollback')
            for _ in range(2):
                ended, written = self._quietly(command)
                self._judge(command, ended, written)
            if ended.status == 0 and written.net():
                text = f'{sorted(written.net())[:4]} is taken back twice'
                self._raise([Violation('steady', text)], command, ended)


def build(stage, dice):
    """Some hosts with servers, and a storage that all share."""
    nova = stage.nova
    nova.dice = stage.dice = dice
    for number in range(dice.randint(2, 3)):
        host = nova.uuid()
        nova.hosts[host] = {
            'VCPU': {'total': 16, 'max_unit': 16, 'reserved': 0},
            'MEMORY_MB': {'total': 32768, 'max_unit': 32768, 'reserved': 512},
            'DISK_GB': {'total': 500, 'max_unit': 500, 'reserved': 0},
            'VGPU': GPUS,
        }
        _make(stage, host, f'host{number}', nova.hosts[host], sorted(LOCAL_TRAITS))
    nova.call('PUT', '/resource_classes/CUSTOM_CLASS_0')
    nova.call('PUT', '/traits/CUSTOM_TRAIT_0')
    _make(stage, nova.uuid(), 'spare0', {'CUSTOM_CLASS_0': {'total': 3}}, ['CUSTOM_TRAIT_0'])
    for _ in range(dice.randint(2, 8)):
        for _ in nova.boot():
            pass


def _make(stage, uuid, name, items, traits):
    call, path = stage.nova.call, f'/resource_providers/{uuid}'
    call('POST', '/resource_providers', {'uuid': uuid, 'name': name})
    body = {'resource_provider_generation': 0, 'inventories': items}
    call('PUT', f'{path}/inventories', body)
    call('PUT', f'{path}/traits', {'resource_provider_generation': 1, 'traits': traits})


@contextmanager
def world():
    """A Placement for many histories, one after the other."""
    made = World()
    try:
        yield made
    finally:
        made.close()
