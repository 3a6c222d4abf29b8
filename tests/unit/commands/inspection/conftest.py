# SPDX-License-Identifier: Apache-2.0
"""Clouds to drain, and their plans."""

import pytest

from tests.unit.commands.clouds import save
from tests.unit.commands.inspection.drains import HOSTS, PLAN, three_hosts
from tests.unit.insight.clouds import cloud


@pytest.fixture
def file(tmp_path):
    return three_hosts(tmp_path)


@pytest.fixture
def plan(placement, tmp_path):
    """Plan to empty ``compute1`` of two hosts with these consumers."""

    def run(consumers, options='', lists=None, states=HOSTS):
        file = save(tmp_path, 'cloud.json', cloud(states, consumers))
        known = f'--requests {save(tmp_path, "nova.json", lists)}' if lists else ''
        return placement(f'{PLAN.format(file=file)} compute1 {options} {known}')

    return run
