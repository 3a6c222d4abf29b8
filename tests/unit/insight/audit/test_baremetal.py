# SPDX-License-Identifier: Apache-2.0
"""Nodes of Ironic, and their providers."""

from collections import Counter

import pytest

from placementclient.model.inventories import Inventory
from placementclient.model.repairs import HealServer
from placementclient.model.servers import Server
from placementclient.model.services import BaremetalNode
from tests.unit.insight.audit.auditing import PREFIX, audited, findings, reason, typed
from tests.unit.insight.clouds import consumer, provider


def node(**fields):
    default = {
        'uuid': 'node', 'name': 'rack1', 'state': 'available', 'resource_class': 'gold.large',
        'power_state': 'power off',
    }  # fmt: skip
    return BaremetalNode(**default | fields)


GOLD = 'CUSTOM_GOLD_LARGE'
OFFERED = {'resource_class': GOLD, 'offered': 1}
SERVED = [consumer('s', node={GOLD: 1})]


def gold_node(reserved=0):
    return [provider('node', **{GOLD: Inventory(1, reserved)})]


@pytest.mark.parametrize(
    ('fields', 'states', 'allocated'),
    [
        ({}, gold_node(), False),
        ({'maintenance': True}, gold_node(1), False),
        # It is withheld, and may have no inventory.
        ({'maintenance': True}, [provider('node')], False),
        ({'state': 'active', 'instance_uuid': 's'}, gold_node(), True),
        # Not a server of Nova: nova-compute has reserved it.
        ({'state': 'active'}, gold_node(1), False),
        ({'state': 'cleaning'}, gold_node(1), False),
        ({'state': 'manageable'}, gold_node(1), False),
        ({'state': 'clean failed', 'target_provision_state': 'available'}, gold_node(), False),
        ({'state': 'deploying', 'instance_uuid': 's'}, gold_node(), True),
        ({'state': 'clean wait'}, gold_node(), True),
        # Just chosen by the scheduler.
        ({'instance_uuid': 's'}, gold_node(), True),
        ({'reservation': 'conductor1'}, gold_node(1), True),
        ({'uuid': 'unknown', 'state': 'enroll', 'resource_class': None}, gold_node(), False),
    ],
)
def test_audit_finds_nothing_wrong_with_sound_nodes(fields, states, allocated):
    servers = {'s': 'node'} if allocated else {}
    assert findings(states, SERVED * allocated, servers, [], nodes=[node(**fields)]) == []


@pytest.mark.parametrize(
    ('fields', 'states', 'allocated', 'servers', 'facts', 'command'),
    [
        ({}, gold_node(), SERVED, {'s': 'node'}, {'holds': ['s']}, ''),
        ({}, gold_node(1), [], {}, {'resource_class': GOLD, 'reserved': 1}, ''),
        (
            {'resource_class': 'silver'}, gold_node(), [], {},
            {'resource_class': 'CUSTOM_SILVER', 'inventories': [GOLD]}, '',
        ),
        ({}, [provider('node')], [], {}, {'resource_class': GOLD, 'inventories': []}, ''),
        (
            {'state': 'active', 'instance_uuid': 's'}, gold_node(), [], {'s': ''},
            {'holds': [], 'instance_uuid': 's'}, f'{PREFIX} allocation heal --server s',
        ),
        ({'state': 'active'}, gold_node(), [], {}, {'holds': [], 'instance_uuid': None}, ''),
        # Nobody can use it, and Placement offers it.
        ({'maintenance': True}, gold_node(), [], {}, OFFERED | {'maintenance': True}, ''),
        ({'retired': True}, gold_node(), [], {}, OFFERED | {'retired': True}, ''),
        ({'power_state': None}, gold_node(), [], {}, OFFERED | {'power_state': None}, ''),
        ({'power_state': 'error'}, gold_node(), [], {}, OFFERED | {'power_state': 'error'}, ''),
        *(
            ({'state': state}, gold_node(), [], {}, OFFERED, '')
            for state in ('manageable', 'clean failed', 'error', 'enroll', 'deploy failed')
        ),
    ],
)  # fmt: skip
def test_audit_finds_nodes_whose_inventory_does_not_fit_their_state(
    fields, states, allocated, servers, facts, command
):
    [result] = findings(states, allocated, servers, [], nodes=[node(**fields)])
    state = fields.get('state', 'available')
    assert (result.kind, result.subject) == ('ironic-node', 'node')
    assert result.facts == {'node': 'rack1', 'state': state, **facts}
    assert (typed(result), result.remedy == HealServer('s')) == (command, bool(command))
    if 'reserved' in facts:
        command = f'{PREFIX} inventory set node --amend --resource {GOLD}:reserved=0'
        assert reason(result).endswith(f'If the node can be used: {command}')
    if 'offered' in facts:
        command = f'{PREFIX} inventory set node --amend --resource {GOLD}:reserved=1'
        assert reason(result).endswith(f'Until that is fixed: {command}')


@pytest.mark.parametrize(
    ('servers', 'message'),
    [
        (None, 'a server may just be built on it: give the list of servers too, with --servers'),
        ({'s': Server('s', task='spawning')}, 'it is under way: spawning'),
    ],
)
def test_audit_leaves_nodes_alone_on_which_a_server_is_built(servers, message):
    result = audited(gold_node(), SERVED, servers, [], nodes=[node()])
    assert (result.findings, Counter(result.passed_over.values())) == ([], {message: 1})
