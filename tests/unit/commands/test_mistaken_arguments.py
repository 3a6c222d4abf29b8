# SPDX-License-Identifier: Apache-2.0
"""Wrong options, columns, choices and URLs: each message says what to type."""

import pytest

from placementclient.cli import shell
from tests.unit.commands.clouds import save, small
from tests.unit.dialogue import RP

NO_COLUMN = (
    'There is no column tre. Did you mean "tree"? Columns: tree, resource_class, shared_by, '
    'providers, capacity, used, free, largest_fit\n'
)


@pytest.mark.parametrize('command', ['resource class list', 'resource provider list'])
def test_an_empty_argument_is_refused_as_any_other(placement, command):
    result = placement(f"{command} ''")
    assert (result.status, 'unrecognized arguments: ' in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ('command', 'form'),
    [
        ('inventory set {} VCPU --total 64', 'inventory set {} --amend --resource VCPU=64'),
        (
            'inventory set {} VCPU --total=64 --allocation_ratio 8',
            'inventory set {} --amend --resource VCPU=64 --resource VCPU:allocation_ratio=8',
        ),
        ('inventory set {} VCPU', 'inventory set {} --amend --resource VCPU=TOTAL'),
        ('inventory delete {} VCPU', 'inventory delete {} --resource-class VCPU'),
        ('aggregate set {} a b', 'aggregate set {} --aggregate a --aggregate b'),
        ('list {}', 'show {}'),
        ('set {} b', 'set {} --name b'),
    ],
)
def test_an_argument_too_many_is_answered_with_the_form_that_takes_it(placement, command, form):
    result = placement(f'resource provider {command.format(RP)}')
    assert result.status == 2
    assert f'. Type: placement resource provider {form.format(RP)}\n' in result.stderr


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('tree delete compute1', 'Did you mean "resource provider purge"?'),
        ('rename compute1 compute2', 'Did you mean "resource provider set"?'),
        ('show compute1 compute2', ': compute2. The command takes no more arguments'),
        ('inventory class set a VCPU --totl 64', 'required: --total. Did you mean "--total"?'),
        ('trait add compute1 --trait X', '--trait. Type the trait without --trait\n'),
        ('show --provider compute1', '. Type the provider without --provider\n'),
        ('inventory set compute1 --amend VCPU=64', '. Type: --resource VCPU=64\n'),
        ('list VCPU=4', '. Type: --resource VCPU=4\n'),
        (
            "inventory set --match 'a*' --amend --resource VCPU:allocation_ratio 8",
            '8 was taken as a provider. Write VCPU:allocation_ratio=8',
        ),
        (
            'inventory set b --match a --amend --resource VCPU:allocation_ratio 8',
            '. A value follows its = without a blank: NAME=8\n',
        ),
    ],
)
def test_a_wrong_command_line_is_answered_with_the_right_one(placement, command, answer):
    result = placement(f'resource provider {command}')
    assert (result.status, answer in result.stderr) == (2, True), result.stderr


def test_an_option_before_the_command_is_answered_with_its_place(placement):
    refused = placement('-f json resource provider list')
    assert 'Options of a command come after its name' in refused.stderr


def test_an_unknown_column_to_sort_by_is_named_where_the_table_is_printed(placement, tmp_path):
    snapshot = save(tmp_path, 'cloud.json', small())
    result = placement(f'resource capacity show --snapshot {snapshot} --sort-column tre')
    assert (result.status, result.stderr) == (
        0,
        f'Not sorted. {NO_COLUMN}',
    )


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('provider list --with-class VCPU', 'Did you mean "--resource"?'),
        ('provider list --json', 'Did you mean "--format"?'),
        ('provider drain plan --servers s.json', 'Did you mean "--requests"?'),
        ('provider show a --fits VCPU=1', '. --fits is an option of: resource capacity show\n'),
        (
            'provider show a --required X',
            '? --required is an option of other commands, not of this one\n',
        ),
        ('usage list --by server', '. Did you mean "consumer"?\n'),
        ('usage list --by tenant', '. Did you mean "project"?\n'),
        ('usage list --by node', '. Did you mean "host"?\n'),
        ('provider list -f jsn', '. Did you mean "json"?\n'),
    ],
)
def test_an_option_of_another_command_is_answered_with_the_option(placement, command, answer):
    result = placement(f'resource {command}')
    assert (result.status, answer in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize(
    ('columns', 'sentence'),
    [
        ('-c tre', NO_COLUMN),
        ('-c tree -c x -c y', NO_COLUMN.replace('tre. Did you mean "tree"?', 'x or y.')),
        (
            '-c tree,used',
            NO_COLUMN.replace('tre.', 'tree,used.').replace(
                'Did you mean "tree"?', 'Type: -c tree -c used.'
            ),
        ),
    ],
)
def test_a_column_that_does_not_exist_is_answered_with_those_that_do(
    placement, tmp_path, columns, sentence
):
    snapshot = save(tmp_path, 'cloud.json', small())
    refused = placement(f'resource capacity show --snapshot {snapshot} {columns}')
    assert (refused.status, refused.stderr) == (1, sentence)


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('tree show compute1 -c name', 'The text has no columns. Type: -f yaml -c name\n'),
        ('delete compute1 -c name', '-c name. The command prints no table\n'),
    ],
)
def test_columns_are_refused_where_no_table_is_printed(placement, service, command, answer):
    result = placement(f'resource provider {command}')
    assert (result.status, answer in result.stderr, service.requests) == (2, True, [])


@pytest.mark.parametrize(
    ('variables', 'sentence'),
    [
        (
            {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'u:p@127.0.0.1:8778'},
            '127.0.0.1:8778/traits has no http:// or https:// before it. The URL is from '
            'OS_ENDPOINT: type http://127.0.0.1:8778\n',
        ),
        (
            {'OS_AUTH_URL': '127.0.0.1:9/v3', 'OS_USERNAME': 'u', 'OS_PASSWORD': 'x'},
            '127.0.0.1:9/v3 has no http:// or https:// before it. The URL is from '
            'OS_AUTH_URL: type http://127.0.0.1:9/v3\n',
        ),
        (
            {
                'OS_AUTH_TYPE': 'placement_direct',
                'OS_PLACEMENT_DATABASE': 'sqlite:////nowhere/p.sqlite',
            },
            'There is no database /nowhere/p.sqlite: the folder /nowhere does not exist. Check the '
            'path. The URL is from OS_PLACEMENT_DATABASE\nNext: For an empty Placement: '
            'OS_PLACEMENT_DATABASE__CONNECTION=sqlite:////nowhere/p.sqlite placement-manage db '
            'sync\n',
        ),
    ],
)
def test_a_wrong_url_of_a_variable_is_answered_with_the_right_one(
    monkeypatch, capsys, variables, sentence
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert shell.main(['trait', 'list']) == 1
    assert capsys.readouterr().err == sentence
