# SPDX-License-Identifier: Apache-2.0
"""The content of a response of the service, or its refusal as an exception."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import strict_json
from placementclient.basis.printable import cut_text
from placementclient.client import errors
from placementclient.client.endpoints import Endpoint

if TYPE_CHECKING:
    import requests

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
#: Refusals that mean the same from Placement and from a proxy: nothing was carried out.
_REFUSED_BY_ANYONE = (errors.Unauthorized, errors.Busy)
#: The text of a 500 after a lost race that the service does not answer with 409, or after the
#: database has ended one of two transactions: both were rolled back.
_LOST_RACE = '(?i)concurrently updated|deadlock|could not serialize access'
#: The service refuses to delete one used inventory with the code of a lost race.
_IN_USE = '^Unable to delete inventory of class .* in use'
#: How many characters of an answer are printed: the service lists all names that it lacks.
_LONGEST = 4000
#: How the service begins a refusal by a JSON schema.
_BY_SCHEMA = 'JSON does not validate'
#: A key, and the keys of the field that does not satisfy a JSON schema.
_KEY = r"\['?([^]'\n]*)'?\]"
_FIELD = re.compile(rf'(?<=On instance)(?:{_KEY})+(?=:)')
#: At least one of them is in every answer of the service.
SIGNATURES = ('OpenStack-API-Version', 'x-openstack-request-id')


class Answer(NamedTuple):
    """A successful answer of the service: the body as the asked type, and the headers."""

    body: Any
    headers: Mapping[str, str]

    @property
    def last_modified(self) -> str | None:
        """The Last-Modified header, an HTTP date; present from microversion 1.15 on."""
        return self.headers.get('last-modified')


def decode_response(
    request: str, endpoint: Endpoint, kind: object, response: requests.Response
) -> Answer:
    """Return the answer to a request.

    :param request: method and path, for errors
    :param kind: the type of the body of the answer; ``None``: the endpoint answers without one
    :raises errors.HTTPError: if the status is 400 or more
    :raises errors.NoAnswer: if the answer is not from a Placement service
    """
    status, headers, content = response.status_code, response.headers, response.content
    if status >= 400:
        refusal = make_refusal_error(status, response.reason, _decode_refusal(content), headers)
        if isinstance(refusal, errors.ForeignAnswer):
            refusal.url = response.url
        raise refusal
    if not content and not any(name in headers for name in SIGNATURES):
        raise errors.Unreachable(f'{request} was answered with HTTP {status} and nothing else')
    if status >= 300 or (endpoint.silent and status != 204):
        raise _make_invalid_answer_error(request, response, '')
    try:
        return Answer(strict_json.decode_json(content or b'null', kind), headers)
    except strict_json.InvalidJSON as fault:
        raise _make_invalid_answer_error(request, response, f': {fault}') from None


def _decode_refusal(content: bytes) -> object:
    """Return the JSON document of a refusal; ``None`` if its body is no JSON."""
    try:
        return strict_json.decode_json(content)
    except strict_json.InvalidJSON:
        return None


def _make_invalid_answer_error(
    request: str, response: requests.Response, reason: str
) -> errors.InvalidAnswer:
    """Return the error for a successful status with an answer that Placement does not give.

    :param reason: a clause with a colon before it, or nothing
    """
    error = errors.InvalidAnswer(
        f'{request} was answered with HTTP {response.status_code}{reason}: '
        'the service that answers is not Placement'
    )
    error.url = response.url
    return error


def make_refusal_error(
    status: int, reason: str | None, body: object, headers: Mapping[str, str]
) -> errors.HTTPError:
    """Return the exception for a status of 400 or more; the body is ``None`` if it is no JSON.

    :param reason: the short text of the status
    """
    fault = _find_first_fault(body)
    code = fault.get('code')
    code = code if isinstance(code, str) else None
    sentence = _extract_sentence(fault)
    error = _choose_error_class(status, code, sentence)(
        status,
        sentence or _describe_refusal_without_sentence(status, reason),
        code,
        str(fault.get('request_id') or headers.get('x-openstack-request-id') or '') or None,
    )
    if isinstance(error, errors.Transient):
        error.retry_after = headers.get('retry-after')
    return error


def _choose_error_class(status: int, code: str | None, sentence: str) -> type[errors.HTTPError]:
    """Return the class of the error for a refusal.

    :param code: the error code of the Placement API; ``None``: the answer has none
    :param sentence: the service's reason; empty: the answer is a proxy's
    """
    if status >= 500:
        return errors.ConcurrentUpdate if re.search(_LOST_RACE, sentence) else errors.ServerError
    kind = BY_STATUS.get(status, errors.HTTPError)
    if kind is errors.Conflict and re.search(_IN_USE, sentence):
        return errors.InventoryInUse
    if sentence and kind not in _REFUSED_BY_ANYONE:
        return BY_CODE.get(code or '', kind)
    return kind if kind in _REFUSED_BY_ANYONE else errors.ForeignAnswer


def _find_first_fault(body: object) -> Mapping[str, object]:
    """Return the first record of ``errors`` in the body of a refusal; empty if there is none."""
    faults = body.get('errors') if isinstance(body, Mapping) else None
    if isinstance(faults, Sequence) and faults and isinstance(faults[0], Mapping):
        return faults[0]
    return {}


def _extract_sentence(fault: Mapping[str, object]) -> str:
    """Return the last paragraph of the ``detail`` of a fault, behind the refused field, if any."""
    detail = str(fault.get('detail') or fault.get('title') or '')
    # The rest is the JSON schema that the request does not satisfy, over dozens of lines.
    detail, _, schema = detail.partition('Failed validating')
    field = _FIELD.search(schema)
    paragraph = re.split(r'\n\s*\n', detail[:_LONGEST].strip())[-1]
    start, _, rule = ' '.join(paragraph.split()).partition(': ')
    if start != _BY_SCHEMA:
        return cut_text(' '.join(paragraph.split()), _LONGEST)
    place = f'{".".join(re.findall(_KEY, field[0]))}: ' if field else ''
    return cut_text(f'{place}{rule} ({_BY_SCHEMA})', _LONGEST)


def _describe_refusal_without_sentence(status: int, reason: str | None) -> str:
    """Return a sentence for a refusal in which the service gives no reason.

    :param reason: the short text of the status
    """
    if status == 401:
        return f'{reason or "Unauthorized"}: {NOT_ACCEPTED}'
    return f'{reason or "Unknown status"}: the answer is not from Placement'
