# SPDX-License-Identifier: Apache-2.0
"""Many commands in one process: what each prints, where it ends, and how."""

import io
import json
from dataclasses import dataclass, field
from threading import Barrier, current_thread, main_thread

import pytest

from placementclient.basis.errors import ExitStatus
from placementclient.basis.printable import escape_text
from placementclient.client.http import Client
from placementclient.commands.program.batch import STATUSES_BY_RANK, _rank_status
from placementclient.commands.program.command_lines import LONGEST_LINE
from tests.programs import Result
from tests.unit.commands.arguments import ARGUMENTS, typed
from tests.unit.commands.clouds import changed, save, small
from tests.unit.commands.test_hostile_arguments import everything
from tests.unit.dialogue import NOTHING, Exchange, Reply, fault, get, unacceptable, version_document

CLASSES = get('/resource_classes', {'resource_classes': [{'name': 'VCPU'}]})
NONE = get('/resource_classes', {'resource_classes': []})
GONE = Exchange('GET /traits/CUSTOM_X', fault(404, 'No such trait.'))
LIST = 'resource class list -f value'
SHOW = 'trait show CUSTOM_X'
CREATE = 'resource class create CUSTOM_A'
DELETE = 'resource class delete CUSTOM_B'
#: What str.splitlines() and universal newlines end a line at, and others.
CONTROLS = [
    *((chr(number), rf'\x{number:02x}') for number in (0, 0x0B, 0x0C, 0x1B, *range(0x1C, 0x20))),
    ('\x7f', r'\x7f'),
    ('\x85', r'\x85'),
    ('\u2028', r'\u2028'),
    ('\u2029', r'\u2029'),
]
SENTENCE = 'No such trait. (HTTP 404) [req-1]\n'


@pytest.fixture
def batch(placement, tmp_path):
    """Runs lines: ``batch([LIST, SHOW], '--keep-going')``."""

    def run(lines, *options, version=None):
        file = tmp_path / 'commands'
        file.write_text('\n'.join(lines))
        return placement('batch', str(file), *options, version=version)

    return run


ENDS = '0 done, 1 failed: line 1 (exit 1)\nStopped at line 1: with --keep-going the batch goes on\n'
DONE = f'exit status 0: {LIST}'
UNKNOWN = "'nonsense' is not a command. See placement --help\n"


@pytest.mark.parametrize(
    ('lines', 'replies', 'result'),
    [
        (
            ['# all', '', LIST, f'  {LIST} -c name # again'],
            [CLASSES, CLASSES],
            (0, f'# line 3, {DONE}\nVCPU\n# line 4, {DONE} -c name # again\nVCPU\n', '2 done\n'),
        ),
        *(
            ([f'{program} {LIST}'], [CLASSES],
             (0, f'# line 1, exit status 0: {program} {LIST}\nVCPU\n', '1 done\n'))
            for program in ('placement', 'openstack')
        ),
        ([SHOW, LIST], [GONE], (1, f'# line 1, exit status 1: {SHOW}\n', f'{SENTENCE}{ENDS}')),
        (
            [SHOW, 'nonsense', LIST, '--keep-going'],
            [GONE, CLASSES],
            (2, f'# line 1, exit status 1: {SHOW}\n# line 2, exit status 2: nonsense\n'
             f'# line 3, {DONE}\nVCPU\n',
             f'{SENTENCE}{UNKNOWN}1 done, 2 failed: line 1, line 2 (exit 2)\n'),
        ),
    ],
)  # fmt: skip
def test_lines_are_printed_with_number_status_and_output(batch, service, lines, replies, result):
    service.answer(*replies)
    options = [line for line in lines if line.startswith('--')]
    assert batch([line for line in lines if line not in options], *options) == Result(*result)
    assert len(service.requests) == len(replies)


def test_the_worst_exit_status_is_that_of_the_batch(batch, service, tmp_path):
    service.answer(GONE)
    before, after = save(tmp_path, 'a.json', small()), save(tmp_path, 'b.json', changed())
    diff = f'resource provider snapshot diff {before} {after}'
    result = batch([SHOW, diff], '--keep-going')
    assert result.status == 1
    assert result.stderr.endswith('0 done, 2 failed: line 1, line 2 (exit 1)\n')


def test_json_lines_print_an_object_for_each_line(batch, service):
    service.answer(CLASSES, GONE)
    result = batch([LIST, '', SHOW], '--json-lines')
    assert result.status == 1
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {'line': 1, 'command': LIST, 'status': 0, 'stdout': 'VCPU\n', 'stderr': ''},
        {'line': 3, 'command': SHOW, 'status': 1, 'stdout': '', 'stderr': SENTENCE},
    ]
    assert result.stderr.startswith('1 done, 1 failed: line 3 (exit 1)\n')


