"""The content of a response, if it is one of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from placementclient.client import errors, refusals, strict_json
from placementclient.client.endpoints import Endpoint

#: At least one of them is in every answer of the service.
SIGNATURES = ('OpenStack-API-Version', 'x-openstack-request-id')


class Answer(NamedTuple):
    """A successful answer of the service, with a body of the type that was asked for."""

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def last_modified(self) -> str | None:
        """The Last-Modified header, an HTTP date; present from microversion 1.15 on."""
        return self.headers.get('last-modified')


def read(request: str, endpoint: Endpoint, kind: Any, response: Any) -> Answer:
    """Return the content of a response.

    :param request: method and path, for the error
    :param kind: the type of the body; that of ``None`` is of an answer without one
    """
    status, headers, content = response.status_code, response.headers, response.content
    if status >= 400:
        raise refusals.from_answer(status, response.reason, _fault(content), headers)
    if not content and not any(name in headers for name in SIGNATURES):
        raise errors.Unreachable(f'{request} was answered with HTTP {status} and nothing else')
    if status >= 300 or (endpoint.silent and status != 204):
        raise _invalid(request, status, '')
    try:
        return Answer(status, strict_json.decoded(content or b'null', kind), headers)
    except strict_json.InvalidJSON as fault:
        raise _invalid(request, status, f': {fault}') from None


def _fault(content: bytes) -> Any:
    """Return the JSON of a refusal; ``None`` where there is none."""
    try:
        return strict_json.decoded(content)
    except strict_json.InvalidJSON:
        return None


def _invalid(request: str, status: int, reason: str) -> errors.InvalidAnswer:
    return errors.InvalidAnswer(
        f'{request} was answered with HTTP {status}{reason}: '
        'what answers is not a Placement service'
    )
