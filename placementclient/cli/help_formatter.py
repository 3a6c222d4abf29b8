# SPDX-License-Identifier: Apache-2.0
"""The layout of help: lines that fit the terminal, and the options of all commands at the end."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping

from placementclient.basis.wording import wrap_words

#: The heading of the options for the output, of which cliff has groups for each format.
OUTPUT = 'output'
_HEADINGS = {'positional arguments': 'arguments'}
#: The help of the options that cliff adds to every command, in a sentence for people.
_OUTPUT_HELP = {
    '--format': 'The format of the output (default: %(default)s).',
    '--column': 'Print only this column (may be repeated).',
    '--sort-column': 'Sort by this column (may be repeated).',
    '--sort-ascending': 'Sort with the smallest first (default).',
    '--sort-descending': 'Sort with the largest first.',
    '--quote': 'The cells of csv that are quoted (default: %(default)s).',
    '--noindent': 'Print JSON in one line.',
    '--prefix': 'A prefix for the names of variables of -f shell.',
    '--max-width': 'Wrap a table at this number of characters; 0: do not wrap.',
    '--fit-width': 'Wrap a table at the width of the terminal.',
    '--print-empty': 'Print the heading of a table without rows.',
}
#: The longest line, in characters, also on a wider terminal.
_WIDEST = 100
#: The column in which the help of an option begins.
_COLUMN = 24
#: The parts of a command that stay on one line: quoted texts, and options with their values.
_WHOLE = re.compile(r"""'[^']*'|"[^"]*"|(?<= )--?[a-z][\w-]* (?=[^-\\'"])""")
#: The beginning of an item of a list, or of the exit statuses.
_ITEM = re.compile(r' +(?:\*|\d+) +')


class HelpFormatter(argparse.HelpFormatter):
    """Formats the help of a parser; the options for the output are one group, the last one."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._name, self._width = prog, get_line_width()
        self._parts: list[str] = []
        self._groups: dict[str, list[argparse.Action | str]] = {}
        self._heading: str | None = None

    def add_usage(self, usage: str | None, actions: Iterable[argparse.Action], *_: object) -> None:
        """Add one sentence of usage: the arguments, and the options that are required."""
        words = usage % {'prog': self._name} if usage else summarize_usage(self._name, actions)
        self._parts += [*wrap_words(f'usage: {words}', self._width, ' ' * 7), '']

    def add_text(self, text: str | None) -> None:
        """Add a paragraph of the description or the epilog, or the text of a group."""
        if not text or text == argparse.SUPPRESS:
            return
        if self._heading is None:
            self._close_groups()
            self._parts += [*wrap_help_text(text, self._width), '']
        elif self._heading != OUTPUT:
            self._groups[self._heading].append(text)

    def start_section(self, heading: str | None) -> None:
        """Begin a group of options; all groups of cliff for the output become one group."""
        name = heading or ''
        self._heading = OUTPUT if 'formatter' in name.lower() else _HEADINGS.get(name, name)
        self._groups.setdefault(self._heading, [])

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        """Add options to the group that :meth:`start_section` has begun."""
        self._groups[self._heading or ''] += actions

    def end_section(self) -> None:
        """End the group of options: text is a paragraph again."""
        self._heading = None

    def format_help(self) -> str:
        self._close_groups()
        return '\n'.join(self._parts).rstrip('\n') + '\n'

    def _close_groups(self) -> None:
        """Format the groups since the last text, and add their lines to the help."""
        for heading in sorted(self._groups, key=OUTPUT.__eq__):
            shown = [part for part in self._groups[heading] if _is_shown_in_help(part)]
            if shown:
                texts = _OUTPUT_HELP if heading == OUTPUT else {}
                lines = (
                    line for part in shown for line in self._format_option_or_text(part, texts)
                )
                self._parts += [f'{heading}:', *lines, '']
        self._groups = {}

    def _format_option_or_text(
        self, part: argparse.Action | str, texts: Mapping[str, str]
    ) -> Iterator[str]:
        """Yield the lines of an option, or of the text of a group.

        :param texts: the help of options by their flags, in place of their own
        """
        if isinstance(part, str):
            yield from (*(f'  {line}' for line in wrap_words(part, self._width - 2)), '')
            return
        head = f'  {_format_invocation(part)}'
        name = part.option_strings[-1] if part.option_strings else ''
        help = (texts.get(name) or part.help or '') % {**vars(part), 'prog': self._name}
        body = wrap_words(help, self._width - _COLUMN)
        if len(head) > _COLUMN - 2:
            yield head
        elif body:
            yield f'{head:<{_COLUMN}}{body.pop(0)}'
        yield from (f'{"":<{_COLUMN}}{line}' for line in body)


def get_line_width() -> int:
    """Return how long a line of help may be on this terminal, in characters."""
    return min(_WIDEST, shutil.get_terminal_size().columns)


def summarize_usage(program: str, actions: Iterable[argparse.Action]) -> str:
    """Return the usage of a command: ``placement trait show <name> [options]``."""
    listed = list(actions)
    arguments = [_format_argument(action) for action in listed if not action.option_strings]
    required = [
        f'{action.option_strings[-1]} {_format_placeholder(action)}'
        for action in listed
        if action.option_strings and action.required
    ]
    return ' '.join([program, *arguments, *required, '[options]'])


def wrap_help_text(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text: paragraphs and items are wrapped, long commands get a ``\\``."""
    lines: list[str] = []
    for line in re.sub(r'\n{3,}', '\n\n', text.strip('\n')).split('\n'):
        if lines and _is_continuation(lines[-1], line):
            lines[-1] += f' {line.strip()}'
        else:
            lines.append(line)
    for line in lines:
        item = _ITEM.match(line)
        if item or not line.startswith(' '):
            yield from wrap_words(line, width, ' ' * (item.end() if item else 0)) or ['']
        elif len(line) <= width:
            yield line
        else:
            whole = _WHOLE.sub(lambda part: part[0].replace(' ', '\0'), line)
            *broken, last = (
                part.replace('\0', ' ') for part in wrap_words(whole, width - 2, '    ')
            )
            yield from (f'{part} \\' for part in broken)
            yield last


def _is_continuation(before: str, line: str) -> bool:
    """Return whether a line continues the paragraph or the item of the line before."""
    if not before or not line or _ITEM.match(line):
        return False
    is_item = _ITEM.match(before) is not None
    return line.startswith('    ') if is_item else not (line + before).startswith(' ')


def _is_shown_in_help(part: argparse.Action | str) -> bool:
    return isinstance(part, str) or part.help != argparse.SUPPRESS


def _format_invocation(action: argparse.Action) -> str:
    """Return the spellings of an option with the placeholder of its value."""
    value = '' if action.nargs == 0 else _format_placeholder(action)
    return ' '.join(filter(None, (', '.join(action.option_strings), value)))


def _format_argument(action: argparse.Action) -> str:
    """Return the placeholder of an argument, in brackets if it may be left out."""
    is_needed = action.required and action.nargs not in ('?', '*')
    return _format_placeholder(action) if is_needed else f'[{_format_placeholder(action)}]'


def _format_placeholder(action: argparse.Action) -> str:
    """Return the placeholder of a value, such as ``<name>`` or ``{json,yaml}``."""
    choices = f'{{{",".join(map(str, action.choices))}}}' if action.choices else action.dest.upper()
    value = str(action.metavar or choices)
    return f'{value} ...' if action.nargs in ('+', '*') else value
