# SPDX-License-Identifier: Apache-2.0
"""``resource capacity export --serve``: scrapes, and readings that fail."""

import logging
import urllib.request
from unittest.mock import Mock

import pytest
import requests
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as open_metrics_families,
)
from prometheus_client.parser import text_string_to_metric_families
from requests_mock import ANY

from placementclient.basis import errors
from placementclient.commands.inspection import metrics_server
from placementclient.render import metrics
from tests.unit.commands.inspection.test_capacity_export import figures

AWAY = errors.PlacementError('away')


class Clock:
    """A clock that stands still."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def time(self):
        return self.now + 5000


def collecting(*readings):
    """A collector with these readings, of which it raises the exceptions; or with empty ones."""
    read = Mock(side_effect=readings or None, return_value=[])
    return metrics_server.Collector(read, 10, logging.getLogger('told'))


def scraped(collector):
    return figures(metrics.format_metrics(collector.collect()))


def is_up(collector):
    return scraped(collector)['openstack_placement_up'][()] == 1


def test_the_exporter_is_up_for_three_intervals_after_a_success(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(metrics_server, 'time', clock)
    collector = collecting([], AWAY, [])
    assert not is_up(collector)
    collector.read()
    assert is_up(collector)
    read_at = {'openstack_placement_capacity_last_read_timestamp_seconds': {(): clock.time()}}
    clock.now += 29
    collector.read()
    assert is_up(collector)
    assert scraped(collector).items() >= read_at.items()
    # Nothing is read meanwhile: it is computed when it is asked.
    clock.now += 1
    assert not is_up(collector)
    collector.read()
    assert is_up(collector)


def test_an_unreachable_service_is_logged_once(caplog):
    collector = collecting([], AWAY, AWAY, [], AWAY)
    for _ in range(5):
        collector.read()
    gone = 'The figures stay as they are: away'
    assert caplog.messages == [gone, 'The figures are read again', gone]


@pytest.mark.parametrize(
    ('failure', 'message'),
    [
        (OverflowError('long'), 'OverflowError: long'),
        (StopIteration(), 'StopIteration'),
        (RecursionError(), 'RecursionError'),
        (MemoryError(), 'MemoryError'),
        (OSError(24, 'Too many open files'), 'OSError: [Errno 24] Too many open files'),
    ],
)
def test_no_error_of_a_reading_ends_the_exporter(caplog, failure, message):
    collector = collecting(failure, failure)
    for _ in range(2):
        collector.read()
        assert not is_up(collector)
    assert caplog.messages == [f'There are no figures yet: {message}']


@pytest.mark.parametrize('options', ['--flavors nova', '--snapshot none.json'])
def test_impossible_options_end_the_service_at_its_start(placement, options):
    result = placement(f'resource capacity export --serve 127.0.0.1:0 {options}')
    assert result.status == 1
    assert result.stderr in (
        'Nova cannot be asked: there is no service catalog (auth type none or placement_direct)\n'
        'Next:\n'
        '  1. Make the list where nova answers: openstack flavor list --all --long -f json > '
        'flavors.json\n'
        '  2. Give the list: --flavors flavors.json\n',
        'none.json: No such file or directory; --snapshot needs a snapshot. To make one: placement '
        'resource provider snapshot save FILE\n',
    )


def test_a_reading_has_one_deadline(placement, service, monkeypatch):
    """Each request waits no longer than the reading may last, and none is sent after it."""
    clock = Clock()
    scrapes: list[dict[str, dict[tuple[str, ...], float]]] = []

    def fail(request, context):
        clock.now += request.timeout
        raise requests.exceptions.ReadTimeout

    def serve(where, collector, *arguments):
        collector.read()
        scrapes.append(scraped(collector))

    monkeypatch.setattr(metrics_server, 'time', clock)
    monkeypatch.setattr(metrics_server, 'serve_metrics', serve)
    service._mocker.request(ANY, ANY, json=fail)
    result = placement(
        '--os-placement-timeout 50 resource capacity export --serve :0 --interval 30'
    )
    assert (result.status, [request.timeout for request in service.history]) == (0, [50, 40])
    _, failure = result.stderr.splitlines()
    assert failure == (
        'There are no figures yet: The reading was not over after 90 s: '
        'a service hangs, or is too slow for the --interval'
    )
    assert scrapes[0]['openstack_placement_capacity_read_duration_seconds'] == {(): 90}


@pytest.mark.parametrize('address', ['127.0.0.1', '::1', ''])
def test_a_scrape_gets_the_format_that_it_accepts(address):
    with metrics_server.run_metrics_server(address, 0, collecting()) as port:
        host = f'[{address}]' if ':' in address else address or '127.0.0.1'
        url = f'http://{host}:{port}/metrics'
        with urllib.request.urlopen(url, timeout=60) as answer:
            plain = list(text_string_to_metric_families(answer.read().decode()))
        accepting = {'Accept': 'application/openmetrics-text;version=1.0.0'}
        request = urllib.request.Request(url, headers=accepting)
        with urllib.request.urlopen(request, timeout=60) as answer:
            open_metrics = list(open_metrics_families(answer.read().decode()))
    names = [family.name for family in plain]
    assert [family.name for family in open_metrics] == names
    assert [family.samples for family in open_metrics] == [family.samples for family in plain]
    assert 'openstack_placement_up' in names


@pytest.mark.parametrize('host', ['127.0.0.1', 'nowhere.invalid'])
def test_an_address_that_cannot_be_used_is_an_error(host):
    with (
        metrics_server.run_metrics_server('127.0.0.1', 0, collecting()) as port,
        pytest.raises(errors.PlacementError, match=f'^{host}:{port}: '),
        metrics_server.run_metrics_server(host, port, collecting()),
    ):
        pass
