# SPDX-License-Identifier: Apache-2.0
"""Tables on a terminal of 80 columns."""

import argparse
import io
import re

import pytest
from cliff.formatters.table import TableFormatter

from placementclient.commands.framework.table_width import FittedFormatter
from tests.unit.dialogue import fault, get

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


def test_columns_without_room_are_hidden_and_named(listed):
    result = listed()
    assert result.stdout.splitlines()[1:4:2] == [
        '| uuid                                 | name     |',
        f'| {UUID} | compute1 |',
    ]
    assert result.stderr == (
        'Hidden columns: generation, root_provider_uuid, parent_provider_uuid (--wide shows them)\n'
    )


def test_wide_prints_all_columns_without_line_breaks(listed):
    result = listed('--wide')
    assert result.stdout.count(UUID) == 2
    assert result.stderr == ''


def test_chosen_columns_are_not_hidden(listed):
    result = listed('-c root_provider_uuid')
    assert (result.stdout.count(UUID), result.stderr) == (1, '')


def test_texts_are_wrapped_between_words(listed):
    result = listed(name='one host with a name of very many words')
    assert result.stdout.splitlines()[3:5] == [
        f'| {UUID} | one host with a name of very many |',
        '|                                      | words                             |',
    ]


def test_amounts_stay_with_their_units():
    printed = io.StringIO()
    row = 'a name of some words that has no room here', '95.1 GiB', '1,024 MiB, 2 TiB', UUID
    FittedFormatter(TableFormatter(), 80, print).emit_list(
        ('a', 'b', 'c', 'd'), [row], printed, OPTIONS
    )
    assert re.search(r'95\.1 GiB +\| 1,024 MiB, +\|', printed.getvalue())


def fitted(width, names, *rows, **options):
    """Return the lines of a table on a terminal of this width, and the sentence about them."""
    printed, warnings = io.StringIO(), list[str]()
    formatter = FittedFormatter(TableFormatter(), width, warnings.append, **options)
    formatter.emit_list(names, rows, printed, OPTIONS)
    return printed.getvalue().splitlines(), ''.join(warnings)


@pytest.mark.parametrize('column', ['message', 'reason'])
def test_sentences_about_a_fault_are_never_cut(column):
    text = 'the inventory of VGPU on compute1_pci_0000_85_00_0 is not that of the plan: ' * 4
    lines, sentence = fitted(80, ('tree', 'state', column), ('compute1', 'differs', text))
    cells = [line.split('|')[3].strip() for line in lines[3:-1]]
    assert (' '.join(cells), sentence) == (text.strip(), '')


def test_commands_in_tables_are_never_cut():
    command = f'openstack server migrate --live-migration --host compute2 {UUID}'
    names = ('wave', 'server', 'from', 'to', 'command')
    lines, sentence = fitted(80, names, (1, UUID, 'compute1', 'compute2', command))
    cells = [line.split('|')[4].strip() for line in lines[3:-1]]
    assert ' '.join(cells) == command
    assert sentence == 'Hidden columns: server (--wide shows it)'


@pytest.mark.parametrize('width', [40, 60, 80, 132])
def test_uuids_in_tables_are_never_cut(width):
    names = ('resource_provider', 'generation', 'resources', 'project_id', 'user_id')
    lines, sentence = fitted(width, names, (UUID, 3, "{'VCPU': 2, 'MEMORY_MB': 4096}", UUID, UUID))
    assert max(map(len, lines)) <= max(width, len(UUID) + 4)
    assert UUID in lines[3]
    assert sentence.startswith('Hidden columns: generation')
    assert sentence.endswith('(--wide shows them)')


@pytest.mark.parametrize('width', [52, 80])
def test_a_cell_of_many_uuids_is_cut_between_them(width):
    uuids = [f'{number}{UUID[1:]}' for number in range(5)]
    lines, sentence = fitted(width, ('name', 'consumers'), ('compute1', ', '.join(uuids)))
    cells = [line.split('|')[2].strip() for line in lines[3:-1]]
    assert ''.join(cells) == ','.join([*uuids[:3], '…'])
    assert sentence == 'Some texts are cut (--wide shows them)'


