# SPDX-License-Identifier: Apache-2.0
"""Allocations: what each command sends and prints."""

import pytest

from tests.unit.dialogue import (
    CONSUMER,
    MONDAY,
    NOTHING,
    ROOT,
    RP,
    RP2,
    Case,
    Reply,
    conflict,
    delete,
    get,
    post,
    provider,
    put,
    searched,
)

PATH = f'/allocations/{CONSUMER}'
OWNER = {'project_id': 'p', 'user_id': 'u'}
STALE = 'Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n'


def allocated(generation=3, *, type='INSTANCE', **resources):
    """What a consumer holds on one provider and on another, as the service shows it."""
    allocations = {RP: {'generation': 7, 'resources': resources or {'VCPU': 2, 'VGPU': 1}}}
    allocations[RP2] = {'generation': 9, 'resources': {'DISK_GB': 5}}
    owner = OWNER | {'consumer_generation': generation, 'consumer_type': type}
    return {'allocations': allocations} | owner


def to_write(allocations, **fields):
    """The body of a write."""
    written = {uuid: {'resources': resources} for uuid, resources in allocations.items()}
    return {'allocations': written, **OWNER, **fields}


def read(generation=3, **settings):
    return get(PATH, allocated(generation), **settings)


def rows(more=''):
    """The rows of :func:`held`, with further columns."""
    return f"{RP} 7 {{'VCPU': 2, 'VGPU': 1}}{more}\n{RP2} 9 {{'DISK_GB': 5}}{more}\n"


SHOW = f'resource provider allocation show {CONSUMER}'

NAMED = (
    get(f'/resource_providers/{RP}', provider()),
    get(f'/resource_providers/{RP2}', provider(RP2, 'storage')),
)

READING = {
    'with --long each row has the date and the name': Case(
        f'{SHOW} --long -f value',
        [get(PATH, Reply(200, allocated(), {'Last-Modified': MONDAY})), *NAMED],
        f"{RP} 7 {{'VCPU': 2, 'VGPU': 1}} p u {MONDAY} compute1\n"
        f"{RP2} 9 {{'DISK_GB': 5}} p u {MONDAY} storage\n",
    ),
}

SET = (
    f'resource provider allocation set {CONSUMER} --allocation rp={RP},VCPU=2 '
    '-f value -c generation'
)
OWNED = f'{SET} --project-id p --user-id u'
ONE = {RP: {'VCPU': 2}}


SETTING = {
    'providers have names, and several options for one are one': Case(
        f'{OWNED} --allocation VGPU=1,rp=compute1 --allocation rp=storage,DISK_GB=5 '
        f'--consumer-type INSTANCE --mapping =compute1 --mapping 1={ROOT} --mapping 1={RP2}',
        [
            searched(),
            searched('storage', RP2),
            searched(),
            read(),
            put(
                PATH,
                to_write(
                    {RP: {'VCPU': 2, 'VGPU': 1}, RP2: {'DISK_GB': 5}},
                    consumer_generation=3,
                    consumer_type='INSTANCE',
                    mappings={'': [RP], '1': [ROOT, RP2]},
                ),
                NOTHING,
            ),
            read(),
        ],
        '7\n9\n',
    ),
    'after a conflict the generation is read again': Case(
        OWNED,
        [
            read(3),
            put(PATH, to_write(ONE, consumer_generation=3), conflict()),
            read(4),
            put(PATH, to_write(ONE, consumer_generation=4), NOTHING),
            read(5),
        ],
        '7\n9\n',
        version='1.37',
    ),
    'with --generation it is a compare-and-swap': Case(
        f'{OWNED} --generation 0',
        [put(PATH, to_write(ONE, consumer_generation=0), conflict())],
        stderr=STALE,
        status=1,
        version='1.37',
    ),
    'UUIDs in capitals are those in small letters': Case(
        f'resource provider allocation delete {CONSUMER.upper()}', [delete(PATH)]
    ),
    'UUIDs without hyphens are those with them': Case(
        f'resource provider allocation delete {CONSUMER.replace("-", "")}', [delete(PATH)]
    ),
    'after a lost answer a deletion is looked at': Case(
        f'resource provider allocation delete {CONSUMER}',
        [delete(PATH, Reply(502)), get(PATH, {'allocations': {}})],
    ),
    'a mapping needs a provider': Case(
        f'{OWNED} --mapping 1',
        stderr='Arguments to --mapping must be of form <group>=<provider>\n',
        status=1,
    ),
}

UNSET = f'resource provider allocation unset {CONSUMER}'
LEFT = f'{UNSET} --resource-class VGPU -f value -c resources'
REST = {RP: {'VCPU': 2}, RP2: {'DISK_GB': 5}}
GUARD = {'consumer_generation': 3, 'consumer_type': 'INSTANCE'}


def unset(options, rest):
    """What is left is written, and read again."""
    return Case(
        f'{UNSET} {options} -f value -c generation',
        [read(), put(PATH, to_write(rest, **GUARD), NOTHING), get(PATH, {'allocations': {}})],
    )


UNSETTING = {
    'one class goes, from everywhere': unset(
        '--resource-class VGPU --resource-class DISK_GB', {RP: {'VCPU': 2}}
    ),
    'what it does not hold changes nothing, and is said': Case(
        f'{UNSET} --provider {ROOT} --resource-class VGPU -f value -c generation',
        [
            read(),
            put(
                PATH, to_write({RP: {'VCPU': 2, 'VGPU': 1}, RP2: {'DISK_GB': 5}}, **GUARD), NOTHING
            ),
            read(),
        ],
        '7\n9\n',
        f'Consumer {CONSUMER} has no such allocations\n',
    ),
    'below 1.28 a consumer that is left with nothing is deleted': Case(
        f'{UNSET} -f value', [read(), delete(PATH), get(PATH, {'allocations': {}})], version='1.27'
    ),
    'after a conflict it is decided again': Case(
        f'{LEFT}',
        [
            read(),
            put(PATH, to_write(REST, **GUARD), conflict()),
            get(PATH, allocated(4, VCPU=8, VGPU=2)),
            put(
                PATH,
                to_write(
                    {RP: {'VCPU': 8}, RP2: {'DISK_GB': 5}}, **GUARD | {'consumer_generation': 4}
                ),
                NOTHING,
            ),
            get(PATH, {'allocations': {}}),
        ],
    ),
    'a conflict with who takes all away is no success': Case(
        LEFT,
        [
            read(),
            put(PATH, to_write(REST, **GUARD), conflict()),
            get(PATH, {'allocations': {}}),
        ],
        stderr=f"No allocations for consumer '{CONSUMER}'\n",
        status=1,
    ),
}

OTHERS = {
    'several consumers are replaced with the body as it is': Case(
        'resource provider allocation replace --file -', [post('/allocations', {}, NOTHING)]
    ),
}

CASES = READING | SETTING | UNSETTING | OTHERS


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_allocation_commands_send_and_print(play, case):
    play(case)