@pytest.mark.parametrize(
    ('line', 'status', 'stdout', 'stderr'),
    [
        ('resource class list --nonsense', 2, '', 'unrecognized arguments: --nonsense'),
        ('resource class show', 2, '', 'the following arguments are required: <name>'),
        ('resource class show "VCPU', 2, '', 'No closing quotation'),
        ('resource class show \\', 2, '', 'No escaped character'),
        ('resource clsas list', 2, '', 'Did you mean "resource class list"?'),
        ('resource class show --help', 0, 'usage: placement resource class show', ''),
        ('help resource class show', 0, 'usage: placement resource class show', ''),
        ('--help', 0, 'usage: placement [options]', ''),
        ('--version', 0, '.', ''),
        ('batch -', 2, '', 'A batch cannot run a batch'),
        ('--debug batch other', 2, '', 'A batch cannot run a batch'),
        ('--os-cloud other resource class list', 2, '', 'unrecognized arguments: --os-cloud'),
        ('resource class list --os-cloud other', 2, '', 'unrecognized arguments: --os-cloud'),
        ('--os-placement-api-version 7 resource class list', 1, '', '7 is not known'),
        ('complete bash', 0, 'complete -F _placement placement', ''),
    ],
)
def test_a_batch_goes_on_after_any_line(batch, service, line, status, stdout, stderr):
    service.answer(CLASSES)
    result = batch([line, LIST], '--json-lines', '--keep-going')
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert (first['status'], second['status'], result.status) == (status, 0, status)
    assert stdout in first['stdout']
    assert bool(first['stdout']) == bool(stdout)
    assert stderr in first['stderr']
    assert second['stdout'] == 'VCPU\n'


def test_quotes_are_those_of_a_shell(batch, service):
    service.answer(get('/resource_providers?name=a b#"c"', {'resource_providers': []}))
    assert batch(['resource provider list --name \'a b#"c"\' -f value']).status == 0
    assert [request.line for request in service.requests] == [
        'GET /resource_providers?name=a b#"c"'
    ]


@pytest.mark.parametrize('source', ['file', 'stdin'])
@pytest.mark.parametrize(
    ('line', 'control', 'column'),
    [
        (f'{CREATE} # for x\r{DELETE}', r'\r', 39),
        (f"resource provider create 'x\r{DELETE}\r'", r'\r', 28),
        *((f'{CREATE} {character} {DELETE}', name, 32) for character, name in CONTROLS),
        (f'# a comment\r{DELETE}', r'\r', 12),
    ],
)
def test_a_control_character_is_an_error_and_ends_no_line(
    placement, service, tmp_path, monkeypatch, line, control, column, source
):
    service.answer(CLASSES)
    content = f'{line}\n{LIST}\n'.encode()
    path = str(tmp_path / 'commands') if source == 'file' else '-'
    (tmp_path / 'commands').write_bytes(content)
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(content)))
    result = placement('batch', path, '--keep-going', '--json-lines')
    refused, listed = (json.loads(line) for line in result.stdout.splitlines())
    assert (refused['line'], refused['status'], refused['command']) == (1, 2, line)
    assert refused['stderr'] == f'{path}:1: control character {control} at column {column}\n'
    assert (listed['line'], listed['status']) == (2, 0)
    assert [request.line for request in service.requests] == ['GET /resource_classes']


@pytest.mark.parametrize('source', ['file', 'stdin'])
def test_a_carriage_return_before_the_line_feed_belongs_to_the_end(
    placement, service, tmp_path, monkeypatch, source
):
    service.answer(CLASSES, CLASSES)
    content = f'\ufeff{LIST}\r\n\r\n{LIST}\r\r\n\t{LIST}\t\r\n'.encode()
    (tmp_path / 'commands').write_bytes(content)
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(content)))
    path = str(tmp_path / 'commands') if source == 'file' else '-'
    result = placement('batch', path, '--keep-going', '--json-lines')
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(result['line'], result['status']) for result in records] == [(1, 0), (3, 2), (4, 0)]


def test_a_number_sign_in_a_word_begins_no_comment(batch, service):
    service.answer(NOTHING, NOTHING)
    assert batch(["trait show CUSTOM#1# # don't", 'trait show "#x"#']).status == 0
    assert [request.line for request in service.requests] == [
        'GET /traits/CUSTOM%231%23',
        'GET /traits/%23x%23',
    ]


