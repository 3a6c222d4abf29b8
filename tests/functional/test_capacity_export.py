# SPDX-License-Identifier: Apache-2.0
"""Metrics served by a process of its own, while the service comes and goes."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.parser import text_string_to_metric_families

from placementclient.producers import restore
from placementclient.reading.capture import capture
from tests.functional.away import Service, free_port
from tests.functional.test_insight_capacity import mixed

UP = 'openstack_placement_up'
CAPACITY = 'openstack_hypervisor_placement_allocatable_capacity'


def scraped(port):
    """The values of each metric."""
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=30) as answer:
        text = answer.read().decode()
    return {
        family.name: [sample.value for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


def when(port, *, is_up):
    """The first scrape that says whether the service is there."""
    for _ in range(600):
        try:
            scrape = scraped(port)
        except OSError:
            scrape = {}
        if scrape.get(UP) == [float(is_up)]:
            return scrape
        time.sleep(0.2)
    raise AssertionError(f'{UP} never becomes {is_up}')


@pytest.fixture
def service(tmp_path):
    """A Placement which may be stopped, with a cloud in it."""
    service = Service(tmp_path)
    try:
        service.start()
        restore.load_snapshot(service.client, mixed())
        yield service
    finally:
        service.stop()


def test_exporter_has_the_traits_that_patterns_choose(placement, client):
    restore.load_snapshot(client, mixed())
    parts = sorted(
        (state.name, trait)
        for state in capture(client).providers.values()
        for trait in state.traits
        if trait.startswith('CUSTOM_') or trait == 'COMPUTE_NODE'
    )
    assert parts
    result = placement("resource capacity export --trait 'CUSTOM_*' --trait COMPUTE_NODE")
    exported = [
        sample
        for family in text_string_to_metric_families(result.stdout)
        if family.name == 'openstack_placement_resource_provider_trait'
        for sample in family.samples
    ]
    assert sorted((s.labels['provider'], s.labels['trait']) for s in exported) == parts
    assert {sample.value for sample in exported} == {1.0}
    assert 'provider_trait' not in placement('resource capacity export').stdout


@pytest.mark.slow
def test_exporter_serves_metrics_until_it_is_stopped(service):
    port = free_port()
    command = ['resource', 'capacity', 'export', '--serve', f'127.0.0.1:{port}', '--interval', '1']
    with subprocess.Popen(
        [sys.executable, '-m', 'placementclient', '--retries', '0', *command],
        env=os.environ | service.variables,
        stderr=subprocess.PIPE,
        text=True,
    ) as exporter:
        first = when(port, is_up=True)
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: scraped(port), range(50)))
        assert all(answer[CAPACITY] == first[CAPACITY] for answer in answers)
        service.stop()
        away = when(port, is_up=False)
        assert away[CAPACITY] == first[CAPACITY]
        service.start()
        assert when(port, is_up=True)[CAPACITY] == first[CAPACITY]
        with service.hanging():
            assert when(port, is_up=False)[CAPACITY] == first[CAPACITY]
        when(port, is_up=True)
        exporter.send_signal(signal.SIGTERM)
        _, message = exporter.communicate(timeout=60)
        assert exporter.returncode == 0
        assert f'Serving http://127.0.0.1:{port}/metrics' in message
        # Once for each time that it is away, however long that is.
        assert message.count('The figures stay as they are: ') == 1
        assert message.count('The figures are read again') == 1
