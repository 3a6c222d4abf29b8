# SPDX-License-Identifier: Apache-2.0
"""Every exception of this package, and the exit statuses."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Self

from placementclient.client.printable import excerpt
from placementclient.client.wording import first, with_names

#: How many characters of a reason are shown.
_LONGEST = 600
#: The code of an error without a code of its own; it is not printed.
UNDEFINED_CODE = 'placement.undefined_code'


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

    def __str__(self) -> str:
        """Return the text; the name of the class where there is none: no line is empty."""
        text = super().__str__()
        return text if text.strip() else type(self).__name__


class BadArgument(PlacementError):
    """An argument has the wrong form."""


class UsageError(PlacementError):
    """Arguments contradict each other or make no sense."""

    exit_status = ExitStatus.USAGE


class UnsafePath(PlacementError):
    """A part of a path could change the rest of the URL."""


class UnsupportedVersion(PlacementError):
    """The microversion lacks a feature, or client and service share no microversion."""


class NoSuchProvider(PlacementError):
    """No resource provider meets the request; ``name``: the requested name, if any."""

    def __init__(self, message: str, name: str | None = None) -> None:
        self.name = name
        super().__init__(message)


class BadFile(PlacementError):
    """A file is unreadable or has the wrong content; line and column are from 1."""

    def __init__(
        self, path: str, reason: str, line: int | None = None, column: int | None = None
    ) -> None:
        # It may quote the file.
        reason = excerpt(reason, _LONGEST) or 'cannot be read'
        self.path, self.reason, self.line, self.column = path, reason, line, column
        where = ''.join(f':{number}' for number in (line, column) if number)
        super().__init__(f'{path or "(no name)"}{where}: {reason}')
        #: The faults, to be fixed together, in the order of the file.
        self.faults: Sequence[BadFile] = (self,)


class BadFiles(BadFile):
    """One or several faults of files."""

    def __init__(self, faults: Sequence[BadFile]) -> None:
        first = faults[0]
        super().__init__(first.path, first.reason, first.line, first.column)
        self.args, self.faults = ('; '.join(map(str, faults)),), faults


class DirectError(PlacementError):
    """The embedded service cannot be used: not installed, or no usable database."""


class Differs(PlacementError):
    """The state of the service is not the expected one."""

    exit_status = ExitStatus.DIFFERS


class Interrupted(PlacementError):
    """The operator has stopped the command."""

    exit_status = ExitStatus.INTERRUPTED


class Unexpected(PlacementError):
    """A bug has stopped work, and the command still prints the results so far."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(f'{type(reason).__name__}: {reason}'.rstrip(': '))
        self.__cause__ = reason


class Infeasible(PlacementError):
    """No assignment satisfies all constraints, or the trees do not suit the specification.

    :param causes: why, one or more for each tree; each can say itself
    :param slack: the room that was left in each target when the search ended
    """

    exit_status = ExitStatus.INFEASIBLE
    #: the beginning of each message; it identifies a reason in a journal
    TITLE = 'Infeasible'

    def __init__(self, causes: Sequence[Any], slack: Sequence[Any] = ()) -> None:
        self.causes, self.slack = tuple(causes), tuple(slack)
        super().__init__(f'{self.TITLE}: {first(self.causes)}')


class Undecided(PlacementError):
    """Rows have several possible places, and only the operator knows the right one."""

    exit_status = ExitStatus.UNDECIDED

    def __init__(self, rows: Sequence[Any], warnings: Sequence[str] = ()) -> None:
        self.rows, self.warnings = tuple(rows), tuple(warnings)
        super().__init__(f'Undecided rows: {len(self.rows)}: {first(self.rows)}')


