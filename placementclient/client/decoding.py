# SPDX-License-Identifier: Apache-2.0
"""The content of a response of the service, or its refusal as an exception."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from placementclient.basis import strict_json
from placementclient.basis.printable import excerpt
from placementclient.client import errors
from placementclient.client.endpoints import Endpoint

#: The next step after keystonemiddleware has refused a token.
REMEDY = (
    'get a new one (openstack token issue), or authenticate with a password or an application '
    'credential'
)
NOT_ACCEPTED = f'the service does not accept the token, which may have expired: {REMEDY}'
#: Conflicts look alike but for their code (from 1.23).
BY_CODE: Mapping[str, type[errors.HTTPError]] = {
    'placement.concurrent_update': errors.ConcurrentUpdate,
    'placement.inventory.inuse': errors.InventoryInUse,
    'placement.duplicate_name': errors.DuplicateName,
    'placement.resource_provider.inuse': errors.ProviderInUse,
    'placement.resource_provider.cannot_delete_parent': errors.CannotDeleteParent,
}
BY_STATUS: Mapping[int, type[errors.HTTPError]] = {
    400: errors.BadRequest,
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    406: errors.NotAcceptable,
    408: errors.Busy,
    409: errors.Conflict,
    429: errors.Busy,
}
#: Refusals that mean the same from a proxy: nothing was carried out.
_ANYBODYS = (errors.Unauthorized, errors.Busy)
#: The text of a 500 after a lost race that the service does not answer with 409, or after the
#: database has ended one of two transactions: both were rolled back.
_LOST_RACE = '(?i)concurrently updated|deadlock|could not serialize access'
#: The service refuses to delete one used inventory with the code of a lost race.
_IN_USE = '^Unable to delete inventory of class .* in use'
#: How many characters of an answer are printed: the service lists all names that it lacks.
_LONGEST = 4000
#: At least one of them is in every answer of the service.
SIGNATURES = ('OpenStack-API-Version', 'x-openstack-request-id')


class Answer(NamedTuple):
    """A successful answer of the service, with a body of the type that was asked for."""

    body: Any
    headers: Mapping[str, str]

    @property
    def last_modified(self) -> str | None:
        """The Last-Modified header, an HTTP date; present from microversion 1.15 on."""
        return self.headers.get('last-modified')


def read(request: str, endpoint: Endpoint, kind: Any, response: Any) -> Answer:
    """Return the content of the response to a request, with a body of a kind, which may be None."""
    status, headers, content = response.status_code, response.headers, response.content
    if status >= 400:
        raise refusal(status, response.reason, _read_refusal(content), headers)
    if not content and not any(name in headers for name in SIGNATURES):
        raise errors.Unreachable(f'{request} was answered with HTTP {status} and nothing else')
    if status >= 300 or (endpoint.silent and status != 204):
        raise _invalid(request, status, '')
    try:
        return Answer(strict_json.decoded(content or b'null', kind), headers)
    except strict_json.InvalidJSON as fault:
        raise _invalid(request, status, f': {fault}') from None


def _read_refusal(content: bytes) -> Any:
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


def refusal(
    status: int, reason: str | None, body: Any, headers: Mapping[str, str]
) -> errors.HTTPError:
    """Return the exception for a status of 400 or more; the body is ``None`` if it is no JSON."""
    fault = _first_fault(body)
    code = fault.get('code')
    code = code if isinstance(code, str) else None
    sentence = _sentence(fault)
    error = _kind(status, code, sentence)(
        status,
        sentence or _unreadable(status, reason),
        code,
        str(fault.get('request_id') or headers.get('x-openstack-request-id') or '') or None,
    )
    if isinstance(error, errors.Transient):
        error.retry_after = headers.get('retry-after')
    return error


def _kind(status: int, code: str | None, sentence: str) -> type[errors.HTTPError]:
    if status >= 500:
        return errors.ConcurrentUpdate if re.search(_LOST_RACE, sentence) else errors.ServerError
    kind = BY_STATUS.get(status, errors.HTTPError)
    if kind is errors.Conflict and re.search(_IN_USE, sentence):
        return errors.InventoryInUse
    if sentence and kind not in _ANYBODYS:
        return BY_CODE.get(code or '', kind)
    return kind if kind in _ANYBODYS else errors.ForeignAnswer


def _first_fault(body: Any) -> Mapping[str, Any]:
    faults = body.get('errors') if isinstance(body, Mapping) else None
    if isinstance(faults, Sequence) and faults and isinstance(faults[0], Mapping):
        return faults[0]
    return {}


def _sentence(fault: Mapping[str, Any]) -> str:
    """The useful part of ``detail``: webob puts its standard phrase and a blank line before it."""
    detail = str(fault.get('detail') or fault.get('title') or '')
    # The rest is the JSON schema that the request does not satisfy, over dozens of lines.
    detail = detail[:_LONGEST].partition('Failed validating')[0].strip()
    return excerpt(' '.join(re.split(r'\n\s*\n', detail)[-1].split()), _LONGEST)


def _unreadable(status: int, reason: str | None) -> str:
    if status == 401:
        return f'{reason or "Unauthorized"}: {NOT_ACCEPTED}'
    return f'{reason or "Unknown status"}: the answer is not one of the Placement service'
