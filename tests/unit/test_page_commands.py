# SPDX-License-Identifier: Apache-2.0
"""The commands that the pages name exist, and take the options that are typed there."""

import re
import shlex

import pytest

from tests.unit.commands.test_registry import POINTS, name, parser_of
from tests.unit.test_prose import PAGES, ROOT

COMMANDS = {name(point): point for point in POINTS}
#: The first words of all commands.
FIRST = '|'.join(sorted({' '.join(command.split()[:2]) for command in COMMANDS}, key=len)[::-1])
#: A line of a block: a command of ours, after options for logging in.
LINE = re.compile(rf'^ +(?:\$ )?(?:placement|openstack) (?:--os-\S+ \S+ )*((?:{FIRST}) .*)$', re.M)
LITERAL = re.compile(rf'``(?:placement |openstack )?((?:{FIRST})\b[^`]*)``')
#: A command that the reader types without a cloud.
PROMPTED = re.compile(r'^ +\$ (?:placement|openstack) ', re.M)
#: It says to which Placement the commands go.
LOCAL_PLACEMENT = re.compile(
    r'^ +\$ (?:\. doc/source/examples/begin\.sh|export OS_AUTH_TYPE=placement_direct\b.*)$', re.M
)
#: What is left to the reader in a text: places and alternatives.
LEFT_OPEN = re.compile(r'…|\|')


def command_of(words):
    """Return the longest command that the words begin with."""
    beginnings = (' '.join(words[:count]) for count in range(len(words), 0, -1))
    return next((beginning for beginning in beginnings if beginning in COMMANDS), None)


def typed(text):
    """Return the commands that a page shows in blocks, split as a shell splits them."""
    joined = re.sub(r' *\\\n +', ' ', text)
    for line in LINE.findall(joined):
        words = shlex.split(line, comments=True)
        ends = [n for n, word in enumerate(words) if re.match(r'[|<>&;]|\d?>', word)]
        yield words[: ends[0]] if ends else words


@pytest.mark.parametrize('path', PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_blocks_of_pages_parse(path, capsys):
    for words in typed(path.read_text()):
        command = command_of(words)
        assert command, words
        rest = [word for word in words[len(command.split()) :] if not word.endswith(';')]
        if '--os-placement-api-version' in rest or any(LEFT_OPEN.search(word) for word in rest):
            continue
        try:
            parser_of(COMMANDS[command]).parse_args(rest)
        except SystemExit:
            pytest.fail(f'{" ".join(words)}\n{capsys.readouterr().err}')


@pytest.mark.parametrize('path', PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_literals_name_commands_and_options(path):
    for literal in LITERAL.findall(path.read_text()):
        words = literal.split()
        bare = ' '.join(words[: next((n for n, w in enumerate(words) if w[0] in '-…|'), None)])
        command = command_of(words)
        if command is None:
            assert any(f'{name} '.startswith(f'{bare} ') for name in COMMANDS), literal
            continue
        options = parser_of(COMMANDS[command])._option_string_actions
        for option in re.findall(r'(?<!\S)--?[a-z][a-z_-]*', ' '.join(words)):
            assert option in options or option.startswith('--os-'), literal


@pytest.mark.parametrize('path', PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_with_a_prompt_reach_a_placement_of_their_own(path):
    before, *typed = PROMPTED.split(path.read_text(), maxsplit=1)
    if path.parent.name != 'include':
        assert not typed or LOCAL_PLACEMENT.search(before), 'begin with examples/begin.sh'


def test_the_pages_have_commands():
    assert sum(len(list(typed(path.read_text()))) for path in PAGES) > 100
