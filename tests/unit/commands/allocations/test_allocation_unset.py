"""Some of a consumer's allocations are taken away, the rest stays."""

from __future__ import annotations

import pytest

from tests.unit.commands.holdings import PATH, STALE, held, read, rows, to_write
from tests.unit.dialogue import (
    CONSUMER,
    NOTHING,
    ROOT,
    RP,
    RP2,
    Case,
    Reply,
    conflict,
    delete,
    fault,
    found,
    get,
    put,
)

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
            get('/resource_classes/VGPU', {'name': 'VGPU'}),
            put(
                PATH, to_write({RP: {'VCPU': 2, 'VGPU': 1}, RP2: {'DISK_GB': 5}}, **GUARD), NOTHING
            ),
            read(),
        ],
        '7\n9\n',
        f'Consumer {CONSUMER} holds nothing of that\n',
    ),
    'a class that there is not is an error': Case(
        f'{UNSET} --resource-class VPGU',
        [
            read(),
            get('/resource_classes/VPGU', fault(404, 'No such resource class VPGU.')),
            get('/resource_classes', {'resource_classes': [{'name': 'VGPU'}]}),
        ],
        stderr='No such resource class VPGU. (HTTP 404) [req-1]. Did you mean "VGPU"?\n',
        status=1,
    ),
    'after a lost answer it is looked at': Case(
        f'{LEFT}',
        [
            read(),
            put(PATH, to_write(REST, **GUARD), Reply(504)),
            get(PATH, {'allocations': {}}),
            get(PATH, {'allocations': {}}),
        ],
    ),
    'whose write is never answered cannot be sure': Case(
        f'{LEFT}',
        [read(), put(PATH, to_write(REST, **GUARD), fault(503, 'Busy')), read()] * 5
        + [read(), put(PATH, to_write(REST, **GUARD), fault(503, 'Busy'))],
        stderr='Busy (HTTP 503) [req-1]; whether it was done is not known\n',
        status=1,
    ),
    'a provider has a name': Case(
        f'{UNSET} --provider compute1 -f value',
        [found(), read(), put(PATH, to_write({RP2: {'DISK_GB': 5}}, **GUARD), NOTHING), read()],
        rows(' p u'),
    ),
    'a consumer whose type was never set keeps that': Case(
        LEFT,
        [
            get(PATH, held(type='unknown')),
            put(PATH, to_write(REST, consumer_generation=3), NOTHING, version='1.37'),
            get(PATH, {'allocations': {}}),
        ],
    ),
    'below 1.28 a consumer that is left with nothing is deleted': Case(
        f'{UNSET} -f value', [read(), delete(PATH), get(PATH, {'allocations': {}})], version='1.27'
    ),
    'after a conflict it is decided again': Case(
        f'{LEFT}',
        [
            read(),
            put(PATH, to_write(REST, **GUARD), conflict()),
            get(PATH, held(4, VCPU=8, VGPU=2)),
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
    'with --generation it is a compare-and-swap': Case(
        f'{LEFT} --generation 0',
        [read(), put(PATH, to_write(REST, **GUARD | {'consumer_generation': 0}), conflict())],
        stderr=STALE,
        status=1,
    ),
}


@pytest.mark.parametrize('case', UNSETTING.values(), ids=UNSETTING)
def test_allocation_unset(play, case):
    play(case)
