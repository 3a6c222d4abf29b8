"""Numbers of tests that try much: seeds, or places to be killed at."""

from __future__ import annotations

from typing import Any

import pytest


def numbers(first: int, end: int, *, quick: int) -> list[Any]:
    """Return the numbers for ``parametrize``.

    :param quick: how many of them are not slow
    """
    slow = range(first + quick, end)
    return [
        *range(first, first + quick),
        *(pytest.param(number, marks=pytest.mark.slow) for number in slow),
    ]
