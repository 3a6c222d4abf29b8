# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.worlds FIRST [--count N] [--command COMMAND ...]``.

A line for each world in which something needed is lost, or something useless is kept, with the
command that plays the smallest part of it again. Last come the counts.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tests.worlds.deciding import decide
from tests.worlds.running import COMMANDS, Outcome, Play, World
from tests.worlds.stage import Stage
from tests.worlds.stories import build


class Player:
    """Plays worlds, one after the other.

    :param is_pure: whether only the evidence of the lists is judged, and no command runs
    """

    def __init__(self, *, is_pure: bool = False) -> None:
        self._stage = None if is_pure else Stage()

    def __enter__(self) -> 'Player':
        return self

    def __exit__(self, *_: object) -> None:
        if self._stage:
            self._stage.close()

    def play(self, world: World) -> Outcome:
        return Play(self._stage, world).run() if self._stage else decide(world)

    def smallest(self, world: World, kind: str) -> World:
        """Return the smallest part of a world in which the same goes wrong.

        :param kind: ``harm`` or ``kept``
        """
        stories = build(world.seed).stories.values()
        numbers = sorted({int(story.split()[0]) for story in stories})
        parts = [replace(world, only=frozenset({number})) for number in numbers]
        parts = [part for part in parts if getattr(self.play(part), kind)]
        world = parts[0] if parts else world
        for damage in sorted(world.damages):
            part = replace(world, damages=world.damages - {damage})
            world = part if getattr(self.play(part), kind) else world
        part = replace(world, race=None)
        return part if getattr(self.play(part), kind) else world

    def sweep(self, worlds: Iterable[World]) -> Counter[str]:
        """Play worlds; print the faults, and return how many worlds there are of each kind."""
        counts = Counter[str]()
        for world in worlds:
            outcome = self.play(world)
            counts['worlds'] += 1
            counts[f'{outcome.argv[0]} ended with {outcome.status}'] += 1
            counts.update(f'{kind} {"" if is_kept else "NOT "}freed'
                          for kind, is_kept in outcome.promises)  # fmt: skip
            for kind in ('harm', 'kept'):
                if getattr(outcome, kind):
                    counts[kind] += 1
                    part = self.smallest(world, kind)
                    faults = getattr(self.play(part), kind)
                    print(kind, *faults[:1], part, sep='\n    ', flush=True)
        return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.worlds', description=__doc__)
    parser.add_argument('first', type=int)
    parser.add_argument('--count', type=int)
    parser.add_argument('--command', choices=COMMANDS, action='append')
    way = parser.add_mutually_exclusive_group()
    way.add_argument('--live', action='store_true')
    way.add_argument('--files', action='store_false', dest='live')
    parser.add_argument('--damages', default='', help='with commas between')
    parser.add_argument('--only', default='', help='the numbers of stories')
    parser.add_argument('--race', type=int)
    parser.add_argument('--pure', action='store_true', help='judge the evidence of lists alone')
    arguments = parser.parse_args()
    commands = tuple(arguments.command or COMMANDS)
    player = Player(is_pure=arguments.pure)
    if arguments.count is not None:
        began = time.process_time()
        seeds = range(arguments.first, arguments.first + arguments.count)
        ways = (False,) if arguments.pure else (False, True)
        counts = player.sweep(World.draw(seed, commands, ways) for seed in seeds)
        print(*(f'{number:6} {kind}' for kind, number in sorted(counts.items())), sep='\n')
        print(f'{time.process_time() - began:.0f} s of CPU')
        return bool(counts['harm'] or counts['kept'])
    damages = frozenset(filter(None, arguments.damages.split(',')))
    only = frozenset(map(int, filter(None, arguments.only.split(','))))
    world = World(
        arguments.first, commands[0], arguments.live, damages, only, arguments.race
    )  # fmt: skip
    outcome = player.play(world)
    print(*outcome.argv)
    print(outcome.status, outcome.output, *outcome.requests, sep='\n')
    print(*outcome.harm, *outcome.kept, sep='\n')
    return bool(outcome.harm or outcome.kept)


if __name__ == '__main__':
    sys.exit(main())