def test_a_line_may_be_as_long_as_an_argument_of_a_shell(batch, service):
    service.answer(CLASSES, CLASSES)
    longest = LIST.ljust(LONGEST_LINE)
    result = batch([f'{longest}\r', f'{longest} ', 'x' * (40 << 20), LIST], '--keep-going')
    assert result.status == 2
    assert [line for line in result.stderr.splitlines() if ' KiB' in line] == [
        f'{result.stderr.partition(":")[0]}:{number}: the line is longer than 128 KiB'
        for number in (2, 3)
    ]
    assert f'# line 3, exit status 2: {"x" * 60}…\n' in result.stdout
    assert result.stdout.endswith(f'# line 4, exit status 0: {LIST}\nVCPU\n')


FORGED = 'x\n# line 2, exit status 0: trait list\r# line 3, exit status 0: trait list'


def test_output_of_a_command_never_looks_like_a_head_line(batch, service):
    service.answer(get('/resource_classes', {'resource_classes': [{'name': FORGED}]}))
    assert batch([LIST]).stdout == (
        f'# line 1, exit status 0: {LIST}\n'
        'x\n # line 2, exit status 0: trait list\r # line 3, exit status 0: trait list\n'
    )


def test_a_line_may_have_a_version_of_its_own(batch, service):
    service.answer(CLASSES, CLASSES, CLASSES)
    option = '--os-placement-api-version'
    lines = [f'{option} 1.5 {LIST}', LIST, f'{LIST} {option} 1.9']
    assert batch(lines, version='1.7').status == 0
    assert [request.version for request in service.requests] == ['1.5', '1.7', '1.9']


def test_the_version_is_negotiated_once(batch, service):
    old = get(CLASSES.line.removeprefix('GET '), CLASSES.reply)
    service.answer(unacceptable(CLASSES), version_document('1.30'), old, old)
    assert batch([LIST, LIST]).status == 0
    assert [request.version for request in service.requests] == ['1.39', None, '1.30', '1.30']


def test_a_line_does_not_change_the_version_of_the_next(batch, service):
    refused = Exchange('GET /resource_providers', fault(406, 'Unacceptable'))
    service.answer(refused, version_document('1.10'), CLASSES)
    result = batch(['resource provider list --in-tree ' + 'a' * 8, LIST], '--keep-going')
    assert result.status == 1
    assert 'VCPU\n' in result.stdout


def test_commands_come_from_stdin_but_no_command_reads_there(placement, service, monkeypatch):
    service.answer(CLASSES, CLASSES)
    lines = f'{LIST}\nresource provider reshape submit --file -\n{LIST}\n'
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(lines.encode())))
    result = placement('batch', '--keep-going')
    assert result.stdout.count('VCPU\n') == 2
    assert '-: is empty' in result.stderr
    assert [request.body for request in service.requests] == [None] * len(service.requests)


@pytest.mark.parametrize('path', ['nowhere', '.', 'a\0b'])
def test_a_file_that_cannot_be_read_is_told(placement, path):
    result = placement('batch', path)
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 1)
    assert result.stderr.startswith(f'{escape_text(path)}: ')


def test_a_line_that_is_not_utf_8_is_refused(placement, service, tmp_path):
    file = tmp_path / 'commands'
    file.write_bytes(b'resource provider create caf\xe9\n')
    assert placement('batch', str(file)) == Result(
        2,
        '# line 1, exit status 2: resource provider create caf\\xe9\n',
        f'{file}:1: the line is not UTF-8\n'
        '0 done, 1 failed: line 1 (exit 2)\n'
        'Stopped at line 1: with --keep-going the batch goes on\n',
    )
    assert service.requests == []


def test_debug_of_a_line_ends_with_the_line(batch, service):
    service.answer(GONE, GONE)
    result = batch([f'--debug {SHOW}', SHOW], '--json-lines', '--keep-going')
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert 'Traceback' in first['stderr']
    assert second['stderr'] == SENTENCE


@dataclass
class Beside:
    """What is sent, and which of it not by the batch itself."""

    lines: list[str] = field(default_factory=list)
    elsewhere: list[bool] = field(default_factory=list)
    together: Barrier = field(default_factory=lambda: Barrier(2, timeout=30))

    def answers(self, monkeypatch):
        """Answer reads of classes from the second on two at a time, or never."""
        send = Client.send

        def both(client, endpoint, *args, **settings):
            self.lines.append(str(endpoint))
            self.elsewhere.append(current_thread() is not main_thread())
            if len(self.lines) > 1 and endpoint.is_read:
                self.together.wait()
            return send(client, endpoint, *args, **settings)

        monkeypatch.setattr(Client, 'send', both)


