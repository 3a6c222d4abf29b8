# SPDX-License-Identifier: Apache-2.0
"""The CPUs of a flavor and an image, by the rules of Nova (34.0), ``nova/virt/hardware.py``."""

import re
from typing import NamedTuple

from placementclient.nova.features import Features, is_true
from placementclient.nova.server_parts import Refusal

#: More CPUs than any server has: a mask beyond them is refused, not counted.
_MOST_CPUS = 100_000


class Cpus(NamedTuple):
    """The CPUs of a server.

    :param policy: ``'dedicated'``, ``'mixed'``, ``'shared'`` or ``None``
    :param thread_policy: ``'isolate'``, ``'prefer'``, ``'require'`` or ``None``
    :param shared: the number of CPUs that it shares with other servers
    :param dedicated: the number of CPUs of its own, with that of the emulator's threads
    """

    policy: str | None
    thread_policy: str | None
    shared: int
    dedicated: int


def read_cpus(features: Features) -> Cpus:
    """Return the CPUs that the flavor and the image require.

    :raises Refusal: if they contradict each other
    """
    policy, thread_policy = _choose_cpu_policy(features), _choose_thread_policy(features)
    emulator = features.require_known(
        'emulator_threads_policy', features.read_values('emulator_threads_policy')[0]
    )
    realtime, dedicated = _read_realtime_mask(features, emulator), _read_dedicated_mask(features)
    _refuse_contradictions(features, policy, thread_policy, emulator, realtime, dedicated)
    # As checked above, a mixed policy has exactly one of the two masks.
    count = features.flavor.vcpus if policy == 'dedicated' else len(dedicated or realtime or ())
    return Cpus(
        policy, thread_policy, features.flavor.vcpus - count, count + (emulator == 'isolate')
    )


def _choose_cpu_policy(features: Features) -> str | None:
    """Return the CPU policy of flavor and image: ``get_cpu_policy_constraint`` of Nova."""
    flavor, image = (
        features.require_known('cpu_policy', value) for value in features.read_values('cpu_policy')
    )
    # By the policy of the flavor, those of an image that demand more.
    refused = {'mixed': ('dedicated',), 'shared': ('dedicated', 'mixed')}
    if image in refused.get(flavor or '', ()):
        raise features.make_conflict_refusal('cpu_policy')
    return flavor or image


def _choose_thread_policy(features: Features) -> str | None:
    """Return the CPU thread policy, if any: ``get_cpu_thread_policy_constraint`` of Nova."""
    key = 'cpu_thread_policy'
    flavor, image = (features.require_known(key, value) for value in features.read_values(key))
    if flavor in (None, 'prefer'):
        return flavor or image
    if image and image != flavor:
        raise features.make_conflict_refusal(key)
    return flavor


def _read_realtime_mask(features: Features, emulator: str | None) -> set[int] | None:
    """Return the numbers of the realtime CPUs, or None: ``get_realtime_cpu_constraint`` of Nova.

    :param emulator: the value of ``emulator_threads_policy``
    """
    if not is_true(features.specs.get('hw:cpu_realtime', '')):
        return None
    flavor, image = features.read_values('cpu_realtime_mask')
    every = set(range(features.flavor.vcpus))
    mask = image or flavor
    cpus = _parse_mask(mask, len(every)) if mask else every
    may_be_all = emulator or not (mask or features.has_image)
    if not cpus or not cpus <= every or (cpus == every and not may_be_all):
        raise Refusal(f'the mask of realtime CPUs is {mask!r}, of {len(every)} CPUs')
    return cpus


def _read_dedicated_mask(features: Features) -> set[int] | None:
    """Return the CPUs of the dedicated mask, or None: ``get_dedicated_cpu_constraint`` of Nova."""
    if not (mask := features.specs.get('hw:cpu_dedicated_mask')):
        return None
    count = features.flavor.vcpus
    cpus = _parse_mask(mask, count)
    if not cpus or not cpus < set(range(count)):
        raise Refusal(f'hw:cpu_dedicated_mask is {mask!r}, of {count} CPUs')
    return cpus


