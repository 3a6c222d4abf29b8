# SPDX-License-Identifier: Apache-2.0
"""The request filters of Nova's scheduler, which add conditions to every request. Pure.

The functions of Nova (34.0) that rules follow are in ``nova/scheduler/request_filter.py`` and
``nova/scheduler/utils.py``.
"""

import itertools
from collections.abc import Iterable, Sequence

import os_traits

from placementclient.model.nova import OWNER_NOVA
from placementclient.model.servers import HostAggregate
from placementclient.nova.drafts import Draft, Rule, TraitRule
from placementclient.nova.server_parts import Refusal

#: Hints with which Nova takes all candidates.
_UNLIMITED_HINTS = frozenset({'group', 'same_host', 'different_host'})
#: The traits of the root that properties of an image stand for.
_IMAGE_TRAITS = {
    'hw_cdrom_bus': 'COMPUTE_STORAGE_BUS',
    'hw_disk_bus': 'COMPUTE_STORAGE_BUS',
    'hw_video_model': 'COMPUTE_GRAPHICS_MODEL',
    'hw_vif_model': 'COMPUTE_NET_VIF_MODEL',
    'hw_architecture': 'HW_ARCH',
    'hw_emulation_architecture': 'COMPUTE_ARCH',
    'hw_viommu_model': 'COMPUTE_VIOMMU',
}


def _list_aggregates(draft: Draft, part: str) -> Sequence[HostAggregate]:
    """Return all host aggregates; if they are unknown, none, and note that ``part`` is unknown."""
    if draft.sources.aggregates is None:
        draft.note_missing(part, 'aggregates')
    return draft.sources.aggregates or ()


def _join_uuids(aggregates: Iterable[HostAggregate]) -> list[str]:
    """Return UUIDs as the single value of a list for ``member_of``; an empty list without any."""
    uuids = sorted(aggregate.uuid for aggregate in aggregates)
    return [','.join(uuids)] if uuids else []


def _require_project_aggregates(draft: Draft) -> None:
    """Require the aggregates of the project: ``require_tenant_aggregate`` of Nova."""
    settings, project = draft.settings, draft.server.project
    if not settings.limit_tenants_to_placement_aggregate:
        return
    part = 'aggregates of the project'
    if project is None:
        draft.note_missing(part, 'project')
        return
    aggregates = _join_uuids(
        aggregate
        for aggregate in _list_aggregates(draft, part)
        if any(
            key.startswith('filter_tenant_id') and value == project
            for key, value in aggregate.metadata.items()
        )
    )
    draft.member_of += aggregates
    is_required = settings.placement_aggregate_required_for_tenants
    if is_required and not aggregates and draft.sources.aggregates is not None:
        raise Refusal(f'No valid host: no aggregate is of project {project}')


def _require_zone(draft: Draft) -> None:
    """Require the aggregates of the zone: ``map_az_to_placement_aggregate`` of Nova."""
    if zone := _split_zone(draft)[0]:
        draft.member_of += _join_uuids(
            aggregate
            for aggregate in _list_aggregates(draft, f'availability zone {zone}')
            if aggregate.zone == zone
        )


def _split_zone(draft: Draft) -> tuple[str | None, str, str]:
    """Return the zone, else the default one, and the host and the node, empty if not requested."""
    zone, *others = (draft.server.zone or '').split(':')
    if len(others) > 2:
        raise Refusal(f'{draft.server.zone!r} is no availability zone')
    host, node = (*others, '', '')[:2]
    return zone or draft.settings.default_schedule_zone, host, node


def _require_image_type(draft: Draft) -> None:
    """Require the trait of the disk format of the image: ``require_image_type_support`` of Nova."""
    image = draft.server.image
    if not draft.settings.query_placement_for_image_type_support or draft.server.from_volume:
        return
    if image is None or image.disk_format is None:
        draft.note_missing('format of the image', 'image')
        return
    trait = f'COMPUTE_IMAGE_TYPE_{image.disk_format.upper()}'
    if hasattr(os_traits, trait):
        draft.root_required.add(trait)


def _forbid_isolated_aggregates(draft: Draft) -> None:
    """Forbid aggregates with a trait that the server lacks: ``isolate_aggregates`` of Nova."""
    if draft.settings.enable_isolated_aggregate_filtering:
        required = {f'trait:{name}' for group in draft.groups.values() for name in group.required}
        draft.forbidden_member_of = _join_uuids(
            aggregate
            for aggregate in _list_aggregates(draft, 'isolated aggregates')
            if any(
                key.startswith('trait:') and value == 'required' and key not in required
                for key, value in aggregate.metadata.items()
            )
        )


def _require_traits_of_image_properties(draft: Draft) -> None:
    """Require traits for ``hw_disk_bus`` and others: ``transform_image_metadata`` of Nova."""
    if not draft.settings.image_metadata_prefilter:
        return
    if draft.server.image is None and not draft.server.from_volume:
        draft.note_missing('properties of the image', 'image')
        return
    values = draft.features.properties
    traits = {
        f'{prefix}_{values[name].replace("-", "_").upper()}'
        for name, prefix in _IMAGE_TRAITS.items()
        if name in values
    }
    # All or none.
    if all(hasattr(os_traits, trait) for trait in traits):
        draft.root_required |= traits


