"""The answers of the service to each endpoint: types of the members that are read.

What else is in an answer is passed over, and a missing member is an error where it is read: an
older release has less. The shapes are plain data, as what checks types for others takes longer to
load than a command to run.

A shape is a type, a range of integers, a tuple of shapes, a list with the shape of its elements, or
a mapping: with the shapes of its keys, or under :data:`EACH` with that of all its values.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from placementclient.client import endpoints, errors
from placementclient.client.endpoints import Endpoint

#: Stands for every key.
EACH = '...'
#: The largest ratio that the service stores: JSON can say 1e999.
_LARGEST = 3.40282e38

#: A generation, or a sum of amounts: JSON has integers of any length, databases have not.
INTEGER = range(-(2**63), 2**63)
#: An amount or a field of an inventory, as the service stores it.
COUNT = range(2**31)
#: What a total comes to with the largest ratio.
CAPACITY = range(-(10**48), 10**48)
TEXT = (str, NoneType)
RESOURCES = {EACH: INTEGER}
PROVIDER = {
    'uuid': str,
    'name': str,
    'generation': INTEGER,
    'parent_provider_uuid': TEXT,
    'root_provider_uuid': TEXT,
}
HOLDING = {
    'resources': {EACH: COUNT},
    'generation': INTEGER,
    'consumer_generation': (INTEGER, NoneType),
    # How a candidate says it below 1.12.
    'resource_provider': PROVIDER,
}
#: One inventory, with the generation of its provider where it is alone.
INVENTORY = {
    'resource_provider_generation': INTEGER,
    'total': COUNT,
    'reserved': COUNT,
    'min_unit': COUNT,
    'max_unit': COUNT,
    'step_size': COUNT,
    'allocation_ratio': float,
}
INVENTORIES = {'resource_provider_generation': INTEGER, 'inventories': {EACH: INVENTORY}}
#: What belongs to a provider; an answer has one thing of these, and the generation.
OF_PROVIDER = {
    'resource_provider_generation': INTEGER,
    'aggregates': [str],
    'traits': [str],
    'usages': RESOURCES,
    'allocations': {EACH: HOLDING},
}
CONSUMER = {
    'allocations': {EACH: HOLDING},
    'project_id': TEXT,
    'user_id': TEXT,
    'consumer_generation': (INTEGER, NoneType),
    'consumer_type': TEXT,
}
SUMMARY = {
    'resources': {EACH: {'used': INTEGER, 'capacity': CAPACITY}},
    'traits': [str],
    'parent_provider_uuid': TEXT,
    'root_provider_uuid': TEXT,
}

SHAPES: dict[Endpoint, Any] = {
    endpoints.SHOW_API: {'versions': [{'min_version': str, 'max_version': str}]},
    endpoints.LIST_CLASSES: {'resource_classes': [{'name': str}]},
    endpoints.SHOW_CLASS: {'name': str},
    endpoints.SET_CLASS: {'name': str},
    endpoints.LIST_PROVIDERS: {'resource_providers': [PROVIDER]},
    endpoints.CREATE_PROVIDER: PROVIDER,
    endpoints.SHOW_PROVIDER: PROVIDER,
    endpoints.SET_PROVIDER: PROVIDER,
    endpoints.LIST_INVENTORIES: INVENTORIES,
    endpoints.SET_INVENTORIES: INVENTORIES,
    endpoints.CREATE_INVENTORY: INVENTORY,
    endpoints.SHOW_INVENTORY: INVENTORY,
    endpoints.SET_INVENTORY: INVENTORY,
    endpoints.SHOW_PROVIDER_USAGES: OF_PROVIDER,
    endpoints.LIST_AGGREGATES: OF_PROVIDER,
    endpoints.SET_AGGREGATES: OF_PROVIDER,
    endpoints.LIST_PROVIDER_TRAITS: OF_PROVIDER,
    endpoints.SET_PROVIDER_TRAITS: OF_PROVIDER,
    endpoints.LIST_PROVIDER_ALLOCATIONS: OF_PROVIDER,
    endpoints.SHOW_ALLOCATIONS: CONSUMER,
    endpoints.LIST_CANDIDATES: {
        'allocation_requests': [
            # A list below 1.12, a mapping by provider since.
            {'allocations': ({EACH: HOLDING}, [HOLDING]), 'mappings': {EACH: [str]}}
        ],
        'provider_summaries': {EACH: SUMMARY},
    },
    endpoints.LIST_TRAITS: OF_PROVIDER,
    # By class; from 1.38 on by type of consumer before that.
    endpoints.SHOW_USAGES: {'usages': {EACH: (INTEGER, RESOURCES)}},
}


def check(endpoint: Endpoint, body: Any) -> None:
    """Refuse an answer with no member that the service gives it, or with one of another type.

    :raises errors.InvalidAnswer: with the place
    """
    shape = SHAPES.get(endpoint, {})
    fault = _fault(shape, body, '$')
    if fault or shape.keys().isdisjoint(body):
        raise errors.InvalidAnswer(
            f'{endpoint} was answered with something else: {f"{fault}: " if fault else ""}'
            'what answers is not a Placement service'
        )


def _fault(shape: Any, value: Any, place: str) -> str | None:
    """Return the part that is not as its shape says, with its place, or ``None``."""
    if isinstance(shape, type | range):
        return None if _is_of(shape, value) else f'{_called(shape)} is missing at `{place}`'
    if isinstance(shape, tuple):
        faults = [_fault(each, value, place) for each in shape]
        return None if None in faults else faults[0]
    if not isinstance(value, type(shape)):
        return f'{_called(type(shape))} is missing at `{place}`'
    if isinstance(shape, list):
        inside = ((shape[0], each, f'{place}[{index}]') for index, each in enumerate(value))
    elif EACH in shape:
        inside = ((shape[EACH], each, f'{place}[...]') for each in value.values())
    else:
        inside = ((shape[key], value[key], f'{place}.{key}') for key in shape if key in value)
    return next((fault for each in inside if (fault := _fault(*each))), None)


def _is_of(kind: type | range, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(kind, range):
        return isinstance(value, int) and value in kind
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= _LARGEST
    return isinstance(value, kind)


def _called(kind: Any) -> str:
    if isinstance(kind, range):
        return f'an integer from {kind[0]} to {kind[-1]}'
    return {dict: 'an object', list: 'an array', str: 'a text'}.get(kind, 'a number')
