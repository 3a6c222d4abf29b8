"""Every route of the Placement service, one row for each.

The source is the service's own table (``placement.handler.ROUTE_DECLARATIONS``); a test compares
the two, and proves each ``since`` against the real service.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from placementclient.client import errors
from placementclient.client.microversion import LOWEST, Microversion

#: How often a read is repeated that was not answered.
MAX_RETRIES = 5
#: The most bytes of an answer, once it is decompressed.
ANSWER_LIMIT = 1 << 30


class Endpoint(NamedTuple):
    """A method and a path, and the first microversion that has them."""

    name: str
    method: str
    template: str
    since: Microversion = LOWEST
    #: Whether it is answered with 204 and nothing else.
    silent: bool = False
    #: How long a connection, and then each next part of an answer, is waited for; in seconds.
    timeout: float = 60
    #: The roles, one of which the default policy of the service requires.
    roles: str = 'admin or service'

    @property
    def is_read(self) -> bool:
        """Return whether the request is read-only, so that it can be repeated."""
        return self.method == 'GET'

    def __str__(self) -> str:
        return f'{self.method} {self.template}'

    def path(self, **parts: str) -> str:
        """Return the path with its parts filled in.

        :param parts: one for each field of the template, unquoted
        :raises errors.UnsafePath: for a part with which another URL would be reached
        """
        return self.template.format_map({name: _quoted(part) for name, part in parts.items()})


def _quoted(part: str) -> str:
    """A path part, quoted.

    Quoting alone protects nothing: a WSGI server decodes ``%2F`` before the service matches its
    routes, and proxies resolve ``..``. Nothing in Placement that is named in a path has a slash.
    """
    if part in ('', '.', '..') or '/' in part or not part.isprintable():
        raise errors.UnsafePath(f'{part!r} cannot be part of a URL')
    return quote(part, safe='')


def _since(minor: int) -> Microversion:
    return Microversion(1, minor)


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

SHOW_API = Endpoint('SHOW_API', 'GET', '/')

LIST_CLASSES = Endpoint('LIST_CLASSES', 'GET', _CLASSES, _since(2))
CREATE_CLASS = Endpoint('CREATE_CLASS', 'POST', _CLASSES, _since(2))
SHOW_CLASS = Endpoint('SHOW_CLASS', 'GET', _CLASS, _since(2))
SET_CLASS = Endpoint('SET_CLASS', 'PUT', _CLASS, _since(2))
DELETE_CLASS = Endpoint('DELETE_CLASS', 'DELETE', _CLASS, _since(2), silent=True)

LIST_PROVIDERS = Endpoint('LIST_PROVIDERS', 'GET', _PROVIDERS)
CREATE_PROVIDER = Endpoint('CREATE_PROVIDER', 'POST', _PROVIDERS)
SHOW_PROVIDER = Endpoint('SHOW_PROVIDER', 'GET', _PROVIDER)
SET_PROVIDER = Endpoint('SET_PROVIDER', 'PUT', _PROVIDER)
DELETE_PROVIDER = Endpoint('DELETE_PROVIDER', 'DELETE', _PROVIDER, silent=True)

LIST_INVENTORIES = Endpoint('LIST_INVENTORIES', 'GET', _INVENTORIES)
CREATE_INVENTORY = Endpoint('CREATE_INVENTORY', 'POST', _INVENTORIES)
SET_INVENTORIES = Endpoint('SET_INVENTORIES', 'PUT', _INVENTORIES)
DELETE_INVENTORIES = Endpoint('DELETE_INVENTORIES', 'DELETE', _INVENTORIES, _since(5), silent=True)
SHOW_INVENTORY = Endpoint('SHOW_INVENTORY', 'GET', _INVENTORY)
SET_INVENTORY = Endpoint('SET_INVENTORY', 'PUT', _INVENTORY)
DELETE_INVENTORY = Endpoint('DELETE_INVENTORY', 'DELETE', _INVENTORY, silent=True)

SHOW_PROVIDER_USAGES = Endpoint('SHOW_PROVIDER_USAGES', 'GET', f'{_PROVIDER}/usages')
LIST_AGGREGATES = Endpoint('LIST_AGGREGATES', 'GET', _AGGREGATES, _since(1))
SET_AGGREGATES = Endpoint('SET_AGGREGATES', 'PUT', _AGGREGATES, _since(1))
LIST_PROVIDER_ALLOCATIONS = Endpoint('LIST_PROVIDER_ALLOCATIONS', 'GET', f'{_PROVIDER}/allocations')
LIST_PROVIDER_TRAITS = Endpoint('LIST_PROVIDER_TRAITS', 'GET', _PROVIDER_TRAITS, _since(6))
SET_PROVIDER_TRAITS = Endpoint('SET_PROVIDER_TRAITS', 'PUT', _PROVIDER_TRAITS, _since(6))
DELETE_PROVIDER_TRAITS = Endpoint(
    'DELETE_PROVIDER_TRAITS', 'DELETE', _PROVIDER_TRAITS, _since(6), silent=True
)

REPLACE_ALLOCATIONS = Endpoint(
    'REPLACE_ALLOCATIONS', 'POST', '/allocations', _since(13), silent=True
)
SHOW_ALLOCATIONS = Endpoint('SHOW_ALLOCATIONS', 'GET', _CONSUMER)
SET_ALLOCATIONS = Endpoint('SET_ALLOCATIONS', 'PUT', _CONSUMER, silent=True)
DELETE_ALLOCATIONS = Endpoint('DELETE_ALLOCATIONS', 'DELETE', _CONSUMER, silent=True)
LIST_CANDIDATES = Endpoint('LIST_CANDIDATES', 'GET', '/allocation_candidates', _since(10))

LIST_TRAITS = Endpoint('LIST_TRAITS', 'GET', '/traits', _since(6))
SHOW_TRAIT = Endpoint('SHOW_TRAIT', 'GET', _TRAIT, _since(6))
CREATE_TRAIT = Endpoint('CREATE_TRAIT', 'PUT', _TRAIT, _since(6))
DELETE_TRAIT = Endpoint('DELETE_TRAIT', 'DELETE', _TRAIT, _since(6), silent=True)

SHOW_USAGES = Endpoint('SHOW_USAGES', 'GET', '/usages', _since(9))
#: The service takes about 8 ms for each consumer, all in one transaction.
RESHAPE = Endpoint(
    'RESHAPE', 'POST', '/reshaper', _since(30), silent=True, timeout=600, roles='service'
)

ALL: tuple[Endpoint, ...] = tuple(row for row in globals().values() if isinstance(row, Endpoint))
