# SPDX-License-Identifier: Apache-2.0
"""``tree list`` and what else captures trees, where an answer or a file holds none."""

import pytest

from placementclient.reading import tree_reader
from placementclient.runs import storage
from tests.documents import document
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.dialogue import ROOT, RP, Reply
from tests.unit.render.report.reports import flat, plan


def listed(uuid, name, parent, root=ROOT):
    return {
        'uuid': uuid,
        'name': name,
        'generation': 1,
        'parent_provider_uuid': parent,
        'root_provider_uuid': root,
    }


NO_TREES = {
    'a circle': [listed(ROOT, 'host', RP), listed(RP, 'gpu', ROOT)],
    'is missing': [listed(RP, 'gpu', ROOT)],
    'have the UUID': [listed(ROOT, 'host', None), listed(ROOT, 'gpu', None)],
    'have the name': [listed(ROOT, 'host', None), listed(RP, 'host', None, RP)],
    'the tree of its root': [listed(ROOT, 'host', None), listed(RP, 'gpu', None)],
}
COMMANDS = [
    'resource provider tree list',
    f'resource provider tree show {ROOT}',
    'resource provider audit',
    'resource provider snapshot save file.json',
    'resource provider tree export',
    'resource capacity show',
]


@pytest.mark.parametrize('command', COMMANDS)
@pytest.mark.parametrize('message', NO_TREES)
def test_an_answer_that_is_no_tree_is_an_error(
    placement, service, tmp_path, monkeypatch, command, message
):
    monkeypatch.chdir(tmp_path)
    service.answer(Reply(200, {'resource_providers': NO_TREES[message]}))
    result = placement(command)
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith('GET /resource_providers was answered with providers that ')
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('command', ['tree list', 'audit', 'tree export'])
def test_a_file_that_is_no_tree_is_an_error(placement, tmp_path, command):
    content = document(small())
    content['providers'][0]['parent_provider_uuid'] = content['providers'][0]['uuid']
    path = save(tmp_path, 'cloud.json', content)
    result = placement(f'resource provider {command} --snapshot {path}')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr == (
        f"{path}: damaged snapshot: the parents of 'host1' (host1) are a circle\n"
    )


@pytest.mark.parametrize(
    ('failure', 'message'),
    [(StopIteration(), 'StopIteration'), (RuntimeError('why'), 'why'), (OSError(), 'OSError')],
)
def test_an_unforeseen_error_of_a_tree_has_a_message(placement, monkeypatch, failure, message):
    def fail(*args, **settings):
        raise failure

    monkeypatch.setattr(tree_reader, 'read_trees', fail)
    result = placement('resource provider tree list')
    assert result == Result(1, '', f'{message}\n')


@pytest.mark.parametrize(
    'command',
    ['tree show gpu1 --allocations --snapshot {}/cloud.json', 'reshape show {}/plan.json'],
)
def test_lines_of_trees_and_plans_fit_a_terminal(placement, tmp_path, monkeypatch, command):
    save(tmp_path, 'cloud.json', flat())
    storage.write_plan(str(tmp_path / 'plan.json'), plan(flat()))
    command = f'resource provider {command.format(tmp_path)}'
    monkeypatch.setenv('COLUMNS', '50')
    monkeypatch.setenv('TERM', 'dumb')
    in_pipe = placement(command).stdout
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    on_terminal = placement(command).stdout
    assert max(map(len, in_pipe.splitlines())) > 50 >= max(map(len, on_terminal.splitlines()))
    assert on_terminal.split() == in_pipe.split()
