# SPDX-License-Identifier: Apache-2.0
"""The groups of a request, from the flavor, the image and the ports of a server. Pure.

The functions of Nova (34.0) that rules follow are in ``nova/scheduler/utils.py``, but for
``_validate_flavor_image_nostatus`` (``nova/compute/api.py``), ``get_pci_requests_from_flavor``
(``nova/pci/request.py``), ``get_device_profile_request_groups`` (``nova/accelerator/cyborg.py``),
``accelerators_filter`` (``nova/scheduler/request_filter.py``) and
``get_stateless_firmware_constraint`` (``nova/virt/hardware.py``).
"""

import itertools
import math
from collections import Counter

import os_resource_classes

from placementclient.basis.wording import suggest_similar
from placementclient.model.network import Port
from placementclient.nova.drafts import EXTRA_SPEC, Draft, OpenGroup, Rule, TraitRule
from placementclient.nova.features import ALIAS_SPEC, PROFILE_SPEC, parse_alias_counts
from placementclient.nova.server_parts import Refusal


def _refuse_large_image(draft: Draft) -> None:
    """Refuse an image larger than the flavor: ``_validate_flavor_image_nostatus`` of Nova."""
    image, flavor = draft.server.image, draft.flavor
    if image is None:
        return
    if flavor.ram < image.min_ram:
        raise Refusal(f'the image needs {image.min_ram} MiB of memory')
    if flavor.disk and not draft.server.from_volume:
        disk = flavor.disk * 2**30
        if max(image.size, image.min_disk * 2**30) > disk:
            raise Refusal(f'the image does not fit on a disk of {flavor.disk} GiB')


def _add_extra_specs(draft: Draft) -> None:
    """Add the resources and traits of the extra specs: ``_process_extra_specs`` of Nova."""
    for key, value in draft.specs.items():
        if match := EXTRA_SPEC.fullmatch(key):
            kind, suffix, name = match.groups()
            draft.groups.setdefault(suffix or '', OpenGroup()).add_extra_spec(kind, name, value)
    draft.flavor_group_count = len(draft.groups) - 1


def _set_group_policy(draft: Draft) -> None:
    """Set the group policy of the extra specs: ``_process_extra_specs`` of Nova."""
    policy = draft.specs.get('group_policy')
    draft.policy = policy if policy in ('none', 'isolate') else None


def _require_traits_named_by_image(draft: Draft) -> None:
    """Require ``NAME`` for an image property ``trait:NAME``: ``_process_image_meta`` of Nova."""
    for name, value in draft.features.properties.items():
        if name.startswith('trait:') and value == 'required':
            draft.common.required.add(name.removeprefix('trait:'))


def request_pinned_cpus(draft: Draft) -> None:
    """Request PCPU in place of VCPU for dedicated CPUs: ``_translate_pinning_policies`` of Nova."""
    cpus = draft.cpus
    if cpus.policy is None and cpus.thread_policy and not draft.features.has_image:
        draft.note_missing('CPU policy', 'image')
    if cpus.policy == 'mixed':
        draft.common.resources['VCPU'] = cpus.shared
    if cpus.policy in ('dedicated', 'mixed'):
        draft.common.resources['PCPU'] = cpus.dedicated
    if cpus.thread_policy == 'require':
        draft.common.required.add('HW_CPU_HYPERTHREADING')
    elif cpus.thread_policy == 'isolate':
        draft.common.forbidden.add('HW_CPU_HYPERTHREADING')


def _add_port_groups(draft: Draft) -> None:
    """Add the request groups of the ports: ``_process_requested_resources`` of Nova."""
    for port in draft.server.ports:
        if port.vnic_type in ('accelerator-direct', 'accelerator-direct-physical'):
            _add_accelerator_groups(draft, port)
        for group in port.groups:
            draft.add_group(group.id, OpenGroup(dict(group.resources), set(group.required)))
        if port.same_subtree:
            draft.same_subtree.append(tuple(sorted(port.same_subtree)))


def _add_accelerator_groups(draft: Draft, port: Port) -> None:
    """Add the groups of accelerators of a port: ``get_device_profile_request_groups`` of Nova."""
    if not port.device_profile:
        raise Refusal(f'port {port.uuid} has no device profile')
    if (groups := draft.find_device_profile(port.device_profile)) is None:
        return
    device_count = 0
    for key, value in itertools.chain.from_iterable(specs.items() for specs in groups):
        if (match := EXTRA_SPEC.fullmatch(key)) and match[1] == 'resources':
            try:
                device_count += int(value)
            except ValueError:
                fault = f'{key}={value}, which is no whole number'
                raise Refusal(f'device profile {port.device_profile} has {fault}') from None
    if device_count > 1:
        raise Refusal(f'port {port.uuid} asks for several devices')
    draft.add_device_profile(groups, port.uuid)


def _add_pci_groups(draft: Draft) -> None:
    """Add a group for each device of the PCI aliases: ``get_pci_requests_from_flavor`` of Nova."""
    text = draft.specs.get(ALIAS_SPEC)
    if text is None:
        return
    if not draft.settings.is_read:
        draft.note_missing(f'{ALIAS_SPEC}={text}', 'nova.conf')
        return
    aliases = draft.settings.read_pci_aliases()
    for number, (name, amount) in enumerate(parse_alias_counts(draft.specs)):
        if name not in aliases:
            raise Refusal(f'no PCI alias is called {name}{suggest_similar(name, aliases)}')
        if draft.settings.pci_in_placement:
            alias = aliases[name]
            for device in range(amount):
                group = OpenGroup(dict(alias.resources), set(alias.required))
                draft.pci_groups.append(f'pci_request_{number}-{device}')
                draft.add_group(draft.pci_groups[-1], group)


