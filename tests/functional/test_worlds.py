# SPDX-License-Identifier: Apache-2.0
"""No list, however damaged, and no Nova, however it lies, frees what a server needs."""

import pytest

from tests.worlds.__main__ import Player
from tests.worlds.planted import DEFECTS
from tests.worlds.running import COMMANDS, World


@pytest.fixture
def player():
    with Player() as player:
        yield player


@pytest.mark.parametrize(
    'seeds', [range(300), pytest.param(range(300, 1600), marks=pytest.mark.slow)], ids=len
)
def test_lists_free_what_is_gone_and_nothing_that_a_server_needs(seeds):
    with Player(is_pure=True) as player:
        counts = player.sweep(World.draw(seed, ['audit'], [False]) for seed in seeds)
    assert (counts['harm'], counts['kept']) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize('command', COMMANDS)
def test_commands_free_what_is_gone_and_nothing_that_a_server_needs(player, command):
    counts = player.sweep(World.draw(seed, [command]) for seed in range(40))
    assert (counts['harm'], counts['kept']) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize('name', DEFECTS)
def test_worlds_find_each_planted_defect(name):
    defect = DEFECTS[name]
    with defect.plant(), Player(is_pure=not defect.command) as player:
        assert any(player.play(world).harm for world in defect.worlds(range(300)))
