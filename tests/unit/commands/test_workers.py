"""How much is done at the same time."""

from __future__ import annotations

import argparse
import os

import pytest

from placementclient.commands import workers


def test_workers_are_a_number_or_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, 'cpu_count', lambda: 6)
    parser = argparse.ArgumentParser()
    workers.option('trees to read').add_to(parser)
    given = [parser.parse_args(words) for words in ([], ['--workers', '9'], ['--workers', 'auto'])]
    assert [each.workers for each in given] == [4, 9, 12]