def _parse_mask(mask: str, count: int) -> set[int]:
    """Return the CPUs of a mask such as ``'1-4,^3,6'``; of ``'^3'`` all others of ``count``."""
    rules = f'0-{count - 1},{mask}' if mask.strip().startswith('^') else mask
    try:
        bits = parse_number_bits(rules, _MOST_CPUS)
    except ValueError:
        raise Refusal(f'{mask!r} is no set of CPUs') from None
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


def parse_number_bits(rules: str, limit: int) -> int:
    """Return the numbers of a set such as ``'1-4,^3,6'`` as the bits of an integer.

    A range of a hundred thousand numbers is then a few kilobytes, and one operation.

    :raises ValueError: if the text is no such set, or has a number that is not below ``limit``
    """
    taken = spared = 0
    for rule in filter(None, map(str.strip, rules.split(','))):
        first, dash, last = rule.removeprefix('^').partition('-')
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < limit:
            raise ValueError(rule)
        span = (1 << high + 1) - (1 << low)
        if rule.startswith('^'):
            spared |= span
        else:
            taken |= span
    return taken & ~spared


def _refuse_contradictions(
    features: Features,
    policy: str | None,
    thread_policy: str | None,
    emulator: str | None,
    realtime: set[int] | None,
    dedicated: set[int] | None,
) -> None:
    """Refuse CPU policies and masks that contradict: ``numa_get_constraints`` of Nova.

    :param emulator: the value of ``emulator_threads_policy``
    :param realtime: the numbers of the realtime CPUs
    :param dedicated: the numbers of the dedicated CPUs
    """
    effective_policy = _find_policy_of_resources(features, policy, emulator)
    trait = _find_hyperthreading_requirement(features)
    if thread_policy and trait:
        raise Refusal('hw:cpu_thread_policy cannot be combined with trait:HW_CPU_HYPERTHREADING')
    is_thread_trait = trait in ('forbidden', 'required')
    has_threads = bool(thread_policy or is_thread_trait or emulator == 'isolate' or realtime)
    # An image that is not known may say more.
    is_shared = effective_policy == 'shared' or (effective_policy is None and features.has_image)
    if is_shared and (has_threads or dedicated):
        raise Refusal(
            'policies of threads, masks of dedicated CPUs and realtime need '
            'hw:cpu_policy=dedicated or mixed'
        )
    if effective_policy == 'dedicated' and dedicated:
        raise Refusal('hw:cpu_dedicated_mask needs hw:cpu_policy=mixed')
    if effective_policy == 'mixed' and bool(dedicated) == bool(realtime):
        raise Refusal(
            'hw:cpu_policy=mixed needs either hw:cpu_dedicated_mask or hw:cpu_realtime_mask'
        )


def _find_policy_of_resources(
    features: Features, policy: str | None, emulator: str | None
) -> str | None:
    """Return the CPU policy that ``resources:PCPU`` or ``resources:VCPU`` implies; else ``policy``.

    :param emulator: the value of ``emulator_threads_policy``
    :raises Refusal: if they contradict each other, the policy, or the number of CPUs
    """
    shared, pinned = (_sum_amounts(features, name) for name in ('VCPU', 'PCPU'))
    if policy and (shared or pinned):
        raise Refusal('hw:cpu_policy cannot be combined with resources:VCPU or resources:PCPU')
    if shared and pinned:
        raise Refusal('resources:VCPU cannot be combined with resources:PCPU')
    if pinned and features.flavor.vcpus + (emulator == 'isolate') != pinned:
        raise Refusal(f'resources:PCPU is {pinned}, of {features.flavor.vcpus} CPUs')
    return 'dedicated' if pinned else 'shared' if shared else policy


def _sum_amounts(features: Features, name: str) -> int:
    """Return the amount of a class in all extra specs: ``_get_vcpu_pcpu_resources`` of Nova."""
    amount = 0
    for key, value in features.specs.items():
        if re.match(f'resources([1-9][0-9]*)?:{name}', key):
            try:
                amount += int(value)
            except ValueError:
                continue
    return amount


def _find_hyperthreading_requirement(features: Features) -> str | None:
    """Return ``required`` or ``forbidden`` for HW_CPU_HYPERTHREADING; ``None`` without it."""
    for key, value in features.specs.items():
        if re.match('trait([1-9][0-9]*)?:HW_CPU_HYPERTHREADING', key):
            return value
    is_required = features.properties.get('trait:HW_CPU_HYPERTHREADING') == 'required'
    return 'required' if is_required else None
