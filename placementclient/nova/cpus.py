# SPDX-License-Identifier: Apache-2.0
"""The CPUs of a flavor and an image, by the rules of Nova (34.0), ``nova/virt/hardware.py``."""

import re
from typing import NamedTuple

from placementclient.nova.server_parts import Refusal
from placementclient.nova.wishes import Wishes, is_true

#: More CPUs than any server has: a mask beyond them is refused, not counted.
_MOST = 100_000


class Cpus(NamedTuple):
    """The CPUs of a server.

    :param policy: ``'dedicated'``, ``'mixed'``, ``'shared'`` or ``None``
    :param thread_policy: ``'isolate'``, ``'prefer'``, ``'require'`` or ``None``
    :param shared: the number of CPUs that it shares, where it has some of both
    :param dedicated: the number of CPUs of its own, with that of the emulator's threads
    """

    policy: str | None
    thread_policy: str | None
    shared: int
    dedicated: int


def read_cpus(wishes: Wishes) -> Cpus:
    """Return the CPUs that the flavor and the image require.

    :raises Refusal: if they contradict each other
    """
    policy, thread_policy = _choose_policy(wishes), _choose_thread_policy(wishes)
    emulator = wishes.check_value(
        'emulator_threads_policy', wishes.read_values('emulator_threads_policy')[0]
    )
    realtime, dedicated = _read_realtime_mask(wishes, emulator), _read_dedicated_mask(wishes)
    _check_combinations(wishes, policy, thread_policy, emulator, realtime, dedicated)
    count = wishes.flavor.vcpus if policy == 'dedicated' else len(dedicated or realtime or ())
    return Cpus(policy, thread_policy, wishes.flavor.vcpus - count, count + (emulator == 'isolate'))


def _choose_policy(wishes: Wishes) -> str | None:
    """Return the CPU policy of flavor and image: ``get_cpu_policy_constraint`` of Nova."""
    flavor, image = (
        wishes.check_value('cpu_policy', value) for value in wishes.read_values('cpu_policy')
    )
    stricter = {'mixed': ('dedicated',), 'shared': ('dedicated', 'mixed')}
    if image in stricter.get(flavor or '', ()):
        raise wishes.make_conflict('cpu_policy')
    return flavor or image


def _choose_thread_policy(wishes: Wishes) -> str | None:
    """Return the CPU thread policy: ``get_cpu_thread_policy_constraint`` of Nova."""
    key = 'cpu_thread_policy'
    flavor, image = (wishes.check_value(key, value) for value in wishes.read_values(key))
    if flavor in (None, 'prefer'):
        return flavor or image
    if image and image != flavor:
        raise wishes.make_conflict(key)
    return flavor


def _read_realtime_mask(wishes: Wishes, emulator: str | None) -> set[int] | None:
    """Return the numbers of the realtime CPUs: ``get_realtime_cpu_constraint`` of Nova."""
    if not is_true(wishes.specs.get('hw:cpu_realtime', '')):
        return None
    flavor, image = wishes.read_values('cpu_realtime_mask')
    every = set(range(wishes.flavor.vcpus))
    mask = image or flavor
    cpus = _parse_mask(mask, len(every)) if mask else every
    may_be_all = emulator or not (mask or wishes.has_image)
    if not cpus or not cpus <= every or (cpus == every and not may_be_all):
        raise Refusal(f'the mask of realtime CPUs is {mask!r}, of {len(every)} CPUs')
    return cpus


def _read_dedicated_mask(wishes: Wishes) -> set[int] | None:
    """Return the numbers of the dedicated CPUs: ``get_dedicated_cpu_constraint`` of Nova."""
    if not (mask := wishes.specs.get('hw:cpu_dedicated_mask')):
        return None
    count = wishes.flavor.vcpus
    cpus = _parse_mask(mask, count)
    if not cpus or not cpus < set(range(count)):
        raise Refusal(f'hw:cpu_dedicated_mask is {mask!r}, of {count} CPUs')
    return cpus


