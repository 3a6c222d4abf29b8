# SPDX-License-Identifier: Apache-2.0
"""The base of all exceptions, those of files and arguments, and the exit statuses."""

from __future__ import annotations

import enum
from collections.abc import Container, Sequence
from typing import NamedTuple

from placementclient.basis.printable import cut_text

#: How many characters of a reason are shown.
_LONGEST = 600
#: What comes before the keys that a file may have, in a fault about an unknown one.
KNOWN_KEYS = ', known are '


class ExitStatus(enum.IntEnum):
    """The exit statuses of a command, on which scripts rely."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    DIFFERS = 3
    INFEASIBLE = 4
    UNDECIDED = 5
    PARTIAL = 6
    INTERRUPTED = 130


class PlacementError(Exception):
    """The base of all exceptions of this package."""

    exit_status = ExitStatus.ERROR
    #: What to do next: each a command, or a clause that may end with a colon and a command.
    next_steps: Sequence[str] = ()

    def __str__(self) -> str:
        """Return the message; the name of the class if there is none, so that no line is empty."""
        text = super().__str__()
        return text if text.strip() else type(self).__name__


class BadArgument(PlacementError):
    """An argument has the wrong form."""


class UsageError(PlacementError):
    """Arguments contradict each other or make no sense."""

    exit_status = ExitStatus.USAGE


class NoSuchProvider(PlacementError):
    """No resource provider has the requested name, or meets the requested conditions.

    :param name: the requested name, if any
    """

    def __init__(self, message: str, name: str | None = None) -> None:
        self.name = name
        super().__init__(message)


class BadFile(PlacementError):
    """A file is unreadable or has the wrong content; lines and columns count from 1."""

    def __init__(
        self, path: str, reason: str, line: int | None = None, column: int | None = None
    ) -> None:
        # It may quote the file.
        reason = cut_text(reason, _LONGEST) or 'cannot be read'
        self.path, self.reason, self.line, self.column = path, reason, line, column
        where = ''.join(f':{number}' for number in (line, column) if number)
        super().__init__(f'{path or "(no name)"}{where}: {reason}')
        #: The faults, to be fixed together, in the order of the file.
        self.faults: Sequence[BadFile] = (self,)


class FileKind(NamedTuple):
    """A kind of file.

    :param name: with its article
    :param taken: a clause on what takes such a file
    :param source: a clause on how to get one, with a command: ``make one: …``
    :param format: the format that such a file names
    """

    name: str
    taken: str = ''
    source: str = ''
    format: str = ''
    may_be_empty: bool = False

    @property
    def remedy(self) -> str:
        """The end of a message on a file of another kind: how to get one of this kind, if known."""
        return self.source and f'. To {self.source}'

    @property
    def copy_remedy(self) -> str:
        """The end of a message on a file that was cut off."""
        return f'. Copy the file again{self.source and f", or {self.source}"}'


class WrongFile(BadFile):
    """A file is not of the needed kind: missing, empty, cut off, or of another kind.

    :param remedy: the end of the message, from a full stop on; default: how to get such a file
    :param taken: a clause on what takes a file of another kind
    """

    def __init__(
        self,
        path: str,
        mistake: str,
        needed: FileKind,
        remedy: str = '',
        line: int | None = None,
        taken: str = '',
    ) -> None:
        self.mistake, self.taken, self.needed = mistake, taken, needed
        self._end = f'{needed.name}{remedy or needed.remedy}'
        super().__init__(path, f'{mistake}; expected: {self._end}', line)

    def with_swapped_options(self, taker: str, other: str) -> BadFile:
        """Return the error that two options, named so, have each the file of the other."""
        return BadFile(self.path, f'{self.mistake}. The files of {taker} and {other} are swapped')

    def with_taker(self, taker: str, flags: Container[str]) -> BadFile:
        """Return this error with the option or the argument that got the file.

        :param taker: that option or argument
        :param flags: the options of the command; :attr:`taken` is named only if it begins with one
            of them or with no option
        """
        is_of_other = self.taken.startswith('--') and self.taken.split()[0] not in flags
        taken = f' ({self.taken})' if self.taken and not is_of_other else ''
        return BadFile(self.path, f'{self.mistake}{taken}; {taker} needs {self._end}', self.line)


class BadFiles(BadFile):
    """One error for one or several faults of files."""

    def __init__(self, faults: Sequence[BadFile]) -> None:
        first = faults[0]
        super().__init__(first.path, first.reason, first.line, first.column)
        self.args, self.faults = ('; '.join(map(str, faults)),), faults


class DirectError(PlacementError):
    """The embedded service (``placement_direct``) cannot be used: not installed, or no database."""


class DatabaseError(DirectError):
    """The database of the embedded service cannot be used."""


class Differs(PlacementError):
    """The service has other providers, allocations or generations than expected."""

    exit_status = ExitStatus.DIFFERS


class Interrupted(PlacementError):
    """The operator has stopped the command."""

    exit_status = ExitStatus.INTERRUPTED


class Unexpected(PlacementError):
    """A bug has stopped the command, which still prints the results so far."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(f'{type(reason).__name__}: {reason}'.rstrip(': '))
        self.__cause__ = reason
