"""What a consumer holds, as the service shows it and as it is written."""

from __future__ import annotations

from tests.unit.dialogue import CONSUMER, RP, RP2, get

PATH = f'/allocations/{CONSUMER}'
OWNER = {'project_id': 'p', 'user_id': 'u'}
STALE = 'Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n'


def held(generation=3, *, type='INSTANCE', **resources):
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
    return get(PATH, held(generation), **settings)


def rows(more=''):
    """The rows of :func:`held`, with further columns."""
    return f"{RP} 7 {{'VCPU': 2, 'VGPU': 1}}{more}\n{RP2} 9 {{'DISK_GB': 5}}{more}\n"
