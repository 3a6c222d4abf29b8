# SPDX-License-Identifier: Apache-2.0
"""The features of a flavor and an image, by the rules of Nova (34.0)."""

from collections.abc import Collection, Mapping

from placementclient.model.servers import Flavor, Image
from placementclient.nova.server_parts import Refusal

_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})

_ARCHITECTURES = (
    *('aarch64', 'alpha', 'armv6', 'armv7b', 'armv7l', 'cris', 'i686', 'ia64', 'lm32', 'm68k'),
    *('microblaze', 'microblazeel', 'mips', 'mips64', 'mips64el', 'mipsel', 'openrisc', 'parisc'),
    *('parisc64', 'ppc', 'ppc64', 'ppc64le', 'ppcemb', 'ppcle', 's390', 's390x', 'sh4', 'sh4eb'),
    *('sparc', 'sparc64', 'unicore32', 'x86_64', 'xtensa', 'xtensaeb'),
)
_DISK_BUSES = ('fdc', 'ide', 'lxc', 'sata', 'scsi', 'uml', 'usb', 'virtio', 'xen')
_NETWORK_CARDS = (
    *('e1000', 'e1000e', 'igb', 'lan9118', 'ne2k_pci', 'netfront', 'pcnet', 'rtl8139'),
    *('spapr-vlan', 'sriov', 'virtio', 'vmxnet', 'vmxnet3'),
)
#: The values that Nova accepts for image properties and extra specs, by the common part of the
#: names.
CHOICES: Mapping[str, Collection[str]] = {
    'hw_architecture': _ARCHITECTURES,
    'hw_cdrom_bus': _DISK_BUSES,
    'hw_cpu_policy': ('dedicated', 'mixed', 'shared'),
    'hw_cpu_thread_policy': ('isolate', 'prefer', 'require'),
    'hw_disk_bus': _DISK_BUSES,
    'hw_emulation_architecture': _ARCHITECTURES,
    'hw_emulator_threads_policy': ('isolate', 'share'),
    'hw_ephemeral_encryption_format': ('luks', 'luksv2', 'plain'),
    'hw_firmware_type': ('bios', 'uefi'),
    'hw_maxphysaddr_mode': ('emulate', 'passthrough'),
    'hw_mem_encryption_model': ('amd-sev', 'amd-sev-es', 'amd-sev-snp', 'intel-tdx'),
    'hw_pci_numa_affinity_policy': ('legacy', 'preferred', 'required', 'socket'),
    'hw_sound_model': ('ac97', 'es1370', 'ich6', 'ich9', 'pcspk', 'sb16', 'usb', 'virtio'),
    'hw_tpm_model': ('tpm-crb', 'tpm-tis'),
    'hw_tpm_version': ('1.2', '2.0'),
    'hw_video_model': (
        *('bochs', 'cirrus', 'gop', 'none', 'qxl', 'vga', 'virtio', 'vmvga', 'xen'),
    ),
    'hw_vif_model': _NETWORK_CARDS,
    'hw_viommu_model': ('auto', 'intel', 'smmuv3', 'virtio'),
    'os_secure_boot': ('disabled', 'optional', 'required'),
}
_OLD_ARCHITECTURES = {
    'amd64': 'x86_64',
    **dict.fromkeys(('i386', 'i486', 'i586', 'x86_32', 'x86_32p'), 'i686'),
}
#: Only flavors have these.
_FLAVORS = frozenset({'hw_emulator_threads_policy'})
#: Other spellings of the values.
_SYNONYMS: Mapping[str, Mapping[str, str]] = {
    'hw_architecture': _OLD_ARCHITECTURES,
    'hw_emulation_architecture': _OLD_ARCHITECTURES,
    'hw_vif_model': {
        'virtuale1000': 'e1000',
        'virtuale1000e': 'e1000e',
        'virtualpcnet32': 'pcnet',
        'virtualsriovethernetcard': 'sriov',
        'virtualvmxnet': 'vmxnet',
        'virtualvmxnet3': 'vmxnet3',
    },
}


def is_true(text: str) -> bool:
    """Return the boolean value of a text."""
    return text.strip().lower() in _TRUE


class Features:
    """The extra specs of a flavor and the properties of an image.

    :ivar has_image: False where nothing is known of the image
    :raises Refusal: if Nova refuses a property of the image
    """

    def __init__(self, flavor: Flavor, image: Image | None) -> None:
        self.flavor, self.specs = flavor, flavor.extra_specs
        self.has_image = image is not None
        self.properties = _normalize_properties(image or Image())

    def read_values(self, key: str, prefix: str = 'hw') -> tuple[str | None, str | None]:
        """Return the values of an extra spec and of the image property that corresponds to it."""
        return self.specs.get(f'{prefix}:{key}'), self.properties.get(f'{prefix}_{key}')

    def choose_value(self, key: str, prefix: str = 'hw') -> str | None:
        """Return the value of the flavor or of the image.

        :raises Refusal: if they contradict each other, or Nova does not know the value
        """
        flavor, image = self.read_values(key, prefix)
        if flavor and image and flavor != image:
            raise self.make_conflict(key, prefix)
        return self.check_value(key, flavor or image, prefix)

    def check_value(self, key: str, value: str | None, prefix: str = 'hw') -> str | None:
        """Return a value of a flavor or an image; raise :class:`Refusal` if Nova refuses it."""
        if value and value not in CHOICES[f'{prefix}_{key}']:
            raise Refusal(f'{prefix}:{key} is {value!r}, which Nova does not know')
        return value or None

    def requires_feature(self, key: str) -> bool:
        """Return whether the flavor or the image requires a feature.

        :raises Refusal: if they contradict each other
        """
        flavor, image = (value and is_true(value) for value in self.read_values(key))
        if None not in (flavor, image) and bool(flavor) != bool(image):
            raise self.make_conflict(key)
        return bool(flavor or image)

    def make_conflict(self, key: str, prefix: str = 'hw') -> Refusal:
        """Return the refusal of a flavor that contradicts an image."""
        flavor, image = self.read_values(key, prefix)
        return Refusal(
            f'the flavor has {prefix}:{key}={flavor}, in conflict with {prefix}_{key}={image} of '
            'the image'
        )


def _normalize_properties(image: Image) -> dict[str, str]:
    """Return the properties of an image under their names of today."""
    values = image.properties
    properties = dict(values)
    if 'architecture' in values:
        properties['hw_architecture'] = values['architecture']
    if adapter := values.get('vmware_adaptertype'):
        properties['hw_disk_bus'] = 'ide' if adapter == 'ide' else 'scsi'
    properties |= {name: value for name, value in values.items() if name in CHOICES}
    for name, synonyms in _SYNONYMS.items():
        if name in properties:
            value = properties[name].lower()
            properties[name] = synonyms.get(value, value)
    for name, choices in CHOICES.items():
        if name in properties and name not in _FLAVORS and properties[name] not in choices:
            raise Refusal(f'the image has {name}={properties[name]}, which Nova does not know')
    return properties
