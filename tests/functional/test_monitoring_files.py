# SPDX-License-Identifier: Apache-2.0
"""The files for Prometheus, systemd and Grafana fit what the exporter writes."""

import configparser
import json
import re
import shlex

import yaml

from placementclient.commands.inspection.capacity_export import ExportCapacity
from tests.functional import guide

FILES = guide.SOURCE / 'examples' / 'prometheus'
DASHBOARD = json.loads((FILES / 'grafana-placement.json').read_text())
ALERTS = yaml.safe_load((FILES / 'alerts.yml').read_text())
RULES = [rule for group in ALERTS['groups'] for rule in group['rules']]
QUERIES = [rule['expr'] for rule in RULES] + [
    target['expr'] for panel in DASHBOARD['panels'] for target in panel['targets']
]
#: A metric with its labels, if it has any.
SELECTOR = re.compile(r'\b(openstack_\w+)(?:\{(\w+)=)?')


def test_the_queries_name_metrics_and_labels_of_the_reference():
    rows = re.findall(r'   \* - ((?:.|\n)+?)\n     - (.+(?:\n {7}.+)*)', guide.page('metrics'))
    labels = {}
    for left, right in rows:
        names = re.findall(r'``([a-z_…]+)``', left)
        for name in names:
            full = name.replace('…', 'openstack_placement_resource')
            labels[full] = set(re.findall(r'``([a-z_]+)``', right))
    named = [pair for query in QUERIES for pair in SELECTOR.findall(query)]
    assert len(named) > 15
    for metric, label in named:
        assert metric in labels
        assert not label or label in labels[metric]
    grouped = {
        label.strip()
        for query in QUERIES
        for inside in re.findall(r'by \(([^)]+)\)', query)
        for label in inside.split(',')
    }
    assert grouped <= set().union(*labels.values())


def test_a_sample_of_the_exporter_has_what_the_flavor_alert_asks_for(placement):
    cloud, flavors = (str(FILES.parent / name) for name in ('cloud.json', 'flavors.json'))
    printed = placement(
        *('resource', 'capacity', 'export', '--snapshot', cloud, '--flavors', flavors)
    ).stdout
    assert '_by_flavor_total{flavor_name="m1.large",public="True"}' in printed


def test_the_unit_starts_the_exporter_that_is_scraped():
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(FILES / 'placement-exporter.service')
    program, *argv = shlex.split(unit['Service']['ExecStart'])
    assert program.endswith('/placement')
    assert argv[:3] == ['resource', 'capacity', 'export']
    args = ExportCapacity(None, None).get_parser('export').parse_args(argv[3:])
    [job] = yaml.safe_load((FILES / 'prometheus.yml').read_text())['scrape_configs']
    assert job['static_configs'][0]['targets'] == [args.serve]
