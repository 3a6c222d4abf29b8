"""What the service answers to each endpoint: the types of what is read of it.

What else is in an answer is passed over, and what is missing is told where it is looked for: an
older release has less. The shapes are plain data, as what checks types for others takes longer to
load than a command to run.

A shape is a type, a tuple of types, a list with the shape of its elements, or a mapping: with the
shapes of its keys, or under :data:`EACH` with that of all its values.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from placementclient import endpoints, errors
from placementclient.endpoints import Endpoint

#: Stands for every key.
EACH = '...'
#: The largest ratio that the service stores: JSON can say 1e999.
_LARGEST = 3.40282e38

TEXT = (str, NoneType)
RESOURCES = {EACH: int}
PROVIDER = {
    'uuid': str,
    'name': str,
    'generation': int,
    'parent_provider_uuid': TEXT,
    'root_provider_uuid': TEXT,
}
HOLDING = {
    'resources': RESOURCES,
    'generation': int,
    'consumer_generation': (int, NoneType),
    # How a candidate says it below 1.12.
    'resource_provider': PROVIDER,
}
#: One inventory, with the generation of its provider where it is alone.
INVENTORY = {
    'resource_provider_generation': int,
    'total': int,
    'reserved': int,
    'min_unit': int,
    'max_unit': int,
    'step_size': int,
    'allocation_ratio': float,
}
INVENTORIES = {'resource_provider_generation': int, 'inventories': {EACH: INVENTORY}}
#: What belongs to a provider; an answer has one thing of these, and the generation.
OF_PROVIDER = {
    'resource_provider_generation': int,
    'aggregates': [str],
    'traits': [str],
    'usages': RESOURCES,
    'allocations': {EACH: HOLDING},
}
CONSUMER = {
    'allocations': {EACH: HOLDING},
    'project_id': TEXT,
    'user_id': TEXT,
    'consumer_generation': (int, NoneType),
    'consumer_type': TEXT,
}
SUMMARY = {
    'resources': {EACH: {'used': int, 'capacity': int}},
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
    endpoints.SHOW_USAGES: {'usages': {EACH: (int, RESOURCES)}},
}


def check(endpoint: Endpoint, body: Any) -> None:
    """Refuse an answer of which something has another type than the service gives it.

    :raises errors.InvalidAnswer: with the place
    """
    fault = _fault(SHAPES.get(endpoint, {}), body, '$')
    if fault:
        raise errors.InvalidAnswer(
            f'{endpoint} was answered with something else: {fault}: '
            'what answers is not a Placement service'
        )


def _fault(shape: Any, value: Any, place: str) -> str | None:
    """What is not as its shape says, with its place; ``None``: all is."""
    if isinstance(shape, type):
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


def _is_of(kind: type, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= _LARGEST
    return isinstance(value, kind)


def _called(kind: type) -> str:
    return {dict: 'an object', list: 'an array', str: 'a text', int: 'an integer'}.get(
        kind, 'a number'
    )