def _require_packed_virtqueues(draft: Draft) -> None:
    """Require packed virtqueues on the root provider: ``packed_virtqueue_filter`` of Nova."""
    if draft.features.requires_feature('virtio_packed_ring'):
        draft.root_required.add('COMPUTE_NET_VIRTIO_PACKED')


def _require_routed_networks(draft: Draft) -> None:
    """Require an aggregate of a segment of each port: ``routed_networks_filter`` of Nova."""
    if not draft.settings.query_placement_for_routed_network_aggregates:
        return
    for port in draft.server.ports:
        segment = port.subnet_id or port.network_id
        if segment is None:
            continue
        if draft.sources.segments is None or segment not in draft.sources.segments:
            draft.note_missing(f'segments of {segment}', 'segments')
        elif segments := draft.sources.segments[segment]:
            if not all(segments):
                raise Refusal(f'No valid host: a segment of {segment} has no aggregate')
            draft.member_of.append(','.join(sorted(itertools.chain(*segments))))


def _require_remote_managed_ports(draft: Draft) -> None:
    """Require the trait of remote-managed ports: ``remote_managed_ports_filter`` of Nova."""
    if any(port.vnic_type == 'remote-managed' for port in draft.server.ports):
        draft.root_required.add('COMPUTE_REMOTE_MANAGED_PORTS')


def _require_ephemeral_encryption(draft: Draft) -> None:
    """Require encryption of ephemeral disks: ``ephemeral_encryption_filter`` of Nova."""
    if not draft.features.requires_feature('ephemeral_encryption'):
        return
    draft.root_required.add('COMPUTE_EPHEMERAL_ENCRYPTION')
    if form := draft.features.choose_value('ephemeral_encryption_format'):
        draft.root_required.add(f'COMPUTE_EPHEMERAL_ENCRYPTION_{form.upper()}')


def _add_owner_trait(draft: Draft) -> None:
    """Require OWNER_NOVA on the root and the PCI devices: ``owner_nova_filter`` of Nova."""
    if draft.sources.has_owner_trait is None:
        draft.note_missing(f'{OWNER_NOVA}, taken as required', 'versions of nova-compute')
    if draft.sources.has_owner_trait is not False:
        draft.root_required.add(OWNER_NOVA)
        for suffix in draft.pci_groups:
            draft.groups[suffix].required.add(OWNER_NOVA)


def _limit_candidates(draft: Draft) -> None:
    """Limit the number of candidates, except with scheduler hints that need all of them.

    This is ``resources_from_request_spec`` of Nova.
    """
    if not draft.server.hints & _UNLIMITED_HINTS:
        draft.limit = draft.settings.max_placement_results


def _request_host_tree(draft: Draft) -> None:
    """Request the tree of the chosen host: ``resources_from_request_spec`` of Nova."""
    _, host, node = _split_zone(draft)
    host = draft.server.host or host
    if not host and not node:
        return
    if draft.sources.hypervisors is None:
        draft.note_missing(f'chosen host {host or node}', 'hypervisors')
        return
    uuids = [
        hypervisor.uuid
        for hypervisor in draft.sources.hypervisors
        if host in ('', hypervisor.host) and node in ('', hypervisor.node)
    ]
    if not uuids:
        raise Refusal(f'No valid host: there is no host {host or node}')
    if len(uuids) == 1:
        draft.in_tree = uuids[0]
    else:
        draft.limit = None


def _require_tpm_secret_security(draft: Draft) -> None:
    """Require the trait for the secret of a TPM: ``tpm_secret_security_filter`` of Nova."""
    if draft.features.choose_value('tpm_version') is None:
        return
    security = draft.specs.get('hw:tpm_secret_security') or 'user'
    if security not in ('deployment', 'host', 'user'):
        raise Refusal(f'hw:tpm_secret_security is {security!r}, which Nova does not know')
    draft.root_required.add(f'COMPUTE_SECURITY_TPM_SECRET_SECURITY_{security.upper()}')


#: They follow :data:`placementclient.nova.group_rules.RULES`: the rule of isolated aggregates reads
#: the traits of all groups, and that of the owner the groups of PCI devices.
#: ``_request_host_tree`` lifts the limit that ``_limit_candidates`` has set.
RULES: tuple[Rule, ...] = (
    _require_project_aggregates,
    _require_zone,
    _require_image_type,
    _forbid_isolated_aggregates,
    _require_traits_of_image_properties,
    _require_packed_virtqueues,
    _require_routed_networks,
    _require_remote_managed_ports,
    _require_ephemeral_encryption,
    TraitRule('sound_model', {'virtio': 'COMPUTE_SOUND_MODEL_VIRTIO'}, is_of_root=True),
    _require_tpm_secret_security,
    _add_owner_trait,
    _limit_candidates,
    _request_host_tree,
)
