# SPDX-License-Identifier: Apache-2.0
"""The alert rules for Prometheus, tried by promtool."""

import subprocess
from pathlib import Path

import pytest

from tests.functional import guide

CASES = Path(__file__).with_name('alerts_test.yml')
CONFIGURATION = guide.SOURCE / 'examples' / 'prometheus' / 'prometheus.yml'


@pytest.mark.parametrize('argv', [('check', 'config', CONFIGURATION), ('test', 'rules', CASES)])
def test_promtool_accepts_the_alert_rules(argv):
    checked = subprocess.run(['promtool', *argv], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
