# SPDX-License-Identifier: Apache-2.0
"""Every route of the Placement service, one row for each.

The source is the service's own table (``placement.handler.ROUTE_DECLARATIONS``); a test compares
the two, and proves each ``since`` against the real service.
"""

import functools
from typing import NamedTuple
from urllib.parse import quote

from placementclient.client import errors
from placementclient.client.microversion import LOWEST, Microversion

#: How often a read is repeated that was not answered.
MAX_RETRIES = 5
#: The most bytes of an answer, once it is decompressed.
ANSWER_LIMIT = 1 << 30
#: The same for all pages of a list of another service, and the most seconds that they may take.
LIST_LIMIT, LIST_TIMEOUT = 2 << 30, 1800.0


class Endpoint(NamedTuple):
    """A route of the service: a method, a path, and the first microversion that has them.

    :param template: the path with placeholders in braces
    """

    method: str
    template: str
    since: Microversion = LOWEST
    #: Whether it is answered with 204 and nothing else.
    silent: bool = False
    #: The timeout for a connection, and then for each next part of an answer; in seconds.
    timeout: float = 60
    #: The roles, one of which the default policy of the service requires.
    roles: str = 'admin or service'

    @property
    def is_read(self) -> bool:
        """Return whether the request only reads, so that it can be repeated."""
        return self.method == 'GET'

    def __str__(self) -> str:
        return f'{self.method} {self.template}'

    def format_path(self, **parts: str) -> str:
        """Return the path of a request, with the given parts in place of the placeholders.

        :param parts: unquoted: ``provider='…'``
        :raises errors.UnsafePath: for a part with which another URL would be reached
        """
        return self.template.format_map({name: _quote_part(part) for name, part in parts.items()})


def _quote_part(part: str) -> str:
    """Return a part of a path, quoted.

    :raises errors.UnsafePath: if it would lead to another URL
    """
    # Quoting alone protects nothing: a WSGI server decodes %2F before the service matches its
    # routes, and proxies resolve "..". Nothing in Placement that is named in a path has a slash.
    if part in ('', '.', '..') or '/' in part or not part.isprintable():
        raise errors.UnsafePath(f'{part!r} cannot be part of a URL')
    return quote(part, safe='')


_since = functools.partial(Microversion, 1)

_CLASSES = '/resource_classes'
_CLASS = '/resource_classes/{resource_class}'
_PROVIDERS = '/resource_providers'
_PROVIDER = '/resource_providers/{provider}'
_INVENTORIES = f'{_PROVIDER}/inventories'
_INVENTORY = f'{_PROVIDER}/inventories/{{resource_class}}'
_AGGREGATES = f'{_PROVIDER}/aggregates'
_PROVIDER_TRAITS = f'{_PROVIDER}/traits'
_CONSUMER = '/allocations/{consumer}'
_TRAIT = '/traits/{trait}'

SHOW_API = Endpoint('GET', '/')

LIST_CLASSES = Endpoint('GET', _CLASSES, _since(2))
CREATE_CLASS = Endpoint('POST', _CLASSES, _since(2))
SHOW_CLASS = Endpoint('GET', _CLASS, _since(2))
SET_CLASS = Endpoint('PUT', _CLASS, _since(2))
DELETE_CLASS = Endpoint('DELETE', _CLASS, _since(2), silent=True)

LIST_PROVIDERS = Endpoint('GET', _PROVIDERS)
CREATE_PROVIDER = Endpoint('POST', _PROVIDERS)
SHOW_PROVIDER = Endpoint('GET', _PROVIDER)
SET_PROVIDER = Endpoint('PUT', _PROVIDER)
DELETE_PROVIDER = Endpoint('DELETE', _PROVIDER, silent=True)

LIST_INVENTORIES = Endpoint('GET', _INVENTORIES)
CREATE_INVENTORY = Endpoint('POST', _INVENTORIES)
SET_INVENTORIES = Endpoint('PUT', _INVENTORIES)
DELETE_INVENTORIES = Endpoint('DELETE', _INVENTORIES, _since(5), silent=True)
SHOW_INVENTORY = Endpoint('GET', _INVENTORY)
SET_INVENTORY = Endpoint('PUT', _INVENTORY)
DELETE_INVENTORY = Endpoint('DELETE', _INVENTORY, silent=True)

SHOW_PROVIDER_USAGES = Endpoint('GET', f'{_PROVIDER}/usages')
LIST_AGGREGATES = Endpoint('GET', _AGGREGATES, _since(1))
SET_AGGREGATES = Endpoint('PUT', _AGGREGATES, _since(1))
LIST_PROVIDER_ALLOCATIONS = Endpoint('GET', f'{_PROVIDER}/allocations')
LIST_PROVIDER_TRAITS = Endpoint('GET', _PROVIDER_TRAITS, _since(6))
SET_PROVIDER_TRAITS = Endpoint('PUT', _PROVIDER_TRAITS, _since(6))
DELETE_PROVIDER_TRAITS = Endpoint('DELETE', _PROVIDER_TRAITS, _since(6), silent=True)

REPLACE_ALLOCATIONS = Endpoint('POST', '/allocations', _since(13), silent=True)
SHOW_ALLOCATIONS = Endpoint('GET', _CONSUMER)
SET_ALLOCATIONS = Endpoint('PUT', _CONSUMER, silent=True)
DELETE_ALLOCATIONS = Endpoint('DELETE', _CONSUMER, silent=True)
LIST_CANDIDATES = Endpoint('GET', '/allocation_candidates', _since(10))

LIST_TRAITS = Endpoint('GET', '/traits', _since(6))
SHOW_TRAIT = Endpoint('GET', _TRAIT, _since(6))
CREATE_TRAIT = Endpoint('PUT', _TRAIT, _since(6))
DELETE_TRAIT = Endpoint('DELETE', _TRAIT, _since(6), silent=True)

SHOW_USAGES = Endpoint('GET', '/usages', _since(9))
#: The service takes about 8 ms for each consumer, all in one transaction.
RESHAPE = Endpoint('POST', '/reshaper', _since(30), silent=True, timeout=600, roles='service')

ALL: tuple[Endpoint, ...] = tuple(row for row in globals().values() if isinstance(row, Endpoint))
