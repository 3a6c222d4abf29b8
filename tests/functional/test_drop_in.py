# SPDX-License-Identifier: Apache-2.0
"""Scripts written for osc-placement must not notice the difference.

``drop_in/*.yaml`` hold what osc-placement 4.9.1 printed for each command, on a real service of its
own for each scenario. Here the same steps run on ours. A file has

``names``
    what ``$name`` stands for in the commands
``setups``
    commands, at 1.39, from which a scenario may start
``scenarios``
    each with ``name``, ``setup``, ``microversion`` and ``steps``

and a step

``run``
    the command
``at``
    its microversion, if not the scenario's; of several with one outcome the first and the last
``status``, ``stdout``, ``stderr``
    the outcome, where it is not 0 or empty; ``…`` stands for a schema, ``<UUID>`` for any
``stderr_has``
    what to look for instead of all of ``stderr``: of a usage error, of the check of a version
``unordered``
    the server's order is arbitrary: of rows, of traits in a cell, and so the numbers of candidates
``grep``
    only these lines count: standard classes and traits come and go
``peer_bug``
    a crash or worse, which we do not repeat
``ours``
    the outcome that we want instead, as far as it is given
"""

import pathlib
import re
import shlex
import string

import pytest
import yaml

from tests.functional import clouds

DATA = pathlib.Path(__file__).with_name('drop_in')


def scenarios():
    for path in sorted(DATA.glob('*.yaml')):
        data = yaml.safe_load(path.read_text())
        for scenario in data['scenarios']:
            setup = data.get('setups', {}).get(scenario.get('setup'), [])
            yield pytest.param(
                data['names'], setup, scenario, id=f'{path.stem}: {scenario["name"]}'
            )


def words(text):
    """What is printed, without what depends on the server's order."""
    lines = (re.split(r'[\s,|"]+', line) for line in text.splitlines())
    return sorted(sorted(word for word in line if not word.isdigit()) for line in lines)


def sentences(step, version):
    """What has to be found in our stderr: ours adds the server's code and the request.

    Of a refusal by a JSON schema it has the field first.

    At ``1`` osc-placement uses 1.29, and says that it has no place for a consumer's type; ours has.
    """
    if 'stderr_has' in step:
        return step['stderr_has'] if isinstance(step['stderr_has'], list) else [step['stderr_has']]
    lines = re.sub(
        r' \(HTTP \d+\)\.?$', '', step.get('stderr', ''), flags=re.MULTILINE
    ).splitlines()
    lines = [
        line for line in lines if version != '1' or not line.startswith('--consumer-type option')
    ]
    return [part for line in lines for part in re.split('…|JSON does not validate: ', line)]


def pattern(text):
    return re.escape(text).replace('<UUID>', '[0-9a-f-]{36}')


def check(step, version, result):
    context = f'{step["run"]}: {result}'
    expected = {'status': 0, 'stdout': ''} | step
    if 'ours' in step or 'peer_bug' in step:
        expected = step.get('ours', {})
    if 'status' in expected:
        assert result.status == expected['status'], context
    if 'stdout' in expected:
        printed = ''.join(
            line for line in result.stdout.splitlines(True) if re.search(step.get('grep', ''), line)
        )
        if step.get('unordered'):
            assert words(printed) == words(expected['stdout']), context
        elif not re.fullmatch(pattern(expected['stdout']), printed):
            assert printed == expected['stdout'], context
    stderr = ' '.join(result.stderr.split())
    for sentence in sentences(expected, version):
        assert re.search(pattern(' '.join(sentence.split())), stderr), context


@pytest.mark.parametrize(('names', 'setup', 'scenario'), list(scenarios()))
def test_commands_behave_as_those_of_osc_placement(client, placement, names, setup, scenario):
    def run(command, version):
        return placement(
            *shlex.split(string.Template(command).substitute(names)), microversion=version
        )

    def build():
        for command in setup:
            result = run(command, '1.39')
            assert result.status == 0, result

    clouds.build_once(client, '; '.join(setup), build)
    for step in scenario['steps']:
        at = step.get('at', scenario['microversion'])
        for version in at if isinstance(at, list) else [at]:
            check(step, version, run(step['run'], version))
