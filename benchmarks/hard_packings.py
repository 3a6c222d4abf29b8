# SPDX-License-Identifier: Apache-2.0
"""Packings that leave hardly any room, and what the search says of them, and when.

    python -m benchmarks.hard_packings --timeout 10

The shapes are made by a formula, not by chance, so that everybody measures the same ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.solve.search import Impossible, search_placements

#: Megabytes of memory that flavours have.
MEMORY = (512, 1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, 65536)

Shape = tuple[str, list[Bin], list[Item]]


def numbers(count: int, low: int, high: int, seed: int) -> list[int]:
    """Numbers that look like chance."""
    state, drawn = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        drawn.append(low + (state >> 33) % (high - low))
    return drawn


def divided(total: int, parts: int) -> list[int]:
    """A total in equal parts."""
    return [total // parts + (index < total % parts) for index in range(parts)]


def shape(name: str, rooms: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]]) -> Shape:
    """Items of several classes that go together.

    :param rooms: of each class, of each place
    :param sizes: of each item, of each class
    """
    places, classes = len(rooms[0]), len(rooms)
    bins = [Bin(rooms[c][p]) for p in range(places) for c in range(classes)]
    items = [
        Item(
            tuple(
                tuple(Demand(p * classes + c, size[c]) for c in range(classes))
                for p in range(places)
            )
        )
        for size in sizes
    ]
    return name, bins, items


def packed(count: int, places: int, seed: int) -> tuple[list[int], list[int]]:
    """Sizes, and rooms into which they fit without any room to spare."""
    sizes = numbers(count, 1000, 100000, seed)
    return sizes, [sum(sizes[place::places]) for place in range(places)]


def shapes() -> Iterator[Shape]:
    """All of them."""
    for triples in (10, 20):
        sizes = []
        for first, second in zip(
            numbers(triples, 2600, 4000, 1), numbers(triples, 2600, 3400, 2), strict=True
        ):
            sizes += [first, second, 10000 - first - second]
        name = f'3-partition, {triples} triples'
        yield shape(name, [[10000] * triples], [(size,) for size in sizes])
    for percent in (98, 99, 100):
        sizes, rooms = packed(100, 8, 3)
        rooms = [room * 100 // percent for room in rooms]
        yield shape(f'100 sizes, 8 bins, {percent} %', [rooms], [(size,) for size in sizes])
    sizes = list(range(1, 1001))
    rooms = divided(sum(sizes), 16)
    yield shape('sizes 1 to 1000, 16 bins, 100 %', [rooms], [(size,) for size in sizes])
    sizes = [MEMORY[n] for n in numbers(1000, 0, len(MEMORY), 4)]
    for percent in (99, 100):
        rooms = [sum(sizes[place::16]) * 100 // percent for place in range(16)]
        name = f'1,000 memory sizes, 16 bins, {percent} %'
        yield shape(name, [rooms], [(size,) for size in sizes])
    for count, places in ((40, 4), (200, 8)):
        for classes in (2, 3):
            several = [packed(count, places, 5 + c) for c in range(classes)]
            for percent in (97, 100):
                yield shape(
                    f'{classes} classes together, {count} items, {places} places, {percent} %',
                    [[room * 100 // percent for room in rooms] for _, rooms in several],
                    list(zip(*(sizes for sizes, _ in several), strict=True)),
                )
    sizes, rooms = packed(100, 8, 9)
    rooms[0] -= 1
    yield shape('100 sizes, 8 bins, 1 too little', [rooms], [(size,) for size in sizes])
    yield shape('1,000 twos into 16 odd bins', [[125] * 16], [(2,)] * 1000)


def verdict(answer: object) -> str:
    """What is known."""
    if isinstance(answer, Impossible):
        return 'infeasible'
    if answer is None:
        return 'undetermined'
    assert isinstance(answer, list)
    proved = sum(decision.proved for decision in answer)
    return 'found' if proved == len(answer) else f'found, {len(answer) - proved} rows unproved'


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--timeout', type=float, default=60.0, metavar='SECONDS')
    timeout = parser.parse_args().timeout
    print(f'{"shape":54} {"seconds":>8}  answer')
    for name, bins, items in shapes():
        start = time.perf_counter()
        answer = search_placements(bins, items, timeout)
        print(f'{name:54} {time.perf_counter() - start:8.2f}  {verdict(answer)}', flush=True)


if __name__ == '__main__':
    main()
