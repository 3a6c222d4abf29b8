# SPDX-License-Identifier: Apache-2.0
"""The fields of inventories on a command line: their options, and amounts and ratios as typed."""

import argparse
import math
from collections.abc import Iterable, Mapping

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.commands.framework import filter_options
from placementclient.commands.framework.option import Option
from placementclient.model.inventories import FIELDS

#: The fields of an inventory, by name.
Fields = Mapping[str, int | float]


def parse_ratio(text: str) -> float:
    """Return an allocation ratio.

    :raises argparse.ArgumentTypeError: if it is not a finite number, on which Placement would fail,
        or not above 0, with which nothing fits
    """
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not math.isfinite(ratio):
        raise argparse.ArgumentTypeError(f'{text!r}: not a number such as 1.5')
    if ratio <= 0:
        raise argparse.ArgumentTypeError(f'{text}: an allocation ratio is above 0')
    return ratio


def parse_amount(text: str) -> int:
    """Return a whole number; raise ArgumentTypeError for anything else, also for ``+2``."""
    if fault := filter_options.explain_plus_sign(text):
        raise argparse.ArgumentTypeError(fault)
    try:
        return int(text)
    except ValueError:
        advice = filter_options.advise_on_unit('amount', text)
        raise argparse.ArgumentTypeError(
            f'invalid int value: {text!r}{advice and f".{advice}"}'
        ) from None


_UNITS = 'in units of the class'
_FIELD_HELP = {
    'allocation_ratio': 'Overcommit: capacity is (total - reserved) times this ratio; default: 1.0',
    'min_unit': f'Smallest amount of one allocation, {_UNITS}; default: 1',
    'max_unit': f'Largest amount of one allocation, {_UNITS}; default: no limit',
    'reserved': f'Amount that is never allocated, {_UNITS}; default: 0',
    'step_size': f'Amounts of allocations are multiples of this step, {_UNITS}; default: 1',
    'total': f'Physical amount, {_UNITS}: MiB for MEMORY_MB, GiB for DISK_GB; required',
}
FIELD_OPTIONS = tuple(
    Option(
        # osc-placement has underscores here.
        *dict.fromkeys((f'--{field}', f'--{field.replace("_", "-")}')),
        type=parse_ratio if field == 'allocation_ratio' else parse_amount,
        required=field == 'total',
        help=help,
    )
    for field, help in _FIELD_HELP.items()
)


def parse_fields(arguments: Iterable[str]) -> dict[str, dict[str, int | float]]:
    """Return the fields of ``['VCPU=16', 'VCPU:reserved=2']`` by resource class."""
    inventories: dict[str, dict[str, int | float]] = {}
    for argument in arguments:
        parts = argument.split('=')
        if len(parts) != 2:
            raise errors.BadArgument(
                f'Resource argument must have "name=value" format, as in VCPU=64: {argument}'
            )
        name, colon, field = parts[0].partition(':')
        if ':' in field:
            raise errors.BadArgument('Resource argument can contain only one colon')
        field = field if colon else 'total'
        if not (name and field and parts[1]):
            raise errors.BadArgument('Name, field and value must be not empty')
        if field not in FIELDS:
            near = suggest_similar(field, FIELDS) or f'. The fields are {", ".join(FIELDS)}'
            raise errors.BadArgument(f'Unknown inventory field {field}{near}')
        inventories.setdefault(name, {})[field] = _parse_value(name, field, parts[1])
    return inventories


def _parse_value(resource_class: str, field: str, text: str) -> int | float:
    subject = f'{resource_class}:{field}'
    filter_options.refuse_plus_sign(subject if field != 'total' else resource_class, text)
    if field != 'allocation_ratio':
        return filter_options.parse_whole_number(text, subject)
    try:
        return parse_ratio(text)
    except argparse.ArgumentTypeError as reason:
        raise errors.BadArgument(f'{subject}={reason}') from None
