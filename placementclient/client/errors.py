"""Every exception of this package, and the exit statuses."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

from placementclient.client.wording import first, with_names

#: What may steer a terminal, or cannot be printed at all.
UNPRINTABLE = r'[\x00-\x1f\x7f-\x9f\ud800-\udfff]'
#: How many characters of a reason are shown.
_LONGEST = 600
#: The code that the service gives where it has nothing to say; no news for a reader.
UNDEFINED_CODE = 'placement.undefined_code'


class ExitStatus(enum.IntEnum):
    """The exit statuses of a command: a contract with the scripts that call it."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    DIFFERS = 3
    INFEASIBLE = 4
    UNDECIDED = 5
    PARTIAL = 6
    INTERRUPTED = 130


class PlacementError(Exception):
    """The root of everything that this package raises on purpose."""

    exit_status = ExitStatus.ERROR

    def __str__(self) -> str:
        """Return the text; the name of the class where there is none: no line is empty."""
        text = super().__str__()
        return text if text.strip() else type(self).__name__


class BadArgument(PlacementError):
    """The value of an argument is not of the form that it should have."""


class UsageError(PlacementError):
    """Arguments that contradict each other or cannot mean anything."""

    exit_status = ExitStatus.USAGE


class UnsafePath(PlacementError):
    """A part of a URL's path that could lead to another URL."""


class UnsupportedVersion(PlacementError):
    """The microversion in use lacks what was asked for, or client and service share none."""


class NoSuchProvider(PlacementError):
    """No resource provider has the name that was given.

    :param name: the name, where the service was asked for it; it may be close to another one
    """

    def __init__(self, message: str, name: str | None = None) -> None:
        self.name = name
        super().__init__(message)


class BadFile(PlacementError):
    """A file that cannot be read as what it should be.

    :param path: the file
    :param reason: what is wrong, a sentence without its full stop
    :param line: where, from 1
    :param column: where in the line, from 1
    """

    def __init__(
        self, path: str, reason: str, line: int | None = None, column: int | None = None
    ) -> None:
        # What a file says may be long, of several lines, or steer the terminal.
        reason = _shown(reason) or 'cannot be read'
        self.path, self.reason, self.line, self.column = path, reason, line, column
        where = ''.join(f':{number}' for number in (line, column) if number)
        super().__init__(f'{path or "(no name)"}{where}: {reason}')

    @property
    def faults(self) -> tuple[BadFile, ...]:
        """Every fault that was found: this one, or those that it consists of."""
        return (self,)


class BadFiles(BadFile):
    """Several faults, so that a person fixes them all at once.

    :param faults: in the order of the file
    """

    def __init__(self, faults: Sequence[BadFile]) -> None:
        first, self._faults = faults[0], tuple(faults)
        super().__init__(first.path, first.reason, first.line, first.column)
        self.args = ('; '.join(map(str, faults)),)

    @property
    def faults(self) -> tuple[BadFile, ...]:
        return self._faults


class DirectError(PlacementError):
    """The embedded service cannot be used: not installed, or no usable database."""


class Warned(PlacementError):
    """There are warnings, and the operator gave --fail-on-warnings."""


class Unconfirmed(PlacementError):
    """The operator did not agree to something that destroys or moves."""


class Differs(PlacementError):
    """The state of the service is not the expected one."""

    exit_status = ExitStatus.DIFFERS


class Interrupted(PlacementError):
    """The operator has ended it before its time."""

    exit_status = ExitStatus.INTERRUPTED


