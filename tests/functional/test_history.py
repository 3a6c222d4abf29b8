"""Histories of the real service, and the page about them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from placementclient import files
from placementclient.insight.capacity import totals
from placementclient.model.origin import Origin
from placementclient.snapshot import history
from tests.functional.conftest import Placement
from tests.functional.test_insight_capacity import mixed
from tests.unit.insight.clouds import cloud, consumer, provider

SNAPSHOT = 'resource provider snapshot'


def write_days(folder: str, days: int) -> None:
    """A cloud whose VCPUs are used up, six a day, and whose disks are not."""
    for day in range(days):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(day)
        used = {'VCPU': 140 + day * 6 + day * 37 % 11, 'DISK_GB': 9000}
        snapshot = cloud([provider('host', VCPU=640, DISK_GB=40000)], [consumer('many', host=used)])
        snapshot.origin = Origin(moment.isoformat(), 'http://127.0.0.1/other', 'tests')
        amounts = {
            line.resource_class: (line.amounts.capacity, line.amounts.used)
            for line in totals.by_class(snapshot)
        }
        history.append(folder, snapshot, amounts, pytest.fail)


def test_what_is_saved_is_what_a_file_has(placement: Placement, tmp_path: Path) -> None:
    cloud_file, folder = str(tmp_path / 'cloud.json'), tmp_path / 'daily'
    files.write_snapshot(cloud_file, mixed())
    assert placement(f'{SNAPSHOT} save --history {folder}').status == 0
    assert placement(f'{SNAPSHOT} restore {cloud_file}').status == 0
    assert placement(f'{SNAPSHOT} save --history {folder}').status == 0
    saved = tmp_path / 'saved.json'
    assert placement(f'{SNAPSHOT} save {saved}').status == 0
    result = placement(f'{SNAPSHOT} diff {saved} {folder} -f json')
    assert (result.status, json.loads(result.stdout), result.stderr) == (0, [], '')
    now, then = history.at(str(folder), None, pytest.fail), files.read_snapshot(str(saved))
    assert (now.providers, now.consumers) == (then.providers, then.consumers)
