# SPDX-License-Identifier: Apache-2.0
"""The options of ``nova.conf`` that change Nova's requests to Placement."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from placementclient.basis import errors
from placementclient.model.requests import Filter
from placementclient.nova import configuration, pci
from placementclient.nova.features import is_true
from placementclient.nova.server_parts import Refusal

BOOLEANS = {
    **dict.fromkeys(('true', '1', 'on', 'yes'), True),
    **dict.fromkeys(('false', '0', 'off', 'no'), False),
}
#: The sections of the options that are not of the scheduler.
_SECTIONS = {
    'default_schedule_zone': 'DEFAULT',
    'disable_fallback_pcpu_query': 'workarounds',
    'pci_in_placement': 'filter_scheduler',
}

#: The section and the name of the option, and its deprecated ones.
ALIAS_OPTION = (('pci', 'alias'), ('DEFAULT', 'pci_alias'))

_Id = Annotated[str, msgspec.Meta(pattern=r'^[\da-fA-F]{4}$')] | None
_Type = Literal['type-PCI', 'type-PF', 'type-VF']
_Policy = Literal['legacy', 'preferred', 'required', 'socket']


class _PciAliasRecord(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    capability_type: Literal['pci'] = 'pci'
    vendor_id: _Id = None
    product_id: _Id = None
    device_type: _Type | None = None
    numa_policy: _Policy = 'legacy'
    resource_class: str = ''
    traits: str = ''
    live_migratable: str = ''

    @property
    def device_filter(self) -> Filter:
        """The resources and traits of one device."""
        ids = str(self.vendor_id), str(self.product_id)
        traits = sorted(pci.parse_traits(self.traits))
        return Filter({pci.make_class_name(self.resource_class, *ids): 1}, tuple(traits))


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a ``nova.conf``, with Nova's defaults.

    :param is_read: False where no file has been read
    :param aliases: the PCI aliases, each as JSON
    """

    is_read: bool = False
    default_schedule_zone: str | None = None
    pci_in_placement: bool = False
    aliases: tuple[str, ...] = ()
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    limit_tenants_to_placement_aggregate: bool = False
    max_placement_results: int = 1000
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    query_placement_for_routed_network_aggregates: bool = False
    disable_fallback_pcpu_query: bool = False

    def read_pci_aliases(self) -> Mapping[str, Filter]:
        """Return the resources and traits of one device of each PCI alias, by the alias's name.

        :raises Refusal: if any alias is wrong: then Nova refuses all flavors that name an alias
        """
        records: dict[str, _PciAliasRecord] = {}
        for record in self._decode_aliases():
            name = record.name.strip()
            other = records.setdefault(name, record)
            if other is not record:
                kinds = {(alias.numa_policy, alias.device_type) for alias in (record, other)}
                if len(kinds) > 1 or not record.device_type:
                    raise Refusal(f'[pci] alias has two kinds of device named {name}')
                if self.pci_in_placement:
                    raise Refusal(f'[pci] alias has {name} twice, with pci_in_placement')
            has_ids = record.vendor_id and record.product_id
            if not has_ids and not (self.pci_in_placement and record.resource_class):
                raise Refusal(f'[pci] alias has {name} without vendor_id and product_id')
        return {name: record.device_filter for name, record in records.items()}

    def find_migratable_aliases(self) -> set[str]:
        """Return the names of the aliases whose devices move with a running server."""
        records = list(self._decode_aliases())
        bound = {record.name.strip() for record in records if not is_true(record.live_migratable)}
        return {record.name.strip() for record in records} - bound

    def _decode_aliases(self) -> Iterator[_PciAliasRecord]:
        """Yield the PCI aliases in the order of the file.

        :raises Refusal: if one is not valid JSON, or has a wrong field
        """
        for text in self.aliases:
            try:
                value = json.loads(text)
                # A null is no value of any field.
                if None in value.values():
                    raise ValueError('null')
                yield msgspec.convert(value, _PciAliasRecord)
            except (AttributeError, ValueError) as reason:
                raise Refusal(f'[pci] alias has {text}: {reason}') from None


def parse_settings(files: Iterable[tuple[str, str]]) -> Settings:
    """Return the options of files, by path and text; the last value counts, aliases add up.

    :raises errors.BadFile: if a value is not of the option's kind
    """
    values: dict[str, Any] = {'aliases': ()}
    for path, text in files:
        values['is_read'] = True
        aliases = configuration.find_option_settings(text, path, ALIAS_OPTION)
        values['aliases'] += tuple(option.value for option in aliases)
        for section, name, value, line in configuration.parse_options(text, path):
            if section != _SECTIONS.get(name, 'scheduler'):
                continue
            if name == 'default_schedule_zone':
                values[name] = value
            elif name in Settings.__slots__:
                is_number = name == 'max_placement_results'
                typed = _parse_positive_number(value) if is_number else BOOLEANS.get(value.lower())
                if typed is None:
                    raise errors.BadFile(path, f'{name}: {value!r}', line)
                values[name] = typed
    return Settings(**values)


def _parse_positive_number(value: str) -> int | None:
    """Return the number that a text is; ``None`` if it is no positive number."""
    return int(value) if value.isdecimal() and int(value) > 0 else None