class Unexpected(PlacementError):
    """Something that should never be raised has ended work that is worth a report all the same."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(f'{type(reason).__name__}: {reason}'.rstrip(': '))
        self.__cause__ = reason


class Infeasible(PlacementError):
    """No assignment satisfies all constraints, or the trees do not suit the specification.

    :param causes: why, one or more for each tree; each can say itself
    :param slack: the room that was left in each target when the search ended
    """

    exit_status = ExitStatus.INFEASIBLE
    #: the beginning of each message, by which a reason in a journal is known
    TITLE = 'Infeasible'

    def __init__(self, causes: Sequence[Any], slack: Sequence[Any] = ()) -> None:
        self.causes, self.slack = tuple(causes), tuple(slack)
        super().__init__(f'{self.TITLE}: {first(self.causes)}')


class Undecided(PlacementError):
    """Rows have several places to go to, and only the operator knows the true one.

    :param rows: each with its choices
    :param warnings: of the trees that were planned, sentences
    """

    exit_status = ExitStatus.UNDECIDED

    def __init__(self, rows: Sequence[Any], warnings: Sequence[str] = ()) -> None:
        self.rows, self.warnings = tuple(rows), tuple(warnings)
        super().__init__(f'Undecided rows: {len(self.rows)}: {first(self.rows)}')


class Undetermined(PlacementError):
    """It is not known whether there are assignments, or others. It may be that there is one.

    :param causes: one for each tree; each can say itself
    """

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
    """No token was had, or no endpoint found: the service was asked nothing.

    :ivar url: the URL of Keystone, where it gives no answer
    """

    url: str | None = None


class NoEndpoint(AuthenticationFailed):
    """The service catalog has no such service, or that does not answer."""


class NoAnswer(PlacementError):
    """The service has not said what became of a request.

    :ivar may_be_done: whether it would have changed something, so that it may have
    :ivar url: the URL of the request, where no connection was made
    """

    may_be_done = False
    url: str | None = None

    def __str__(self) -> str:
        message = super().__str__()
        return f'{message}; whether it was done is not known' if self.may_be_done else message


class Transient(NoAnswer):
    """The next time there may be an answer.

    :ivar retry_after: how long to wait until then, as the Retry-After header has it
    """

    retry_after: str | None = None


class Unreachable(Transient):
    """There was no answer, or an incomplete one."""


class NotSent(NoAnswer):
    """The request has not reached the service."""


class NoConnection(NotSent, Unreachable):
    """No connection could be made."""


class UnusableURL(NotSent):
    """The URL of the service does not begin with http:// or https://."""


class InvalidAnswer(NoAnswer):
    """A success by its status, but not an answer of the Placement service."""


class HTTPError(PlacementError):
    """The service, or something in front of it, refused.

    :param status: the HTTP status
    :param sentence: what it said, or what can be said if it was nothing readable
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
        # Whatever a proxy put into the facts, it is one line.
        super().__init__(' '.join(text.split()))

    def with_names(self, names: Mapping[str, str]) -> Self:
        """The same, with the names of providers beside their UUIDs, unless they are there.

        :param names: by UUID
        """
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
    """409: the state of the service does not admit the change."""


class ServerError(HTTPError, Transient):
    """5xx, from the service or from a proxy."""


class Busy(HTTPError, Transient):
    """408 and 429: the request took too long to arrive, or there are too many."""


class ForeignAnswer(HTTPError, NoAnswer):
    """4xx, but not in the words of the service: something in front of it, or in its place."""


class ConcurrentUpdate(Conflict):
    """Another client changed the provider or the consumer: nothing was done, read it again."""


class InventoryInUse(Conflict):
    """Allocations exist against the inventory."""


class DuplicateName(Conflict):
    """A provider of that name or UUID exists."""


class ProviderInUse(Conflict):
    """Allocations exist against the provider."""


class CannotDeleteParent(Conflict):
    """The provider has children."""


class ProviderNotFound(BadRequest):
    """The reshaper was given inventories of a provider that does not exist."""


#: After these, the next request fails too: the credentials are refused.
SHUT_OUT = (AuthenticationFailed, Forbidden, Unauthorized)


def _shown(reason: str) -> str:
    """A reason on one line of a length that a person reads."""
    cut = reason if len(reason) <= _LONGEST else f'{reason[:_LONGEST]}…'
    return re.sub(UNPRINTABLE, '\ufffd', cut)
