"""Pages that begin with an empty Placement print what they say, command by command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.functional import guide
from tests.functional.conftest import Placement


@pytest.mark.parametrize(
    ('page', 'commands'),
    [
        ('check', 5),
        ('declare', 10),
        ('drain', 10),
        ('heal', 5),
        ('host-aggregates', 4),
        ('replace', 12),
        ('review', 6),
        ('what-if', 5),
    ],
)
def test_a_page(
    page: str,
    commands: int,
    placement: Placement,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = guide.page(page)
    assert guide.follow(text, placement) >= commands


@pytest.mark.parametrize(('page', 'commands'), [('host-facts', 8), ('pci-devices', 8)])
def test_a_page_on_the_hosts_of_the_guides(
    page: str,
    commands: int,
    placement: Placement,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(guide.HOSTS, tmp_path / 'work')
    monkeypatch.chdir(tmp_path / 'work')
    monkeypatch.setenv('OS_AUTH_TYPE', 'placement_direct')
    assert guide.follow(guide.page(page), placement) == commands
