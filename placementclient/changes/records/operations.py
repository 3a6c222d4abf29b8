# SPDX-License-Identifier: Apache-2.0
"""Operations in plans and journals: short for a reader, or complete."""

import re
import typing
from collections.abc import Mapping
from dataclasses import asdict

import msgspec

from placementclient.basis.wording import format_count
from placementclient.changes import operations as ops
from placementclient.files.encoding import encode_json


def encode_brief(operation: ops.Operation) -> dict[str, object]:
    """Return a short record of an operation, for a reader: the plan has the values."""
    facts: dict[str, object]
    match operation:
        case ops.EnsureClass() | ops.EnsureTrait() | ops.CreateProvider():
            facts = asdict(operation)
        case ops.DeleteProvider(uuid, name):
            facts = {'uuid': uuid, 'name': name}
        case ops.SetTraits(uuid, after=after):
            facts = {'provider_uuid': uuid, 'traits': sorted(after)}
        case ops.SetAggregates(uuid, after=after):
            facts = {'provider_uuid': uuid, 'aggregates': sorted(after)}
        case ops.Reshape(inventories, consumers):
            facts = {
                'providers': [change.provider_uuid for change in inventories],
                'consumers': [change.uuid for change in consumers],
            }
        case _:
            return encode_whole(operation)
    kind = re.sub(r'\B(?=[A-Z])', '-', type(operation).__name__).lower()
    return {'operation': kind, **facts}


#: What is done once an operation is carried out, by the kind in its record.
_DONE = {
    'createprovider': '{name} created',
    'deleteprovider': '{name} deleted',
    'updateprovider': '{name} renamed or moved',
    'settraits': 'traits of {name} set',
    'setaggregates': 'aggregates of {name} set',
    'setinventories': 'inventories of {name} set',
    'setallocations': 'allocations of {count} set',
    'reshape': 'inventories and allocations moved',
}


def describe_done_operation(record: Mapping[str, object], names: Mapping[str, str]) -> str:
    """Return a clause about an operation that is done; empty if it made a class or a trait.

    :param names: of providers, by UUID
    """
    values = record.get('values')
    facts = values if isinstance(values, Mapping) else record
    uuid = str(facts.get('uuid') or facts.get('provider_uuid', ''))
    after = facts.get('after')
    count = format_count(len(after) if isinstance(after, list) else 0, 'consumer')
    text = _DONE.get(str(record['operation']).replace('-', '').lower(), '')
    return text.format(name=facts.get('name') or names.get(uuid, uuid), count=count)


#: The operations by the names that complete records have.
_TYPES: Mapping[str, type[ops.Operation]] = {
    kind.__name__: kind for kind in typing.get_args(ops.Operation)
}


def encode_whole(operation: ops.Operation) -> dict[str, object]:
    """Return the complete record of an operation, for :func:`decode_whole`."""
    values: dict[str, object] = msgspec.json.decode(encode_json(operation))
    return {'operation': type(operation).__name__, 'values': values}


def decode_whole(record: Mapping[str, object]) -> ops.Operation:
    """Return the operation of a record that :func:`encode_whole` made.

    :raises LookupError, ValueError: if another function made it
    """
    operation: ops.Operation = msgspec.convert(record['values'], _TYPES[str(record['operation'])])
    return operation
