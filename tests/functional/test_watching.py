"""A reshape that is watched while the service goes away and comes back."""

from __future__ import annotations

import shutil
import signal
from importlib import resources

from placementclient.cli import shell
from placementclient.files import disk
from placementclient.producers import restore
from tests.functional.away import Service
from tests.watching import watching

RESHAPE = 'resource provider reshape'
MAP = f'{RESHAPE} assignments --host-facts compute1 -o gpu-map.csv'
PLAN = f'{RESHAPE} plan --spec vgpu.yaml --assignments gpu-map.csv --snapshot cloud.json -o p.json'


def test_a_service_that_is_away_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with resources.as_file(resources.files('placementclient.reshape') / 'demo') as folder:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert shell.main(MAP.split()) == 0
    assert shell.main(PLAN.split()) == 0
    service = Service(tmp_path)
    try:
        service.start()
        restore.load(service.client, disk.read_snapshot('cloud.json'))
        for name, value in service.variables.items():
            monkeypatch.setenv(name, value)
        with watching(f'{RESHAPE} status p.json --watch 1', tmp_path) as watch:
            watch.wait_for('| compute1 | pending |')
            service.stop()
            watch.wait_for('No answer from http://')
            watch.wait_for('| compute1 | pending |')
            service.start()
            assert shell.main(f'{RESHAPE} apply p.json --yes'.split()) == 0
            watch.wait_for('| compute1 | applied |')
            status, left = watch.end(signal.SIGINT)
    finally:
        service.stop()
    assert status == 130
    assert '| compute1 | applied |' in left