def test_ids_of_keystone_in_tables_are_never_cut():
    lines, _ = fitted(80, ('subject', 'traits'), (UUID.replace('-', ''), 'HW_CPU_X86_AVX2,' * 20))
    assert UUID.replace('-', '') in lines[3]


def test_a_long_text_is_cut_and_the_table_says_so():
    lines, sentence = fitted(80, ('uuid', 'traits'), (UUID, 'HW_CPU_X86_AVX2,' * 20))
    assert len(lines) == 4 + 3
    assert lines[-2].rstrip(' |').endswith('…')
    assert max(map(len, lines)) <= 80
    assert sentence == 'Some texts are cut (--wide shows them)'


SPARE = 'resource_class, percent, project'
CONSUMERS = {'spare': SPARE.split(', '), 'needed': ('used', 'host')}
OWNER = UUID.replace('-', '')
HOST = 'compute001.region1.example.org'
TRAIT = 'CUSTOM_NVIDIA_A40_WITH_A_NAME_OF_46_CHARACTERS'


def usage(name, **others):
    """Return the cells of a row of ``usage list``."""
    cells = {'subject': UUID, 'name': name, 'resource_class': 'MEMORY_MB', 'used': '560 GiB'}
    return cells | {'percent': 20.0, **others}


@pytest.mark.parametrize(
    ('cells', 'options', 'hidden'),
    [
        # Empty columns first, then those that repeat what the command has.
        (
            {'object': f'consumer {UUID}', 'change': 'allocations', 'before': '',
             'after': 'compute2 (VCPU 2, DISK_GB 40)', 'state': 'done', 'reason': ''},
            {},
            'before, reason',
        ),
        (
            {'wave': 1, 'server': UUID, 'from': 'compute1', 'to': 'compute2',
             'allocations': 'MEMORY_MB 8 GiB, VCPU 4', 'command': f'migrate --live {UUID}'},
            {},
            'server, allocations',
        ),
        (
            {'consumer': UUID, 'resources': 'VCPU=4, MEMORY_MB=8192, DISK_GB=80, VGPU=1, PCPU=4',
             'consumer_generation': 1},
            {},
            'consumer_generation',
        ),
        # A column on the left is worth more than one on the right.
        (
            {'tree': HOST, 'resource_class': 'MEMORY_MB', 'capacity': '1,023.5 GiB',
             'used': '1,023.5 GiB', 'free': '1,023.5 GiB', 'largest_fit': '1,023.5 GiB'},
            {},
            'used, largest_fit',
        ),
        # A subject with a name goes before its percentage.
        (usage('compute1', consumers=8), {}, 'subject'),
        (usage('', consumers=8), {}, 'name, consumers'),
        # A command says which columns go first, and which stay.
        (usage('web1', host=HOST, project=OWNER), CONSUMERS, f'subject, {SPARE}'),
        (usage('', host='compute1.example', project=OWNER), CONSUMERS, f'name, {SPARE}'),
        # A name is whole before a number is shown, and before the UUID of its provider.
        ({'name': TRAIT, 'providers': 8, 'hosts': 1, 'only_on': 'host1.example'}, {}, 'providers'),
        (
            {'resource_provider': UUID, 'name': 'compute1', 'generation': 3,
             'resources': {'VCPU': 2, 'MEMORY_MB': 4096}, 'project_id': OWNER},
            {},
            'generation, project_id',
        ),
        (
            {'resource_provider': UUID, 'name': HOST, 'generation': 3,
             'resources': {'VCPU': 2, 'MEMORY_MB': 4096}, 'project_id': OWNER},
            {},
            'resource_provider, generation, project_id',
        ),
    ],
)  # fmt: skip
def test_columns_that_people_act_on_are_hidden_last_and_stay_whole(cells, options, hidden):
    lines, sentence = fitted(80, tuple(cells), tuple(cells.values()), **options)
    them = 'them' if ',' in hidden else 'it'
    assert sentence == f'Hidden columns: {hidden} (--wide shows {them})'
    assert lines[1].replace('|', ' ').split() == [c for c in cells if c not in hidden.split(', ')]
    assert max(map(len, lines)) <= 80
    assert all(cells[name] in lines[3] for name in ('name', 'host') if name in cells)


