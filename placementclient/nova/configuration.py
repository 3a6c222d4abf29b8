"""The options of a ``nova.conf``, as oslo.config reads them. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from placementclient.client import errors

#: oslo.config ends a line at fewer characters than ``str.splitlines``.
_LINE_END = re.compile(r'\r\n?|\n')
_OPTION = re.compile(r'([^:=]+?)\s*[:=]\s*(.*)', re.DOTALL)


class ConfigOption(NamedTuple):
    """An option with all lines of its value, and the number of the first one, from 1."""

    section: str
    name: str
    value: str
    line: int


def options(text: str, path: str) -> Iterator[ConfigOption]:
    """Return the options of a file in order.

    :raises errors.BadFile: for a line that is neither an option nor a section
    """
    section, option = 'DEFAULT', None
    values: list[str] = []
    for number, line in enumerate((*_LINE_END.split(text), ''), 1):
        content = line.strip()
        if option and content and line[0] in ' \t':
            values.append(content)
            continue
        if option:
            yield option._replace(value=' '.join(values))
            option = None
        if content.startswith('['):
            section = content.strip('[] ')
        elif content and content[0] not in '#;':
            match = _OPTION.fullmatch(content)
            if match is None:
                raise errors.BadFile(path, 'neither an option nor a section', number)
            values = [_unquoted(match[2])]
            option = ConfigOption(section, match[1], '', number)


def _unquoted(value: str) -> str:
    is_quoted = value.startswith(('"', "'")) and value[0] == value[-1]
    return value[1:-1] if is_quoted else value
