"""Random requests have the candidates of the real service: which, how many, and on which trees.

``PLACING_SEEDS=0-800`` tries others than the few of each run; so does
``python -m tests.functional.candidates``.
"""

from __future__ import annotations

import os

import pytest

from tests.functional import candidates

pytestmark = pytest.mark.slow

FIRST, LAST = map(int, os.environ.get('PLACING_SEEDS', '0-12').split('-'))


def test_random_requests_have_the_candidates_of_the_service() -> None:
    compared = candidates.tried(range(FIRST, LAST))
    assert compared['compared'] + compared['failed'] == (LAST - FIRST) * candidates.REQUESTS
    assert compared['met'] >= 2 * (LAST - FIRST)
    assert compared['failed'] <= compared['compared'] // 20
