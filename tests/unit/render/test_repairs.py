"""The command lines that make faults good: of the program that is running."""

from __future__ import annotations

import pytest

from placementclient.model.consumers import Consumer
from placementclient.model.repairs import (
    AddTrait,
    Administration,
    FreeAllocations,
    JoinAggregate,
    LookAtMigrations,
    Remedy,
)
from placementclient.render import repairs

HELD = Consumer('c', {'a': {'VCPU': 1}, 'b': {'VCPU': 1}})


@pytest.mark.parametrize('program', ['openstack', 'placement'])
@pytest.mark.parametrize(
    ('remedy', 'typed'),
    [
        (AddTrait('u', 'a host', 'OWNER_NOVA'), "trait add 'a host' OWNER_NOVA"),
        (FreeAllocations(HELD, ('a', 'b')), 'allocation delete c'),
        (FreeAllocations(HELD, ('b',)), 'allocation unset c --provider b'),
        (JoinAggregate(None, 'agg'), 'aggregate add <host> agg'),
        (JoinAggregate('nfs', None), 'aggregate add nfs <aggregate of its hosts>'),
    ],
)
def test_a_command_names_the_program(remedy: Remedy, typed: str, program: str) -> None:
    assert repairs.command(remedy, program) == f'{program} resource provider {typed}'


def test_what_is_no_command_of_ours_is_typed_as_it_is() -> None:
    nova = repairs.command(LookAtMigrations('s'), 'placement')
    assert nova == 'openstack server migration list --server s'
    for remedy in Administration:
        assert 'placement resource' not in repairs.command(remedy, 'placement')