def _parse_mask(mask: str, count: int) -> set[int]:
    """Return the CPUs of a mask such as ``'1-4,^3,6'``; of ``'^3'`` all others."""
    rules = f'0-{count - 1},{mask}' if mask.strip().startswith('^') else mask
    try:
        bits = parse_cpu_bits(rules, _MOST)
    except ValueError:
        raise Refusal(f'{mask!r} is no set of CPUs') from None
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


def parse_cpu_bits(rules: str, most: int) -> int:
    """Return the numbers of a set such as ``'1-4,^3,6'`` as bits.

    :raises ValueError: if it is none, or a number reaches the most
    """
    taken = spared = 0
    for rule in filter(None, map(str.strip, rules.split(','))):
        first, dash, last = rule.removeprefix('^').partition('-')
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < most:
            raise ValueError(rule)
        span = (1 << high + 1) - (1 << low)
        if rule.startswith('^'):
            spared |= span
        else:
            taken |= span
    return taken & ~spared


def _check_combinations(
    wishes: Wishes,
    policy: str | None,
    thread_policy: str | None,
    emulator: str | None,
    realtime: set[int] | None,
    dedicated: set[int] | None,
) -> None:
    """Refuse CPU policies and masks that contradict: ``numa_get_constraints`` of Nova."""
    policy = _find_explicit_policy(wishes, policy, emulator)
    trait = _find_hyperthreading_trait(wishes)
    if thread_policy and trait:
        raise Refusal('hw:cpu_thread_policy cannot be combined with trait:HW_CPU_HYPERTHREADING')
    if trait in ('forbidden', 'required'):
        thread_policy = trait
    has_threads = bool(thread_policy or emulator == 'isolate' or realtime)
    # An image that is not known may say more.
    is_shared = policy == 'shared' or (policy is None and wishes.has_image)
    if is_shared and (has_threads or dedicated):
        raise Refusal(
            'policies of threads, masks of dedicated CPUs and realtime need '
            'hw:cpu_policy=dedicated or mixed'
        )
    if policy == 'dedicated' and dedicated:
        raise Refusal('hw:cpu_dedicated_mask needs hw:cpu_policy=mixed')
    if policy == 'mixed' and bool(dedicated) == bool(realtime):
        raise Refusal(
            'hw:cpu_policy=mixed needs either hw:cpu_dedicated_mask or hw:cpu_realtime_mask'
        )


def _find_explicit_policy(wishes: Wishes, policy: str | None, emulator: str | None) -> str | None:
    """Return the policy that resources of the flavor stand for; else the given one."""
    shared, pinned = (_sum_amounts(wishes, name) for name in ('VCPU', 'PCPU'))
    if policy and (shared or pinned):
        raise Refusal('hw:cpu_policy cannot be combined with resources:VCPU or resources:PCPU')
    if shared and pinned:
        raise Refusal('resources:VCPU cannot be combined with resources:PCPU')
    if pinned and wishes.flavor.vcpus + (emulator == 'isolate') != pinned:
        raise Refusal(f'resources:PCPU is {pinned}, of {wishes.flavor.vcpus} CPUs')
    return 'dedicated' if pinned else 'shared' if shared else policy


def _sum_amounts(wishes: Wishes, name: str) -> int:
    """Return the amount of a class in all extra specs: ``_get_vcpu_pcpu_resources`` of Nova."""
    amount = 0
    for key, value in wishes.specs.items():
        if re.match(f'resources([1-9][0-9]*)?:{name}', key):
            try:
                amount += int(value)
            except ValueError:
                continue
    return amount


def _find_hyperthreading_trait(wishes: Wishes) -> str | None:
    """Return ``required`` or ``forbidden`` for HW_CPU_HYPERTHREADING; ``None`` without it."""
    for key, value in wishes.specs.items():
        if re.match('trait([1-9][0-9]*)?:HW_CPU_HYPERTHREADING', key):
            return value
    is_required = wishes.properties.get('trait:HW_CPU_HYPERTHREADING') == 'required'
    return 'required' if is_required else None
