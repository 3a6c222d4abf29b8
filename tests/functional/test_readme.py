# SPDX-License-Identifier: Apache-2.0
"""The README shows what is true, and everything in it works as it is typed."""

import os
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.functional import guide
from tests.functional.conftest import program

README = (Path(__file__).parents[2] / 'README.rst').read_text()
DEMO = ('resource', 'provider', 'reshape', 'demo')
ROW = re.compile(r'^`(.+?) <doc/source/([a-z-]+)\.rst>`__ +``(.+?)``$', re.MULTILINE)
#: How the commands end that find something to do, or that it cannot be done; the others end with 0.
STATUSES = {
    'allocation candidate explain': 4,
    'resource provider audit --s': 3,
    'resource provider drain': 5,
    'resource provider purge': 1,
    'resource provider allocation heal': 3,
    'resource provider allocation resize': 3,
    'resource provider inventory set': 3,
    'resource provider replace': 3,
    'resource provider snapshot diff': 3,
}


@pytest.fixture
def demo_folder(tmp_path, monkeypatch, placement):
    """A reader who has gone on as the demo says."""
    monkeypatch.chdir(tmp_path)
    printed = placement(*DEMO, '--keep', 'demo').stdout
    [change, export] = re.findall(r'^(cd demo|export .*)$', printed, re.MULTILINE)
    monkeypatch.chdir(shlex.split(change)[1])
    for setting in shlex.split(export)[1:]:
        name, value = setting.split('=', 1)
        monkeypatch.setenv(name, value.replace('$PWD', os.getcwd()))
    return printed


def test_the_picture_of_the_readme_shows_the_demo(placement):
    picture = ElementTree.parse(guide.SOURCE / 'reshape.svg')
    lines = [''.join(text.itertext()) for text in picture.iter() if text.get('class') == 'line']
    printed = placement(*DEMO).stdout.splitlines()
    assert any(line.endswith('reshape demo --keep demo') for line in printed[-3:])
    assert len(lines) == 24
    assert not set(lines) - set(printed)


@pytest.mark.usefixtures('demo_folder')
def test_each_command_of_the_readme_works_in_the_cloud_that_the_demo_leaves(capsys):
    rows = ROW.findall(README)
    assert len(rows) == 20
    run = program(None, capsys)
    for _, page, command in rows:
        status = next((end for start, end in STATUSES.items() if command.startswith(start)), 0)
        result = run(*shlex.split(command))
        assert result.status == status, result
        assert ' failed ' not in result.stdout, result
        assert result.stdout or Path('report.html').exists(), command
        name = re.match('batch|(\\S+ ){2}\\S+', command)
        assert name, command
        assert name[0] in guide.page(page), f'{page}: {command}'


def test_the_program_alone_prints_the_tasks_of_the_readme(placement):
    _, *lines, _, _ = placement('').stdout.splitlines()
    for line, (task, _, command) in zip(lines, ROW.findall(README), strict=True):
        printed, _, short = line.strip().partition('  ')
        words = [word for word in short.split() if not word.isupper()]
        assert printed == task
        assert words == [word for word in command.split() if word in words]


def test_the_demo_refuses_a_folder_that_exists(tmp_path, placement):
    result = placement(*DEMO, '--keep', str(tmp_path))
    assert (result.status, result.stdout) == (1, '')
    assert str(tmp_path) in result.stderr


def test_every_link_of_the_readme_has_a_target():
    links = re.findall(r'<([^>:\s]+)>`__', README)
    assert len(links) > 20
    for link in links:
        assert (guide.SOURCE.parents[1] / link).exists(), link
