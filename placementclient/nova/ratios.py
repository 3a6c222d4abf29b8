# SPDX-License-Identifier: Apache-2.0
"""The allocation ratios of the ``nova.conf`` of a nova-compute. Pure."""

from typing import NamedTuple

from placementclient.basis import errors
from placementclient.nova import configuration

_CLASSES = {'cpu': 'VCPU', 'ram': 'MEMORY_MB', 'disk': 'DISK_GB'}
#: The options for ratios and their classes; the last option of a class that has a value counts.
OPTIONS = {
    f'{prefix}{word}_allocation_ratio': resource_class
    for prefix in ('initial_', '')
    for word, resource_class in _CLASSES.items()
}


class ConfiguredRatio(NamedTuple):
    """The ratio that a nova-compute gives an inventory.

    :param option: the name of its option; that of a new inventory alone begins with ``initial_``
    """

    option: str
    value: float

    @property
    def is_lasting(self) -> bool:
        """Return whether nova-compute sets the ratio again at every update."""
        return not self.option.startswith('initial_')


def parse_ratios(text: str, path: str) -> dict[str, ConfiguredRatio]:
    """Return the ratios that a file states, by class; the last value counts.

    As in Nova, ``cpu_allocation_ratio`` comes before ``initial_cpu_allocation_ratio``, and 0 is as
    if the option was not there.

    :raises errors.BadFile: for a line that is no option, and for a value that is no ratio
    """
    stated = {
        option.name: _parse_ratio(option, path)
        for option in configuration.parse_options(text, path)
        if option.section == 'DEFAULT' and option.name in OPTIONS
    }
    return {
        resource_class: ConfiguredRatio(name, stated[name])
        for name, resource_class in OPTIONS.items()
        if stated.get(name)
    }


def _parse_ratio(option: configuration.ConfigOption, path: str) -> float:
    try:
        value = float(option.value)
    except ValueError:
        value = -1
    if not 0 <= value < float('inf'):
        raise errors.BadFile(path, f'{option.name}: {option.value!r} is no ratio', option.line)
    return value
