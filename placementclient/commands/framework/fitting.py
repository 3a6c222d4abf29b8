# SPDX-License-Identifier: Apache-2.0
"""Tables as wide as the terminal: columns that do not fit are left out, words are not broken."""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

#: The columns that are left out after the empty ones, in this order, until the others fit.
LEFT_OUT = (
    'root_provider_uuid',
    'parent_provider_uuid',
    'generation',
    'step_size',
    'min_unit',
    'max_unit',
    'reserved',
    'last_modified',
    'command',
    'allocations',
    'providers',
)
#: A width that no table has: cliff wraps nothing.
UNLIMITED = 1 << 20
#: The parts of a cell that are never broken: dates, amounts with units, words.
_PART = re.compile(
    r'[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} [\d: GMT]+|[\d.,]+ [KMGTPE]iB\b,?|[^ ,]+,?| +|,'
)


class Fitted:
    """A formatter of cliff that prints rows no wider than a terminal, if words allow that."""

    def __init__(self, formatter: Any, width: int, warn: Callable[[str], None]) -> None:
        self._formatter, self._width, self._warn = formatter, width, warn

    def emit_list(
        self, names: Sequence[str], rows: Any, stdout: Any, parsed_args: argparse.Namespace
    ) -> None:
        listed = [tuple(row) for row in rows]
        least = [_least(column) for column in zip(names, *listed, strict=True)]
        shown, left_out = list(range(len(names))), []
        columns = zip(names, *listed, strict=True)
        empty = [name for name, *cells in columns if cells and all(cell == '' for cell in cells)]
        for name in dict.fromkeys((*empty, *LEFT_OUT)):
            if _table_width([least[place] for place in shown]) > self._width and name in names:
                shown.remove(names.index(name))
                left_out.append(name)
        if left_out:
            self._warn(f'No room for {", ".join(left_out)}: --wide prints all columns')
        longest = [
            max(len(str(cell)) for cell in (names[n], *(r[n] for r in listed))) for n in shown
        ]
        widths = self._widths(longest, [least[place] for place in shown])
        cells = [
            tuple(_wrapped(row[place], width) for place, width in zip(shown, widths, strict=True))
            for row in listed
        ]
        # The table has its width: it is not wrapped again, within words.
        parsed_args.max_width = UNLIMITED
        self._formatter.emit_list([names[place] for place in shown], cells, stdout, parsed_args)

    def _widths(self, longest: Sequence[int], least: Sequence[int]) -> list[int]:
        """Return the widths of columns: the widest give way, down to their longest words."""
        widths = list(longest)
        for _ in range(_table_width(widths) - self._width):
            slack = [place for place, width in enumerate(widths) if width > least[place]]
            if not slack:
                break
            widths[max(slack, key=widths.__getitem__)] -= 1
        return widths


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) + 1


def _least(cells: Sequence[Any]) -> int:
    """Return the width of the longest part of a column."""
    return max((len(part) for cell in cells for part in _PART.findall(str(cell))), default=0)


def _wrapped(cell: Any, width: int) -> Any:
    """Return a text with line ends between its parts; other cells as they are."""
    if not isinstance(cell, str) or len(cell) <= width:
        return cell
    lines = ['']
    for part in _PART.findall(cell):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append('')
        lines[-1] += part if lines[-1] else part.lstrip()
    return '\n'.join(line.rstrip() for line in lines)