@pytest.fixture
def beside(monkeypatch):
    beside = Beside()
    beside.answers(monkeypatch)
    return beside


CREATED = Exchange('POST /resource_classes', Reply(201))


def test_lines_that_read_run_together_and_print_in_order(batch, service, beside):
    service.answer(*[CLASSES] * 5)
    lines = [f'{LIST} # {number}' for number in range(5)]
    result = batch(lines, '--json-lines')
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record['command'], record['stdout']) for record in records] == [
        (line, 'VCPU\n') for line in lines
    ]


def test_a_line_that_writes_runs_alone(batch, service, beside):
    service.answer(CLASSES, CLASSES, CLASSES, CREATED, CLASSES, CLASSES)
    assert batch([LIST, LIST, LIST, CREATE, LIST, LIST]).status == 0
    reads = ['GET /resource_classes'] * 2
    assert beside.lines == [reads[0], *reads, 'POST /resource_classes', *reads]


@pytest.mark.parametrize('option', ['--workers 1', '--debug', '-v', '--timing'])
def test_lines_run_one_after_the_other_on_demand(batch, service, beside, option):
    beside.together = Barrier(1)
    service.answer(*[CLASSES] * 3)
    assert batch([LIST] * 3, *option.split()).status == 0
    assert beside.elsewhere == [False] * 3


@pytest.mark.parametrize('option', ['--debug', '-v', '-vv', '--timing', '--log-file=debug.log'])
def test_lines_with_debug_run_one_after_the_other(batch, service, beside, tmp_path, option):
    beside.together = Barrier(1)
    service.answer(*[CLASSES] * 3)
    option = option.replace('debug.log', str(tmp_path / 'debug.log'))
    result = batch([LIST, f'{LIST} {option}', LIST], '--json-lines')
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record['status'], record['stdout']) for record in records] == [(0, 'VCPU\n')] * 3
    assert beside.elsewhere == [False, False, True]
    assert records[2]['stderr'] == ''


def test_a_failure_beside_parallel_lines_ends_the_batch_at_its_line(batch, service):
    service.answer(CLASSES, *[GONE] * 4)
    result = batch([LIST, SHOW, SHOW, SHOW])
    assert result == Result(
        1,
        f'# line 1, exit status 0: {LIST}\nVCPU\n# line 2, exit status 1: {SHOW}\n',
        f'{SENTENCE}1 done, 1 failed: line 2 (exit 1)\n'
        'Stopped at line 2: with --keep-going the batch goes on\n',
    )


@pytest.mark.parametrize(
    'command', [name for name, arguments in ARGUMENTS.items() if arguments != '--file -']
)
def test_the_command_of_an_endpoint_prints_what_it_prints_by_itself(
    placement, batch, service, command
):
    service.always(everything('compute1') | version_document('1.39').reply.body)
    alone = placement(typed(command))
    result = json.loads(batch([typed(command)], '--json-lines').stdout)
    assert (result['status'], result['stdout'], result['stderr']) == (
        alone.status,
        alone.stdout,
        alone.stderr,
    )


@pytest.mark.parametrize(
    'command', ['tree list', 'tree export', 'tree graph', 'snapshot save -', 'report', 'audit']
)
def test_a_command_that_prints_a_file_prints_what_it_prints_by_itself(
    placement, batch, tmp_path, command
):
    words = f'resource provider {command} --snapshot {save(tmp_path, "cloud.json", small())}'
    alone = placement(words)
    assert alone.stdout
    result = json.loads(batch([words], '--json-lines').stdout)
    # The report has the time of day.
    assert (result['status'], len(result['stdout'])) == (alone.status, len(alone.stdout))


def test_every_exit_status_has_a_rank():
    assert set(STATUSES_BY_RANK) == set(ExitStatus)
    assert sorted([130, 1, 0, 3, 2, 6, 4, 5], key=_rank_status) == [0, 3, 5, 4, 6, 1, 2, 130]


def test_a_batch_prints_no_control_characters_on_a_terminal(batch, service, monkeypatch):
    service.answer(*[get('/resource_classes', {'resource_classes': [{'name': 'a\x1b[1m'}]})] * 2)
    assert 'a\x1b[1m\n' in batch([LIST]).stdout
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    assert 'a\\x1b[1m\n' in batch([LIST]).stdout