class Undetermined(PlacementError):
    """The search was too short: it is unknown whether there are assignments, or others."""

    _MORE_TIME = 'Give the search more time (--solver-timeout)'
    _NO_TIME = 'More time does not help. Plan fewer of these trees at once (--tree)'

    def __init__(self, causes: Sequence[Any]) -> None:
        self.causes = tuple(causes)
        has_ended = any(cause.kind == 'undetermined' for cause in causes)
        #: what to do next, a sentence without its full stop
        self.advice = (
            f'{self._MORE_TIME if has_ended else self._NO_TIME}, or say where some of it belongs '
            '(--assignments)'
        )
        super().__init__(f'Undetermined: {first(self.causes)}. {self.advice}')


class AuthenticationFailed(PlacementError):
    """There is no token or no endpoint, so no request was sent to the service."""

    #: The URL of Keystone, where it gives no answer.
    url: str | None = None


class NoEndpoint(AuthenticationFailed):
    """The service catalog lacks the service, or Keystone does not answer."""


class NoAnswer(PlacementError):
    """It is unknown whether the service carried out the request."""

    #: Whether it would have changed something, so that it may have.
    may_be_done = False
    #: The URL of the request, where no connection was made.
    url: str | None = None

    def __str__(self) -> str:
        message = super().__str__()
        return f'{message}; whether it was done is not known' if self.may_be_done else message


class Transient(NoAnswer):
    """A retry may succeed."""

    #: How long to wait until then, as the Retry-After header has it.
    retry_after: str | None = None


class Unreachable(Transient):
    """There was no answer, or an incomplete one."""


class NotSent(NoAnswer):
    """The request has not reached the service, whose URL may be none."""


class NoConnection(NotSent, Unreachable):
    """No connection could be made."""


class InvalidAnswer(NoAnswer):
    """The status is a success, but the answer is not from a Placement service."""


class HTTPError(PlacementError):
    """The service, or a proxy before it, refused the request.

    :param code: the error code of the Placement API, from 1.23
    :param request_id: identifies the request in the service's log
    """

    def __init__(
        self, status: int, sentence: str, code: str | None = None, request_id: str | None = None
    ) -> None:
        self.status, self.sentence = status, sentence
        self.code, self.request_id = code, request_id
        facts = ', '.join(fact for fact in (code, request_id) if fact and fact != UNDEFINED_CODE)
        text = f'{sentence} (HTTP {status})' + (f' [{facts}]' if facts else '')
        # The facts may be of a proxy: print one line.
        super().__init__(' '.join(text.split()))

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Return this error with the names of providers, by UUID, beside their UUIDs."""
        return self.with_sentence(with_names(self.sentence, names))

    def with_sentence(self, sentence: str) -> Self:
        other = type(self)(self.status, sentence, self.code, self.request_id)
        vars(other).update(vars(self) | {'sentence': sentence})
        return other


class BadRequest(HTTPError):
    """400: the service does not understand the request."""


class Unauthorized(HTTPError):
    """401: no valid token."""


class Forbidden(HTTPError):
    """403: the policy does not allow it."""


class NotFound(HTTPError):
    """404."""


class NotAcceptable(HTTPError):
    """406: the service does not know the microversion."""


class Conflict(HTTPError):
    """409: the state of the service does not allow the change."""


class ServerError(HTTPError, Transient):
    """5xx, from the service or from a proxy."""


class Busy(HTTPError, Transient):
    """408 and 429: the request took too long to arrive, or there are too many requests."""


class ForeignAnswer(HTTPError, NoAnswer):
    """4xx, not from Placement: a proxy or another service answered."""


class ConcurrentUpdate(Conflict):
    """Another client has changed the provider or the consumer; nothing was written."""


class InventoryInUse(Conflict):
    """The inventory has allocations."""


class DuplicateName(Conflict):
    """A provider of this name or UUID exists."""


class ProviderInUse(Conflict):
    """The provider has allocations."""


class CannotDeleteParent(Conflict):
    """The provider has children."""


#: After these, the next request fails too: the credentials are refused.
SHUT_OUT = (AuthenticationFailed, Forbidden, Unauthorized)
