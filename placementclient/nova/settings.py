"""The options of ``nova.conf`` that change Nova's requests to Placement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from placementclient.client import errors
from placementclient.nova import configuration, pci
from placementclient.nova.server_parts import Refusal

_WORDS = {
    **dict.fromkeys(('true', '1', 'on', 'yes'), True),
    **dict.fromkeys(('false', '0', 'off', 'no'), False),
}
#: The options by section and name, and the field of each.
_FIELDS = {
    ('DEFAULT', 'default_schedule_zone'): 'default_schedule_zone',
    ('filter_scheduler', 'pci_in_placement'): 'pci_in_placement',
    ('pci', 'alias'): 'aliases',
    **{
        ('scheduler', name): name
        for name in (
            'enable_isolated_aggregate_filtering',
            'image_metadata_prefilter',
            'limit_tenants_to_placement_aggregate',
            'max_placement_results',
            'placement_aggregate_required_for_tenants',
            'query_placement_for_image_type_support',
            'query_placement_for_routed_network_aggregates',
        )
    },
    ('workarounds', 'disable_fallback_pcpu_query'): 'disable_fallback_pcpu_query',
}

_Id = Annotated[str, msgspec.Meta(pattern=r'^[\da-fA-F]{4}$')]
_Text = str | msgspec.UnsetType


_Type = Literal['type-PCI', 'type-PF', 'type-VF']
_Policy = Literal['legacy', 'preferred', 'required', 'socket']


class _AliasRecord(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    capability_type: Literal['pci'] | msgspec.UnsetType = msgspec.UNSET
    vendor_id: _Id | msgspec.UnsetType = msgspec.UNSET
    product_id: _Id | msgspec.UnsetType = msgspec.UNSET
    device_type: _Type | msgspec.UnsetType = msgspec.UNSET
    numa_policy: _Policy | msgspec.UnsetType = msgspec.UNSET
    resource_class: _Text = msgspec.UNSET
    traits: _Text = msgspec.UNSET
    live_migratable: _Text = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class PCIAlias:
    """The devices of an alias in flavors.

    :param required: the traits of the provider
    """

    resource_class: str
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Settings:
    """The options, with Nova's defaults.

    :param is_known: False where no file has been read
    :param aliases: each as JSON
    """

    is_known: bool = False
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

    def pci_aliases(self) -> Mapping[str, PCIAlias]:
        """Return the aliases by name.

        :raises Refusal: if one of them is none that Nova takes: then it refuses all flavors with
            an alias
        """
        records: dict[str, _AliasRecord] = {}
        for text in self.aliases:
            try:
                record = msgspec.convert(json.loads(text), _AliasRecord)
            except (ValueError, msgspec.ValidationError) as reason:
                raise Refusal(f'[pci] alias has {text}: {reason}') from None
            name = record.name.strip()
            if name in records and not _is_alternative(record, records[name]):
                raise Refusal(f'[pci] alias has two kinds of device named {name}')
            if name in records and self.pci_in_placement:
                raise Refusal(f'[pci] alias has {name} twice, with pci_in_placement')
            has_ids = msgspec.UNSET not in (record.vendor_id, record.product_id)
            if not has_ids and not (self.pci_in_placement and record.resource_class):
                raise Refusal(f'[pci] alias has {name} without vendor_id and product_id')
            records.setdefault(name, record)
        return {name: _alias(record) for name, record in records.items()}


def _is_alternative(record: _AliasRecord, other: _AliasRecord) -> bool:
    policies = {each.numa_policy or 'legacy' for each in (record, other)}
    types = {each.device_type for each in (record, other)}
    return len(policies) == len(types) == 1 and bool(record.device_type)


def _alias(record: _AliasRecord) -> PCIAlias:
    name = record.resource_class or ''
    resource_class = pci.class_of(name, str(record.vendor_id), str(record.product_id))
    return PCIAlias(resource_class, pci.traits_of(record.traits or ''))


def settings(files: Iterable[tuple[str, str]]) -> Settings:
    """Return the options of some files; the last value of an option counts, aliases add up.

    :param files: the path and the text of each
    :raises errors.BadFile: if a value is not of the option's kind
    """
    values: dict[str, Any] = {'aliases': ()}
    for path, text in files:
        values['is_known'] = True
        for section, name, value, line in configuration.options(text, path):
            field = _FIELDS.get((section, name))
            if field == 'aliases':
                values[field] = (*values[field], value)
            elif field is not None:
                wrong = errors.BadFile(path, f'{name}: {value!r}', line)
                values[field] = _typed(field, value, wrong)
    return Settings(**values)


def _typed(field: str, value: str, wrong: errors.BadFile) -> str | int | bool:
    if field == 'default_schedule_zone':
        return value
    if field == 'max_placement_results' and value.isdecimal() and int(value) > 0:
        return int(value)
    if field == 'max_placement_results' or value.lower() not in _WORDS:
        raise wrong
    return _WORDS[value.lower()]
