# SPDX-License-Identifier: Apache-2.0
"""Exit statuses and columns: said once by each command, and true."""

import pytest

from placementclient.basis.errors import ExitStatus
from placementclient.cli.entry_points import load_command
from placementclient.client import endpoints
from placementclient.commands.framework import base, change_command
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.commands.test_registry import every_command, parser_of
from tests.unit.dialogue import CONSUMER, RP, Reply

COMMON_STATUSES = {ExitStatus.DONE, ExitStatus.ERROR, ExitStatus.USAGE}


@every_command
def test_the_help_names_all_exit_statuses(point):
    printed = ' '.join(parser_of(point).format_help().split())
    statuses = load_command(point).statuses
    assert 'Exit status: 0 done 1 error: Placement refuses, a file is bad 2' in printed
    for status, text in statuses:
        assert status not in COMMON_STATUSES
        assert f' {int(status)} {text}'.lower() in printed.lower()


@every_command
def test_a_command_that_writes_declares_its_columns(point):
    command = load_command(point)
    is_confirmed = any('--yes' in choice.flags for choice in command.options)
    is_write = is_confirmed or not (command.endpoint or endpoints.SHOW_API).is_read
    if is_write and issubclass(command, base.Lister | base.ShowOne):
        assert command.column_names


@pytest.mark.parametrize(
    'command',
    [
        'resource provider create compute1',
        f'resource provider set {RP} --name n',
        f'resource provider trait add {RP} CUSTOM_A',
        f'resource provider aggregate add {RP} {CONSUMER}',
        f'resource provider inventory set {RP} --resource VCPU=4',
        f'resource provider allocation unset {CONSUMER}',
        f'resource provider allocation transfer {CONSUMER} --to-consumer {RP}',
        f'resource provider purge {RP} --yes',
        'resource provider reshape plan --spec none.yaml -o plan.json',
    ],
)
def test_columns_are_checked_before_anything_is_sent(placement, service, command):
    result = placement(f'{command} -c bogus')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith('There is no column bogus. Columns: ')
    assert service.requests == []


def test_a_column_beside_others_is_a_notice_where_osc_placement_has_the_command(placement, service):
    service.answer(Reply(200, {'traits': ['CUSTOM_A']}))
    result = placement('trait list -f value -c name -c bogus')
    assert result == Result(0, 'CUSTOM_A\n', 'There is no column bogus. Columns: name\n')


@pytest.mark.parametrize('option', ['--fits', '--column=tree --column', '--required'])
def test_two_hyphens_are_no_value(placement, tmp_path, option):
    """What argparse makes of them is an empty list in some releases of Python."""
    snapshot = save(tmp_path, 'cloud.json', small())
    result = placement(f'resource capacity show --snapshot {snapshot} {option}=--')
    assert result.status in (1, 2)
    assert "'list' object" not in result.stderr


@every_command
def test_a_dry_run_tells_scripts_whether_it_is_needed(point):
    """But that of "inventory set" for one provider, which osc-placement has."""
    command = load_command(point)
    has_dry_run = change_command.DRY_RUN in command.options
    assert has_dry_run == any('a dry run' in text for _, text in command.statuses)
    assert has_dry_run or not any('--dry-run' in choice.flags for choice in command.options)


def test_an_empty_table_is_a_sentence_for_people_and_a_list_for_programs(placement, tmp_path):
    snapshot = save(tmp_path, 'cloud.json', small())
    command = f'resource provider snapshot diff {snapshot} {snapshot}'
    assert placement(command) == Result(0, '', 'No differences\n')
    assert placement(f'{command} -f json') == Result(0, '[]\n', '')
    assert placement(f'{command} -f value') == Result(0, '', '')
    assert placement(f'{command} --print-empty').stdout.startswith('+-')
