# SPDX-License-Identifier: Apache-2.0
"""Columns: names, order and values of every table, which scripts depend on."""

from types import SimpleNamespace

import pytest

from placementclient.client.microversion import HIGHEST, LOWEST, Microversion
from placementclient.model.consumers import (
    Candidate,
    Consumer,
    Holding,
    ProjectUsage,
    ProviderSummary,
)
from placementclient.model.freshness import Read
from placementclient.model.providers import Provider
from placementclient.render import columns
from placementclient.render.columns import Column, Columns
from tests.unit.dialogue import CONSUMER, CONSUMER2, ROOT, RP

TWO = Columns(Column('a'), Column('b', lambda item: item.b * 2, Microversion(1, 5)))
ITEM = SimpleNamespace(a=1, b=2)


@pytest.mark.parametrize(
    ('version', 'names', 'values'),
    [('1.4', ('a',), (1,)), ('1.5', ('a', 'b'), (1, 4)), ('1.39', ('a', 'b'), (1, 4))],
)
def test_a_table_has_the_columns_of_its_version(version, names, values):
    at = Microversion.parse(version)
    assert TWO.make_row(ITEM, at) == (names, values)
    assert TWO.make_table([ITEM, ITEM], at) == (names, [values, values])
    assert TWO.make_table(iter([]), at) == (names, [])


def test_columns_are_added_in_order():
    both = Columns(Column('b')) + Columns(Column('a'))
    assert both.make_row(ITEM) == (('b', 'a'), (2, 1))


INVENTORY = ('allocation_ratio', 'min_unit', 'max_unit', 'reserved', 'step_size', 'total')
OWNER = ('project_id', 'user_id', 'consumer_type')
PROVIDER_OF_CANDIDATE = ('#', 'allocation', 'resource provider')
SUMMARY = ('inventory used/capacity', 'traits')
TREE = ('groups', 'parent_provider_uuid', 'root_provider_uuid')
NAMES = {
    'NAME': ('name',),
    'UUID': ('uuid',),
    'PROVIDER': ('uuid', 'name', 'generation', 'root_provider_uuid', 'parent_provider_uuid'),
    'INVENTORY': INVENTORY,
    'INVENTORY_OF_CLASS': ('resource_class', *INVENTORY),
    'INVENTORY_OF_PROVIDER': ('resource_provider', 'resource_class', *INVENTORY),
    'USED_INVENTORY': (*INVENTORY, 'used'),
    'USED_INVENTORY_OF_CLASS': ('resource_class', *INVENTORY, 'used'),
    'USAGE': ('resource_class', 'usage'),
    'ALLOCATION': ('resource_provider', 'generation', 'resources', *OWNER),
    'RELOCATED': ('resource_provider', 'name', 'generation', 'resources', *OWNER),
    'CANDIDATE': (*PROVIDER_OF_CANDIDATE, *SUMMARY),
    'CANDIDATE_TREE': TREE,
    'CLAIMED': (*PROVIDER_OF_CANDIDATE, 'name', *SUMMARY, *TREE),
    'DIFFERENCE': ('change', 'kind', 'name', 'uuid', 'field', 'before', 'after'),
    'HOLDING': ('consumer', 'resources', 'consumer_generation'),
}


@pytest.mark.parametrize(('table', 'names'), NAMES.items())
def test_the_names_of_columns_are_a_contract(table, names):
    assert getattr(columns, table).make_table([], HIGHEST)[0] == names


def test_every_table_is_in_the_contract():
    tables = {name for name, table in vars(columns).items() if isinstance(table, Columns)}
    tables = {name for name in tables if not name.startswith('_')}
    assert tables == set(NAMES)


def test_a_provider_is_shown_root_first():
    child = Provider(RP, 'numa0', 7, 'parent', ROOT)
    assert columns.PROVIDER.make_row(child, HIGHEST)[1] == (RP, 'numa0', 7, ROOT, 'parent')
    assert columns.PROVIDER.make_row(child, LOWEST)[1] == (RP, 'numa0', 7)


def test_a_table_has_empty_cells_for_absent_fields():
    assert columns.INVENTORY.make_row({'total': 4, 'reserved': 0})[1] == ('', '', '', 0, '', 4)


def test_an_allocation_has_the_generation_of_its_provider():
    shown = Read(Consumer(CONSUMER, {RP: {'VCPU': 2}}, 'p', 'u', 3), generations={RP: 7})
    _, [row] = columns.list_allocations(shown, HIGHEST)
    # The service's word for a type that was never set.
    assert row == (RP, 7, {'VCPU': 2}, 'p', 'u', 'unknown')


def test_a_record_of_allocations_has_the_form_of_the_api():
    holdings = [Holding(CONSUMER, {'VCPU': 2}, 0), Holding(CONSUMER2, {'VGPU': 1})]
    assert columns.group_holdings_by_consumer(holdings) == {
        CONSUMER: {'resources': {'VCPU': 2}, 'consumer_generation': 0},
        CONSUMER2: {'resources': {'VGPU': 1}},
    }


def test_candidates_are_numbered_and_have_a_row_for_each_provider():
    listed = [
        Candidate({RP: {'VCPU': 1, 'DISK_GB': 5}, ROOT: {'VGPU': 1}}),
        Candidate({RP: {'VCPU': 1}}),
    ]
    summaries = {
        RP: ProviderSummary({'VCPU': (2, 8), 'DISK_GB': (0, 10)}, ('B', 'A')),
        ROOT: ProviderSummary({}),
    }
    assert columns.list_candidates(listed, summaries, HIGHEST, long=False)[1] == [
        (1, 'VCPU=1,DISK_GB=5', RP, 'VCPU=2/8,DISK_GB=0/10', 'B,A'),
        (1, 'VGPU=1', ROOT, '', ''),
        (2, 'VCPU=1', RP, 'VCPU=2/8,DISK_GB=0/10', 'B,A'),
    ]


def test_a_long_candidate_shows_groups_parent_and_root():
    listed = [Candidate({RP: {'VCPU': 1}}, {'': [RP], '1': [ROOT], '_A': [ROOT, RP]})]
    summaries = {RP: ProviderSummary({}, (), 'parent', ROOT)}
    names, [row] = columns.list_candidates(listed, summaries, HIGHEST, long=True)
    assert names == NAMES['CANDIDATE'] + NAMES['CANDIDATE_TREE']
    groups, *rest = row[-3:]
    assert (groups.machine_readable(), groups.human_readable()) == (['', '_A'], '_A')
    assert rest == ['parent', ROOT]


def test_usage_by_type_has_a_row_for_each_class():
    usages = [
        ProjectUsage({'VCPU': 3, 'DISK_GB': 10}, 'INSTANCE', 2),
        ProjectUsage({}, 'unknown', 0),
    ]
    assert columns.list_project_usage(usages) == (
        ('consumer_type', 'consumer_count', 'resource_class', 'usage'),
        [('INSTANCE', 2, 'VCPU', 3), ('INSTANCE', 2, 'DISK_GB', 10)],
    )
