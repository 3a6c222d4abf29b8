# SPDX-License-Identifier: Apache-2.0
"""The public Python API: one function for each endpoint, between JSON and the model.

Every function takes a :class:`placementclient.client.http.Client` first and providers by UUID;
:func:`placementclient.api.resource_provider.find` turns a name into one. A write with a
``generation``, which is the provider's, raises :class:`ConcurrentUpdate` if it has moved; what does
not exist is :class:`NotFound`. The refusals are in :mod:`placementclient.client.errors`. The row
of an endpoint in :mod:`placementclient.client.endpoints` has the microversion from which it exists.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from placementclient.api import (
        aggregate,
        allocation,
        allocation_candidate,
        inventory,
        reshaper,
        resource_class,
        resource_provider,
        root,
        trait,
        usage,
    )

__all__ = [
    'aggregate',
    'allocation',
    'allocation_candidate',
    'inventory',
    'reshaper',
    'resource_class',
    'resource_provider',
    'root',
    'trait',
    'usage',
]


def __getattr__(name: str) -> ModuleType:
    """Load a module when it is first asked for: a command needs one or two of them."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return importlib.import_module(f'{__name__}.{name}')
