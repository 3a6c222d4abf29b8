# SPDX-License-Identifier: Apache-2.0
"""The command lines that fix what was found, and what is said where there is none."""

import shlex

import pytest

from placementclient.insight.audit.checks import CHECKS
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.repairs import (
    RECORD_CONSUMERS,
    AddTrait,
    FreeAllocations,
    HealServer,
    LowerReserved,
    make_advice,
    make_inventory_advice,
)
from placementclient.render import repairs
from placementclient.render.repairs import Invocation

CONSUMER = Consumer('c', {'a': {'VCPU': 1}, 'b': {'VCPU': 1}})
FILES = [('--snapshot', 'my cloud.json'), ('--servers', 's.json')]
AGAIN = "audit --snapshot 'my cloud.json' --servers s.json --id over-capacity --subject 'a b'"


def next_step(remedy, reason='', invocation=None):
    finding = Finding(CHECKS[0].id, 'a b', {}, remedy=remedy, reason=reason)
    return repairs.choose_command_or_reason(finding, invocation or Invocation('openstack'))


@pytest.mark.parametrize('program', ['openstack', 'placement'])
@pytest.mark.parametrize(
    ('remedy', 'typed'),
    [
        (AddTrait('u', 'a host', 'OWNER_NOVA'), "trait add 'a host' OWNER_NOVA"),
        (FreeAllocations(CONSUMER, ('a', 'b')), f'{AGAIN} --fix --yes'),
        (FreeAllocations(CONSUMER, ('b',)), f'{AGAIN} --fix --yes'),
        (LowerReserved('u', 'a', 'VCPU', 8), f'{AGAIN} --fix --yes'),
        (HealServer('s'), "allocation heal --server s --servers 'my list.json'"),
        (
            HealServer('s', corrects_amounts=True),
            "allocation heal --server s --amounts --servers 'my list.json'",
        ),
    ],
)
def test_a_command_names_the_program(remedy, typed, program):
    invocation = Invocation(program, FILES, [('--servers', 'my list.json')])
    assert next_step(remedy, invocation=invocation) == (
        f'{program} resource provider {typed}', ''
    )  # fmt: skip


@pytest.mark.parametrize('remedy', [FreeAllocations(CONSUMER, ('a',)), None])
def test_a_repair_that_is_not_safe_has_a_reason_and_no_command(remedy):
    assert next_step(remedy, 'not now') == ('', 'not now')


@pytest.mark.parametrize(
    ('remedy', 'typed'),
    [
        (make_inventory_advice('a b', 'VCPU', {'min_unit': 1}),
         "inventory set 'a b' --amend --resource VCPU:min_unit=1"),
        (AddTrait('u', 'a b', 'T'), "trait add 'a b' T"),
        (make_advice('set', 'a b', '--name', 'c d'), "set 'a b' --name 'c d'"),
    ],
)  # fmt: skip
def test_a_finding_for_the_operator_to_decide_has_the_command_in_its_reason(remedy, typed):
    assert next_step(remedy, 'If so') == ('', f'If so: openstack resource provider {typed}')


def test_a_repair_that_needs_a_list_from_a_pipe_has_no_command():
    piped = Invocation('openstack', None)
    command, reason = next_step(FreeAllocations(CONSUMER, ('a',)), invocation=piped)
    assert (command, 'pipe' in reason) == ('', True)
    assert next_step(AddTrait('u', 'a', 'T'), invocation=piped)[0]


def test_a_repair_may_name_a_command_of_another_program():
    step = next_step(RECORD_CONSUMERS, invocation=Invocation('placement'))
    assert step == ('placement-manage db online_data_migrations', '')


def test_a_command_quotes_the_subject_of_a_finding():
    command, _ = next_step(LowerReserved('u', 'a', 'V', 1))
    [*_, option, subject, _, _] = shlex.split(command)
    assert (option, subject) == ('--subject', 'a b')
