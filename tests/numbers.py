"""Parameters of tests that try much, such as seeds; most of them are slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def numbers(first: int, end: int, *, quick: int) -> list[Any]:
    """Return numbers for ``parametrize``; the first ``quick`` ones are not slow."""
    return few_quick(range(first, end), quick=quick)


def few_quick(values: Iterable[Any], *, quick: int) -> list[Any]:
    """Return values for ``parametrize``; the first ``quick`` ones are not slow."""
    return [
        value if number < quick else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]
