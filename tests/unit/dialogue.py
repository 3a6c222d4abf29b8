# SPDX-License-Identifier: Apache-2.0
"""Commands as dialogues: the requests that must come, in order, and what each is answered."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

#: With a path of its own, as behind a common web server.
URL = 'http://cloud.test/placement'

RP = '11111111-1111-4111-8111-111111111111'
RP2 = '22222222-2222-4222-8222-222222222222'
ROOT = '33333333-3333-4333-8333-333333333333'
AGG = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
AGG2 = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb'
CONSUMER = 'cccccccc-cccc-4ccc-8ccc-cccccccccccc'
CONSUMER2 = 'dddddddd-dddd-4ddd-8ddd-dddddddddddd'

MONDAY = 'Mon, 02 Nov 2026 08:00:00 GMT'
STALE = 'placement.concurrent_update'


#: What the service puts into every answer.
SIGNED = {'OpenStack-API-Version': 'placement 1.39'}


@dataclass(frozen=True)
class Reply:
    """What a request is answered; a body that is a string or bytes is sent as it is."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    is_signed: bool = True

    def mocked(self):
        """As requests-mock takes it."""
        raw = self.body.encode() if isinstance(self.body, str) else self.body
        if raw is not None and not isinstance(raw, bytes):
            raw = json.dumps(raw).encode()
        return {
            'status_code': self.status,
            'content': raw or b'',
            'headers': (SIGNED if self.is_signed else {}) | dict(self.headers),
            'reason': self.reason,
        }


@dataclass(frozen=True)
class Sent:
    """A request as it left: ``'GET /traits?name=in:A,B'``, the query decoded, the path not."""

    line: str
    version: str | None = '1.39'
    body: Any = None


@dataclass(frozen=True)
class Exchange:
    """A request that must come, and its answer.

    :param version: the microversion of the request; that of the case if it is not given
    """

    line: str
    reply: Reply
    body: Any = None
    version: str | None = ''


@dataclass(frozen=True)
class Case:
    """A command, as typed after the program's name, and all that can be seen of it."""

    command: str
    exchanges: Sequence[Exchange] = ()
    stdout: str = ''
    stderr: str = ''
    status: int = 0
    version: str = '1'

    def requests(self):
        """The requests that it must send."""
        usual = '1.39' if self.version == '1' else self.version
        return [
            Sent(
                exchange.line, usual if exchange.version == '' else exchange.version, exchange.body
            )
            for exchange in self.exchanges
        ]


def get(path, answer=None, *, status=200, **settings):
    """A read, answered with JSON."""
    return Exchange(f'GET {path}', _reply(answer, status), **settings)


def put(path, body=None, answer=None, **settings):
    """A replacement; answered with what was sent if nothing else is said."""
    return Exchange(
        f'PUT {path}', _reply(body if answer is None else answer, 200), body, **settings
    )


def post(path, body=None, answer=None, **settings):
    """A creation."""
    return Exchange(f'POST {path}', _reply(answer, 200), body, **settings)


def delete(path, answer=None, **settings):
    """A removal."""
    return Exchange(f'DELETE {path}', _reply(answer, 204), **settings)


def _reply(answer, status):
    return answer if isinstance(answer, Reply) else Reply(status, answer)


NOTHING = Reply(204)


def fault(status, sentence, code='placement.undefined_code'):
    """A refusal in the words of the service."""
    detail = f'The server could not comply with the request.\n\n {sentence}  '
    record = {'status': status, 'title': 'Title', 'detail': detail, 'code': code}
    return Reply(status, {'errors': [record | {'request_id': 'req-1'}]})


def conflict():
    """The refusal of a write that somebody else came before."""
    return fault(409, 'Conflict: generation', STALE)


def version_document(highest, lowest='1.0'):
    """The question what the service knows; sent without a microversion."""
    version = {'id': 'v1.0', 'min_version': lowest, 'max_version': highest}
    return get('/', {'versions': [version]}, version=None)


NOT_ACCEPTABLE = fault(406, 'Unacceptable version header')


def unacceptable(exchange):
    """The same request, refused for its microversion."""
    return replace(exchange, reply=NOT_ACCEPTABLE)


def provider(uuid=RP, name='compute1', generation=7, parent=None, root=None):
    """A provider as the service shows it from 1.14 on."""
    return {
        'uuid': uuid,
        'name': name,
        'generation': generation,
        'parent_provider_uuid': parent,
        'root_provider_uuid': root or uuid,
        'links': [],
    }


def searched(name='compute1', uuid=RP, **settings):
    """The search for a provider by its name."""
    listed = {'resource_providers': [provider(uuid, name)]}
    return get(f'/resource_providers?name={name}', listed, **settings)


def sent(request):
    """A request that requests-mock recorded."""
    parts = urlsplit(request.url)
    assert request.url.startswith(f'{URL}/'), request.url
    query = '&'.join(f'{key}={value}' for key, value in parse_qsl(parts.query, True, True))
    return Sent(
        f'{request.method} {parts.path.removeprefix("/placement")}{"?" + query if query else ""}',
        (request.headers.get('OpenStack-API-Version') or '').removeprefix('placement ') or None,
        json.loads(request.body) if request.body else None,
    )
