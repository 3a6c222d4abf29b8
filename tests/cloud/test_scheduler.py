"""Capacity and candidates, beside what Nova's scheduler really does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cloud import hosts, layout
from tests.cloud.compute import Compute
from tests.cloud.conftest import Placement

FIRST, SECOND, THIRD = layout.HOSTS
#: The hosts, by the settings of their drivers; Nova reserves 512 MiB of each.
DRIVERS = {
    FIRST: {
        'memory_mb': 3584,
        'children': {'pci_0000_84_00_0': {'VGPU': 1}, 'pci_0000_85_00_0': {'VGPU': 1}},
        'traits': ['CUSTOM_SSD'],
    },
    SECOND: {
        'memory_mb': 2560,
        'inventories': {'CUSTOM_FPGA': 1},
        'traits': ['CUSTOM_SSD', 'CUSTOM_WORN'],
    },
    THIRD: {'memory_mb': 1536},
}
ZONE, ZONED = 'cloud-zone', (SECOND, THIRD)
#: The extra specs of the flavors, and how many servers of each boot.
FLAVORS: dict[str, tuple[dict[str, str], int]] = {
    'sized-plain': ({}, 6),
    'sized-vgpu': ({'resources:VGPU': '1'}, 2),
    'sized-fpga': ({'resources:CUSTOM_FPGA': '1'}, 1),
    'sized-traits': ({'trait:CUSTOM_SSD': 'required', 'trait:CUSTOM_WORN': 'forbidden'}, 3),
    'sized-unknown': ({'trait:CUSTOM_NOBODY_HAS': 'required'}, 0),
}
BOOTED_IN_THE_ZONE = 3


@pytest.fixture
def zone(compute: Compute) -> str:
    """Hosts with little room, and the UUID of the aggregate of two of them, which is a zone."""
    hosts.settle(compute, DRIVERS)
    for name, (specs, _) in FLAVORS.items():
        compute.make_flavor(name, 1, 1024, 1, specs)
    return str(compute.make_aggregate(ZONE, *ZONED, zone=ZONE)['uuid'])


def _booted(compute: Compute, flavor: str, **more: Any) -> int:
    """Boot servers one by one, until there is no valid host; how many there are."""
    for number in range(10):
        uuid = compute.create(f'{flavor}-{number}', flavor, **more)
        server = compute.wait(uuid, 'ACTIVE', 'ERROR')
        if server['status'] == 'ERROR':
            assert 'No valid host' in server['fault']['message']
            return number
    raise AssertionError(f'{flavor} has room for more than 10')


def _fits(placement: Placement, *more: str) -> dict[str, int]:
    """How many servers of each flavor fit in all."""
    rows = placement(
        *['resource', 'capacity', 'show', '--flavors', 'nova', '-f', 'json'], *more
    ).json()
    return {row['flavor']: row['fits'] for row in rows if row.get('tree', '(all)') == '(all)'}


@pytest.mark.usefixtures('zone')
@pytest.mark.parametrize('flavor', FLAVORS)
def test_as_many_servers_boot_as_fit(compute: Compute, placement: Placement, flavor: str) -> None:
    fits = _fits(placement)[flavor]

    assert (_booted(compute, flavor), fits) == (FLAVORS[flavor][1],) * 2
    assert _fits(placement)[flavor] == 0


def test_as_many_servers_boot_in_a_zone_as_fit_in_its_aggregate(
    compute: Compute, placement: Placement, zone: str
) -> None:
    fits = _fits(placement, '--member-of', zone)['sized-plain']

    booted = _booted(compute, 'sized-plain', availability_zone=ZONE)

    assert (booted, fits) == (BOOTED_IN_THE_ZONE,) * 2


@pytest.mark.usefixtures('zone')
def test_a_host_without_the_owner_of_nova_gets_no_server(
    compute: Compute, placement: Placement
) -> None:
    before = _fits(placement)['sized-plain']
    placement(f'resource provider trait remove {THIRD} OWNER_NOVA -f json').json()

    fits = _fits(placement)['sized-plain']
    said = placement('resource capacity show --flavors nova').stderr
    uuid = compute.create('unowned', 'sized-plain', host=THIRD)
    server = compute.wait(uuid, 'ACTIVE', 'ERROR')

    assert (before, fits, server['status']) == (6, 5, 'ERROR')
    assert f'requires the trait OWNER_NOVA, which other hosts have: {THIRD}' in said


@pytest.mark.usefixtures('zone')
def test_the_reason_of_no_valid_host_is_named(compute: Compute, placement: Placement) -> None:
    program = 'allocation candidate explain -f json --flavor'
    before = placement(f'{program} sized-vgpu')
    _booted(compute, 'sized-vgpu')

    full = placement(f'{program} sized-vgpu').json(4)
    unknown = placement(f'{program} sized-unknown')

    assert before.status == 0
    assert [[each['value'] for each in conflict] for conflict in full['conflicts']] == [['VGPU']]
    # Placement refuses a request for a trait that it does not know.
    assert unknown.status == 1
    assert 'No such trait(s): CUSTOM_NOBODY_HAS' in unknown.stderr
