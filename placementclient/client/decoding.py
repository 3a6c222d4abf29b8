"""The content of a response, if it is one of the service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from placementclient.client import answers, errors, refusals
from placementclient.client.endpoints import Endpoint

#: At least one of them is in every answer of the service.
SIGNATURES = ('OpenStack-API-Version', 'x-openstack-request-id')


class Answer(NamedTuple):
    """The answer of the service to a request that it granted.

    :param body: the JSON object; empty where there was none
    """

    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def last_modified(self) -> str | None:
        """The Last-Modified header, an HTTP date; sent from microversion 1.15 on."""
        return self.headers.get('last-modified')


def read(request: str, endpoint: Endpoint, response: Any) -> Answer:
    """Return the content of a response.

    :param request: method and path, for the error
    :raises errors.HTTPError: if it refuses
    :raises errors.Unreachable: if it was cut
    :raises errors.InvalidAnswer: if it is no answer of the service, whatever its status
    """
    kind = JsonObject if endpoint.is_read else _WrittenObject
    decoded = _decoded(response, kind)
    status, headers = response.status_code, response.headers
    if status >= 400:
        raise refusals.from_answer(status, response.reason, decoded, headers)
    if decoded is None and not response.content and not any(name in headers for name in SIGNATURES):
        raise errors.Unreachable(f'{request} was answered with HTTP {status} and nothing else')
    if status >= 300 or (response.content and decoded is None):
        fault = 'without JSON'
    elif endpoint.silent and status != 204:
        fault = 'not with 204'
    else:
        if decoded is not None:
            answers.check(endpoint, decoded)
        return Answer(status, decoded or kind(), headers)
    raise errors.InvalidAnswer(
        f'{request} was answered with HTTP {status} but {fault}: '
        'what answers is not a Placement service'
    )


class JsonObject(dict[str, Any]):
    """A JSON object of an answer; a missing key means that something else answered."""

    _may_be_done = False

    def __missing__(self, key: str) -> Any:
        invalid = errors.InvalidAnswer(
            f'The answer has no {key!r}: what answers is not a Placement service'
        )
        invalid.may_be_done = self._may_be_done
        raise invalid


class _WrittenObject(JsonObject):
    """A JSON object of an answer to a write."""

    _may_be_done = True


def _decoded(response: Any, kind: type[JsonObject]) -> JsonObject | None:
    """The JSON object of an answer; ``None`` where there is none, whatever the headers say."""
    try:
        decoded = response.json(object_hook=kind, parse_constant=_refused)
        if b'\\ud' in response.content or b'\\uD' in response.content:
            # Half of a pair is no text, and cannot be printed.
            json.dumps(decoded, ensure_ascii=False).encode()
        return decoded if isinstance(decoded, JsonObject) else None
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> None:
    raise ValueError(f'{constant} is no JSON')
