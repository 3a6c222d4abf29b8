# SPDX-License-Identifier: Apache-2.0
"""The options of a ``nova.conf``, as oslo.config reads them. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placementclient.basis import errors

#: oslo.config ends a line at fewer characters than ``str.splitlines``.
_LINE_END = re.compile(r'\r\n?|\n')
_OPTION = re.compile(r'([^:=]+?)\s*[:=]\s*(.*)', re.DOTALL)


class ConfigOption(NamedTuple):
    """A setting of an option, with its lines joined; ``line`` is the number of the first one."""

    section: str
    name: str
    value: str
    line: int


def find_option_settings(
    text: str, path: str, names: Sequence[tuple[str, str]]
) -> list[ConfigOption]:
    """Return all settings of one option, which a file may repeat.

    :param names: its section and name, and then its deprecated ones; as in oslo.config, settings
        under the last name come first
    """
    found: dict[tuple[str, str], list[ConfigOption]] = {name: [] for name in reversed(names)}
    for option in parse_options(text, path):
        found.get((option.section, option.name), []).append(option)
    return [option for local in found.values() for option in local]


def parse_options(text: str, path: str) -> Iterator[ConfigOption]:
    """Yield the options of a file in order, the names of sections but DEFAULT in small letters.

    :raises errors.BadFile: for a line that is neither an option nor a section, and for an option
        before the first section
    """
    section, option = '', None
    lines: list[str] = []
    for number, line in enumerate((*_LINE_END.split(text), ''), 1):
        content = line.strip()
        if option and content and line[0] in ' \t':
            lines.append(content)
            continue
        if option:
            yield option._replace(value=' '.join(lines))
            option = None
        if content.startswith('['):
            # Spaces are part of the name.
            section = content[1:-1] if content.endswith(']') else ''
            if not section:
                raise errors.BadFile(path, 'no name of a section', number)
            section = section if section == 'DEFAULT' else section.lower()
        elif content and content[0] not in '#;':
            match = _OPTION.fullmatch(content)
            if match is None:
                raise errors.BadFile(path, 'neither an option nor a section', number)
            if not section:
                raise errors.BadFile(path, 'an option before the first section', number)
            lines = [_strip_quotes(match[2])]
            option = ConfigOption(section, match[1], '', number)


def _strip_quotes(value: str) -> str:
    is_quoted = value.startswith(('"', "'")) and value[0] == value[-1]
    return value[1:-1] if is_quoted else value
