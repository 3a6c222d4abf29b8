# SPDX-License-Identifier: Apache-2.0
"""The exceptions of a request: no answer, a refusal, or an answer of something else.

An error below another is caught with it. A request that only reads is sent again after any
``Transient`` error; those in parentheses are below two classes::

    PlacementError
      AuthenticationFailed    no request was sent
        NoEndpoint
      NoAnswer                no answer of Placement
        NotSent               nothing was carried out
          (NoConnection)
        Transient             a retry may succeed
          Unreachable
            (NoConnection)
          (ServerError, Busy)
        InvalidAnswer
        (ForeignAnswer)
      HTTPError               a status of 400 or more
        Conflict, NotFound, BadRequest, ...
        (ServerError, Busy, ForeignAnswer)
"""

from collections.abc import Mapping
from typing import Self

from placementclient.basis.errors import PlacementError
from placementclient.basis.wording import add_names_to_uuids

#: The code of an error without a code of its own; it is not printed.
UNDEFINED_CODE = 'placement.undefined_code'


class UnsafePath(PlacementError):
    """A part of a path could change the rest of the URL."""


class UnsupportedVersion(PlacementError):
    """The microversion lacks a feature, or client and service share no microversion."""


class AuthenticationFailed(PlacementError):
    """There is no token or no endpoint, so no request was sent to the service."""

    #: The URL of Keystone, where it gives no answer.
    url: str | None = None


class NoEndpoint(AuthenticationFailed):
    """The service catalog lacks the service, or there is no catalog."""


class NoAnswer(PlacementError):
    """There is no answer of Placement: unless it is ``NotSent``, the outcome is unknown."""

    #: Whether it would have changed something, so that it may have.
    may_be_done = False
    #: The URL of the request, where no connection was made, or where no Placement answers.
    url: str | None = None

    def __str__(self) -> str:
        message = super().__str__()
        return f'{message}; it is unknown whether it was done' if self.may_be_done else message


class Transient(NoAnswer):
    """The service did not answer, or cannot answer now: a retry may succeed."""

    #: How long to wait until then, as the Retry-After header has it.
    retry_after: str | None = None


class Unreachable(Transient):
    """There was no answer, or an incomplete one."""


class NotSent(NoAnswer):
    """The request has not reached the service: there is no connection, or the URL is wrong."""


class NoConnection(NotSent, Unreachable):
    """No connection could be made."""


class InvalidAnswer(NoAnswer):
    """The answer is none of Placement's, or it breaks a limit of size, duration or redirects."""


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
        return self.with_sentence(add_names_to_uuids(self.sentence, names))

    def with_sentence(self, sentence: str) -> Self:
        """Return this error with another sentence in place of the service's."""
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
    """404: the provider, the consumer or another object does not exist."""


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
