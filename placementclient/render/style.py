# SPDX-License-Identifier: Apache-2.0
"""The look of text: colours and bars for a terminal, plain text for a pipe."""

import re
from dataclasses import dataclass

from placementclient.basis.printable import escape_text

_CODES = {'bold': 1, 'dim': 2, 'red': 31, 'yellow': 33, 'cyan': 36}
#: The colour from each share of the capacity on; colour-blind people see the difference.
LEVELS = ((0.9, 'red'), (0.7, 'yellow'), (0.0, 'cyan'))
_CELLS = 12
_EIGHTHS = ' ▏▎▍▌▋▊▉'


@dataclass(frozen=True, slots=True)
class Style:
    """The look of text in a terminal.

    :param bars: draw each inventory as a line with a bar
    :param colours: use escape sequences for colours
    """

    bars: bool = False
    colours: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Return a text in a colour, if the style has colours."""
        # A name may contain colour codes itself.
        text = escape_text(text)
        return f'\x1b[{_CODES[colour]}m{text}\x1b[0m' if self.colours and text else text

    def draw_bar(self, used: int, capacity: int) -> str:
        """Return a usage as a bar of characters."""
        eighths = round(compute_used_share(used, capacity) * _CELLS * 8)
        if used and not eighths:
            eighths = 1
        drawn = '█' * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        return f'▕{self.paint(drawn, choose_colour(used, capacity))}{" " * (_CELLS - len(drawn))}▏'


PLAIN = Style()
_PAINT = re.compile(rf'(\x1b\[(?:0|{"|".join(map(str, _CODES.values()))})m)')


def escape_all_but_colours(line: str) -> str:
    """Return a line with its control characters escaped, except the colours of a style."""
    # The separators are at the odd places.
    parts = _PAINT.split(line)
    return ''.join(part if i % 2 else escape_text(part) for i, part in enumerate(parts))


def compute_used_share(used: int, capacity: int) -> float:
    """Return the used share of a capacity, from 0 to 1; 1 if more than the capacity is used."""
    if capacity <= 0:
        return 1.0 if used else 0.0
    return min(used / capacity, 1.0)


def choose_colour(used: int, capacity: int) -> str:
    share = compute_used_share(used, capacity)
    return next(colour for threshold, colour in LEVELS if share >= threshold)
