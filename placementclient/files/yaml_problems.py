# SPDX-License-Identifier: Apache-2.0
"""The messages of the YAML parser in words for people."""

import re

import yaml

_INDENTATION = 'the indentation does not fit the lines above'
_NO_COLON = "could not find expected ':'"
_COLON = 'a text with ": " in it needs quotes'
#: The meaning of the messages of PyYAML.
_MEANINGS = {
    r"'\\t'": 'a tab indents the line, and YAML takes spaces only',
    'stream': 'the file ends too early: copy the whole file again, or close what is open',
    '^expected <block end>': _INDENTATION,
    '^mapping (keys|values) are not allowed': f'{_INDENTATION}, or a line above lacks ": "',
    '^sequence entries are not allowed': 'a list begins on a line of its own',
    'another document': 'the file has several documents, divided by ---: give one',
    _NO_COLON: 'the line has no ": " behind a key',
    "expected ',' or": 'a comma or a bracket is missing',
    'cannot start any token|undefined alias|expected alphabetic|constructor for the tag': (
        'a text that begins with a special character needs quotes'
    ),
}


def describe_yaml_error(reason: yaml.MarkedYAMLError) -> tuple[str, yaml.Mark | None]:
    """Return the message and the position of a YAML error.

    The message is a sentence for people, followed by that of the parser. The position is
    that of an open quote or bracket where one is not closed, ``None`` if the parser gives none.
    """
    problem, mark = reason.problem or 'neither YAML nor JSON', reason.problem_mark
    is_open = reason.context_mark and ('stream' in problem or problem == _NO_COLON)
    message = f'{reason.context}: {problem}' if reason.context else problem
    meanings = (meaning for pattern, meaning in _MEANINGS.items() if re.search(pattern, problem))
    if meaning := next(meanings, ''):
        before = mark.buffer[: mark.pointer].rpartition('\n')[2] if mark and mark.buffer else ''
        is_text = problem.startswith('mapping values') and ': ' in before
        message = f'{_COLON if is_text else meaning} ({message})'
    return message, reason.context_mark if is_open else mark