def _add_device_profile(draft: Draft) -> None:
    """Add the groups of the device profile of the flavor: ``accelerators_filter`` of Nova."""
    if name := draft.specs.get(PROFILE_SPEC):
        draft.root_required.add('COMPUTE_ACCELERATORS')
        draft.add_device_profile(draft.find_device_profile(name) or ())


def _add_flavor_amounts(draft: Draft) -> None:
    """Add CPUs, memory and disk of the flavor, but for classes that any group has."""
    flavor = draft.flavor
    classes = {name for group in draft.groups.values() for name in group.resources}
    root = 0 if draft.server.from_volume else flavor.disk
    amounts = {
        'MEMORY_MB': flavor.ram,
        'DISK_GB': root + flavor.ephemeral + math.ceil(flavor.swap / 1024),
    }
    if not classes & {'VCPU', 'PCPU'}:
        amounts = {'VCPU': flavor.vcpus} | amounts
    draft.common.resources |= {name: n for name, n in amounts.items() if name not in classes}


def _request_memory_encryption(draft: Draft) -> None:
    """Request a context of encrypted memory: ``_translate_mem_encryption_request`` of Nova."""
    features, image = draft.features, draft.features.properties
    if not features.requires_feature('mem_encryption'):
        return
    models = features.read_values('mem_encryption_model')
    if None not in models and models[0] != models[1]:
        raise features.make_conflict_refusal('mem_encryption_model')
    model = features.choose_value('mem_encryption_model') or 'amd-sev'
    if not features.has_image:
        draft.note_missing('firmware of the image, taken as what hw:mem_encryption needs', 'image')
    elif image.get('hw_firmware_type') != 'uefi':
        raise Refusal('memory encryption needs an image with hw_firmware_type=uefi')
    elif 'q35' not in image.get('hw_machine_type', 'q35'):
        raise Refusal('memory encryption needs an image with hw_machine_type=q35')
    elif model in ('amd-sev-snp', 'intel-tdx') and not _has_stateless_firmware(draft):
        raise Refusal(f'{model} needs an image with hw_firmware_stateless=true')
    elif model == 'intel-tdx' and image.get('hw_video_model') != 'none':
        raise Refusal(f'{model} needs an image with hw_video_model=none')
    draft.common.resources['MEM_ENCRYPTION_CONTEXT'] = 1
    draft.common.required.add(f'HW_CPU_X86_{model.upper().replace("-", "_")}')


def _has_stateless_firmware(draft: Draft) -> bool:
    """Return whether UEFI firmware is stateless: ``get_stateless_firmware_constraint`` of Nova."""
    is_uefi = draft.features.properties.get('hw_firmware_type') == 'uefi'
    return is_uefi and draft.features.requires_feature('firmware_stateless')


def _request_persistent_memory(draft: Draft) -> None:
    """Request a namespace of persistent memory per label: ``_translate_vpmems_request`` of Nova."""
    labels = filter(None, map(str.strip, draft.specs.get('hw:pmem', '').split(',')))
    names = (os_resource_classes.normalize_name(f'PMEM_NAMESPACE_{label}') for label in labels)
    draft.common.resources |= Counter(names)


def _require_tpm(draft: Draft) -> None:
    """Require the traits of an emulated TPM: ``_translate_vtpm_request`` of Nova."""
    version = draft.features.choose_value('tpm_version')
    if version is None:
        return
    model = draft.features.choose_value('tpm_model') or 'tpm-tis'
    if model == 'tpm-crb' and version != '2.0':
        raise Refusal('the TPM model tpm-crb needs the version 2.0')
    draft.common.required |= {
        f'COMPUTE_SECURITY_TPM_{version.replace(".", "_")}',
        f'COMPUTE_SECURITY_TPM_{model.removeprefix("tpm-").upper()}',
    }


def _require_stateless_firmware(draft: Draft) -> None:
    """Require stateless firmware: ``_translate_stateless_firmware_request`` of Nova."""
    if _has_stateless_firmware(draft):
        draft.common.required.add('COMPUTE_SECURITY_STATELESS_FIRMWARE')


#: The order of the first nine rules counts, as in Nova's ``ResourceRequest.from_request_spec``:
#:
#: * Extra specs come first. They count the groups of the flavor, which decide on the default group
#:   policy; a later rule refuses a group with the same suffix.
#: * ``request_pinned_cpus`` replaces VCPU and PCPU of the extra specs.
#: * ``_add_flavor_amounts`` comes after all rules that add groups, as it leaves out each class that
#:   one of them has.
#:
#: Each rule after these adds classes and traits that no other one reads.
RULES: tuple[Rule, ...] = (
    _refuse_large_image,
    _add_extra_specs,
    _set_group_policy,
    _require_traits_named_by_image,
    request_pinned_cpus,
    _add_port_groups,
    _add_pci_groups,
    _add_device_profile,
    _add_flavor_amounts,
    _request_memory_encryption,
    _request_persistent_memory,
    _require_tpm,
    TraitRule('pci_numa_affinity_policy', {'socket': 'COMPUTE_SOCKET_PCI_NUMA_AFFINITY'}),
    TraitRule('secure_boot', {'required': 'COMPUTE_SECURITY_UEFI_SECURE_BOOT'}, 'os'),
    TraitRule(
        'maxphysaddr_mode',
        {
            'passthrough': 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
            'emulate': 'COMPUTE_ADDRESS_SPACE_EMULATED',
        },
    ),
    _require_stateless_firmware,
)
