# SPDX-License-Identifier: Apache-2.0
"""Where Nova's driver does the reshape itself, it ends where ours does."""

import unittest
from typing import Any

from tests.nova import test_pcpu, test_sev, test_vgpu


def end_state(case, name, by_nova):
    """What is there after the last restart in a test of Nova."""
    states: list[dict[str, Any]] = []
    test = type(case.__name__, (case,), {'by_nova': by_nova, 'states': states})(name)
    result = unittest.TestResult()
    test.run(result)
    assert result.wasSuccessful(), [text for _, text in result.failures + result.errors]
    state = states[-1]
    # The consumers are others each time.
    allocations = sorted(repr(sorted(record.items())) for record in state['allocations'].values())
    return {**state, 'allocations': allocations}


class SameAsNovaTests(unittest.TestCase):
    maxDiff = None

    def same(self, case, name):
        ours, novas = end_state(case, name, False), end_state(case, name, True)
        for state in (ours, novas):
            for provider in state['providers'].values():
                provider['inventories'] = dict(sorted(provider['inventories'].items()))
        self.assertTrue(ours['providers'])
        self.assertEqual(novas, ours)

    def test_vgpu(self):
        self.same(test_vgpu.VGPUTests, 'test_create_servers_with_vgpu')

    def test_sev(self):
        self.same(test_sev.SEVTests, 'test_create_servers_with_amd_sev')

    def test_pcpu(self):
        self.same(test_pcpu.PCPUTests, 'test_vcpu_to_pcpu_reshape')
