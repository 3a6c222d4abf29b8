# SPDX-License-Identifier: Apache-2.0
"""The plan of a drain on the page."""

import pytest

from placementclient.basis import errors
from placementclient.render.report import drain
from placementclient.render.report.contents import Fill
from tests.unit.insight.clouds import cloud, consumer, provider

SNAPSHOT = cloud(
    [provider('a', VCPU=8), provider('a_0', 'a', VCPU=2), provider('b', VCPU=8)],
    [consumer('s', a={'VCPU': 2}), consumer('t', a_0={'VCPU': 1}), consumer('u', b={'VCPU': 1})],
)


def document(**changes):
    moves = [
        {'wave': 1, 'server': 's', 'from': 'a', 'to': 'b', 'allocations': {'b': {'VCPU': 2}}},
        {'wave': 1, 'server': 't', 'from': 'a', 'to': 'b', 'allocations': {'b': {'VCPU': 1}}},
        # As a rolling plan moves a server more than once.
        {'wave': 2, 'server': 's', 'from': 'b', 'to': 'a', 'allocations': {'a': {'VCPU': 2}}},
    ]
    return {
        'format': 'placementclient/drain-plan', 'version': 1, 'verdict': 'yes', 'hosts': ['b'],
        'said': ['Done'], 'moves': moves, 'free': [], **changes,
    }  # fmt: skip


def test_the_report_shows_hosts_before_and_after_a_drain():
    panel = drain.make_drain_section(document(), 'd.json', SNAPSHOT)
    assert panel.hosts == [
        ('VCPU', Fill(1, 8), Fill(2, 8), 'b'),
        ('VCPU', Fill(3, 10), Fill(2, 10), 'a'),
    ]
    assert panel.waves == [(1, 2, 'a', 'b'), (2, 1, 'b', 'a')]
    assert (panel.hidden_hosts, panel.hidden_waves) == (0, 0)


def test_the_report_cuts_a_long_drain(monkeypatch):
    monkeypatch.setattr(drain, 'MOST', 1)
    panel = drain.make_drain_section(document(), 'd.json', SNAPSHOT)
    assert (len(panel.hosts), len(panel.waves)) == (1, 1)
    assert (panel.hidden_hosts, panel.hidden_waves) == (1, 1)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'format': 'x'}, 'd.json: not a plan of a drain: plan.format: '),
        ({'moves': [{}]}, 'd.json: not a plan of a drain: plan.moves'),
        ({'hosts': ['c', 'd']}, 'd.json: is about another cloud: there is no c, d'),
    ],
)
def test_the_report_refuses_a_file_that_is_no_drain(changes, message):
    with pytest.raises(errors.BadFile) as raised:
        drain.make_drain_section(document(**changes), 'd.json', SNAPSHOT)
    assert str(raised.value).startswith(message)
