# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal of 80 columns."""

import argparse
import io
import re

import pytest
from cliff.formatters.table import TableFormatter

from placementclient.commands.framework.fitting import Fitted
from tests.unit.dialogue import get

UUID = '4e8e5957-649f-477b-9e5b-f1f75b21c03c'
PROVIDER = {'uuid': UUID, 'generation': 7, 'root_provider_uuid': UUID, 'parent_provider_uuid': None}

#: The options of a table without any.
OPTIONS = argparse.Namespace(print_empty=False, fit_width=False, max_width=0)


@pytest.fixture
def listed(placement, service, monkeypatch):
    """Lists a provider on a terminal: ``listed('--wide')``."""

    def run(options='', name='compute1'):
        service.answer(
            get('/resource_providers', {'resource_providers': [PROVIDER | {'name': name}]})
        )
        monkeypatch.setenv('COLUMNS', '80')
        monkeypatch.setattr('sys.stdout.isatty', lambda: True)
        return placement(f'resource provider list {options}', version='1.14')

    return run


def test_columns_that_have_no_room_are_left_out_and_named(listed):
    result = listed()
    assert result.stdout.splitlines()[1:4:2] == [
        '| uuid                                 | name     | generation |',
        f'| {UUID} | compute1 |          7 |',
    ]
    assert result.stderr == (
        'No room for root_provider_uuid, parent_provider_uuid: --wide prints all columns\n'
    )


def test_wide_prints_all_columns_and_breaks_nothing(listed):
    result = listed('--wide')
    assert result.stdout.count(UUID) == 2
    assert result.stderr == ''


def test_chosen_columns_are_not_left_out(listed):
    result = listed('-c root_provider_uuid')
    assert (result.stdout.count(UUID), result.stderr) == (1, '')


def test_texts_are_wrapped_between_words(listed):
    result = listed(name='one host with a name of many words')
    assert result.stdout.splitlines()[3:5] == [
        f'| {UUID} | one host with a name of |          7 |',
        '|                                      | many words              |            |',
    ]


@pytest.mark.parametrize(
    ('names', 'row', 'columns'),
    [
        (
            ('object', 'change', 'before', 'after', 'state', 'reason'),
            (f'consumer {UUID}', 'allocations', '', 'compute2 (VCPU 2, DISK_GB 40)', 'done', ''),
            ['object', 'change', 'after', 'state'],
        ),
        (
            ('wave', 'server', 'from', 'to', 'allocations', 'command'),
            (1, UUID, 'compute1', 'compute2', 'MEMORY_MB 8 GiB, VCPU 4', f'migrate {UUID}'),
            ['wave', 'server', 'from', 'to'],
        ),
    ],
)
def test_tables_of_changes_capacity_and_drains_fit(names, row, columns):
    printed, warnings = io.StringIO(), list[str]()
    Fitted(TableFormatter(), 80, warnings.append).emit_list(names, [row], printed, OPTIONS)
    lines = printed.getvalue().splitlines()
    assert lines[1].replace('|', '').split() == columns
    assert max(map(len, lines)) <= 80
    assert warnings


def test_amounts_stay_with_their_units():
    printed = io.StringIO()
    row = 'a name of some words that has no room here', '95.1 GiB', '1,024 MiB, 2 TiB', UUID
    Fitted(TableFormatter(), 80, print).emit_list(('a', 'b', 'c', 'd'), [row], printed, OPTIONS)
    assert re.search(r'95\.1 GiB +\| 1,024 MiB, +\|', printed.getvalue())
