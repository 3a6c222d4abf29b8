# SPDX-License-Identifier: Apache-2.0
"""Parameters of tests that try much, such as seeds; most of them are slow."""

import pytest


def numbers(first, end, *, quick):
    """Return numbers for ``parametrize``; the first ``quick`` ones are not slow."""
    return few_quick(range(first, end), quick=quick)


def few_quick(values, *, quick):
    """Return values for ``parametrize``; the first ``quick`` ones are not slow."""
    return [
        value if number < quick else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]
