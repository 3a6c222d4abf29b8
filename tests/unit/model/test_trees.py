# SPDX-License-Identifier: Apache-2.0
"""Providers that are no trees: which is told, in a time that grows with their number only."""

import pytest
from msgspec.structs import replace

from placementclient.model.providers import Provider
from placementclient.model.trees import explain_inconsistency
from tests.unit.dialogue import ROOT, RP, RP2


def provider(uuid, name, parent=None, root=ROOT):
    return Provider(uuid, name, 1, parent, root)


HOST, CHILD, GRANDCHILD = (
    provider(ROOT, 'host'),
    provider(RP, 'numa0', ROOT),
    provider(RP2, 'gpu', RP),
)
FAULTS = {
    'a UUID twice': ([HOST, CHILD, CHILD], f'two providers have the UUID {RP}'),
    'a name twice': (
        [HOST, CHILD, replace(GRANDCHILD, name='numa0')],
        f"two providers have the name 'numa0': {RP} and {RP2}",
    ),
    'a circle': (
        [HOST, replace(CHILD, parent_provider_uuid=RP2), GRANDCHILD],
        f"the parents of 'numa0' ({RP}) are a circle",
    ),
    'a parent that is missing': (
        [HOST, GRANDCHILD],
        f"the parent of 'gpu' ({RP2}), {RP}, is missing",
    ),
    'another root': (
        [HOST, CHILD, replace(GRANDCHILD, root_provider_uuid=RP)],
        f"'gpu' ({RP2}) is not in the tree of its root, {RP}",
    ),
}


@pytest.mark.parametrize(('providers', 'message'), FAULTS.values(), ids=FAULTS)
def test_providers_that_form_no_tree_are_an_error(providers, message):
    assert explain_inconsistency(providers) == message


@pytest.mark.parametrize(
    'providers',
    [
        [],
        [GRANDCHILD, CHILD, HOST],
        [HOST, provider(RP, 'other', None, RP)],
        # Below 1.14 nobody has a root.
        [provider(ROOT, 'host', None, None), provider(RP, 'other', None, None)],
    ],
)
def test_providers_that_form_trees_are_accepted(providers):
    assert explain_inconsistency(providers) is None


def test_a_chain_of_any_length_is_a_tree():
    chain = [provider('0', '0', None, '0')]
    chain += [provider(str(n), str(n), str(n - 1), '0') for n in range(1, 20_000)]
    assert explain_inconsistency(chain[::-1]) is None
    assert explain_inconsistency(chain[1:]) == "the parent of '1' (1), 0, is missing"