def test_the_heading_of_a_needed_column_is_cut_before_a_column_is_hidden():
    cells = ('compute01.new', 'MEMORY_MB', 'largest_fit', '1,951 GiB', '22.3 TiB', '+951.1 GiB')
    names = ('tree', 'resource_class', 'amount', 'before', 'after', 'difference')
    lines, sentence = fitted(80, names, cells, spare=names[-1:], needed=names[1:5])
    assert (len(lines[0]), sentence) == (80, '')
    assert lines[1].replace('|', ' ').split() == ['tree', 'resource_…', *names[2:]]


def test_chosen_columns_are_wrapped_and_not_hidden():
    lines, sentence = fitted(60, ('generation', 'text'), (1, 'word ' * 30), can_hide=False)
    assert max(map(len, lines)) <= 60
    assert 'generation' in lines[1]
    assert sentence == 'Some texts are cut (--wide shows them)'


@pytest.mark.parametrize('value', ['word ' * 30, ['word'] * 30, {'x': 'word ' * 30}])
def test_the_fields_of_one_object_are_wrapped_and_not_cut(value):
    printed = io.StringIO()
    fields = FittedFormatter(TableFormatter(), 40, print)
    fields.emit_one(('uuid', 'text'), (UUID, value), printed, OPTIONS)
    assert printed.getvalue().count('word') == 30
    assert max(map(len, printed.getvalue().splitlines()[3:])) <= 48


def test_tables_in_a_batch_fit_the_terminal(placement, service, tmp_path, monkeypatch):
    service.answer(get('/resource_providers', {'resource_providers': [PROVIDER | {'name': 'c'}]}))
    (tmp_path / 'commands').write_text('resource provider list\n')
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    result = placement(f'batch {tmp_path}/commands', version='1.14')
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert 'Hidden columns: generation' in result.stderr


def test_a_batch_of_json_lines_hides_no_columns(placement, service, tmp_path, monkeypatch):
    service.answer(get('/resource_providers', {'resource_providers': [PROVIDER | {'name': 'c'}]}))
    (tmp_path / 'commands').write_text('resource provider list\n')
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    result = placement(f'batch {tmp_path}/commands --json-lines', version='1.14')
    assert 'root_provider_uuid' in result.stdout


def test_amounts_of_an_allocation_are_wrapped_beside_a_whole_uuid(placement, service, monkeypatch):
    resources = {'DISK_GB': 80, 'MEMORY_MB': 8192, 'VCPU': 4, 'VGPU': 1}
    body = {'allocations': {UUID: {'generation': 1, 'resources': resources}}}
    service.answer(
        get(f'/allocations/{UUID}', body),
        get(f'/resource_providers/{UUID}', PROVIDER | {'name': 'compute1'}),
    )
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    shown = placement(f'resource provider allocation show {UUID}', version='1.10').stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert UUID in shown
    assert "'VGPU': 1" in shown
    assert 'compute1' in shown


@pytest.mark.parametrize('option', ['-f json', '-f value', '-c resource_provider'])
def test_the_names_of_providers_are_read_for_people_alone(placement, service, monkeypatch, option):
    body = {'allocations': {UUID: {'generation': 1, 'resources': {'VCPU': 4}}}}
    service.answer(get(f'/allocations/{UUID}', body))
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    shown = placement(f'resource provider allocation show {UUID} {option}', version='1.10')
    assert (UUID in shown.stdout, shown.stderr) == (True, '')


def test_names_of_providers_that_cannot_be_read_are_left_out(placement, service, monkeypatch):
    body = {'allocations': {UUID: {'generation': 1, 'resources': {'VCPU': 4}}}}
    service.answer(
        get(f'/allocations/{UUID}', body),
        get(f'/resource_providers/{UUID}', fault(403, 'No')),
    )
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    shown = placement(f'resource provider allocation show {UUID}', version='1.10')
    assert (shown.status, UUID in shown.stdout) == (0, True)
