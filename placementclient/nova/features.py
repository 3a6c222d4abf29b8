# SPDX-License-Identifier: Apache-2.0
"""Extra specs of a flavor together with properties of an image, by the rules of Nova (34.0)."""

from collections.abc import Collection, Iterator, Mapping

from placementclient.model.servers import Flavor, Image
from placementclient.nova.server_parts import Refusal

#: The extra specs that name PCI aliases and a device profile.
ALIAS_SPEC, PROFILE_SPEC = 'pci_passthrough:alias', 'accel:device_profile'
#: The texts that Nova takes for true here (``strutils.bool_from_string`` of oslo.utils); in its
#: configuration others count: :data:`placementclient.nova.settings.BOOLEANS`.
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})

_ARCHITECTURES = (
    'aarch64', 'alpha', 'armv6', 'armv7b', 'armv7l', 'cris', 'i686', 'ia64', 'lm32', 'm68k',
    'microblaze', 'microblazeel', 'mips', 'mips64', 'mips64el', 'mipsel', 'openrisc', 'parisc',
    'parisc64', 'ppc', 'ppc64', 'ppc64le', 'ppcemb', 'ppcle', 's390', 's390x', 'sh4', 'sh4eb',
    'sparc', 'sparc64', 'unicore32', 'x86_64', 'xtensa', 'xtensaeb',
)  # fmt: skip
_DISK_BUSES = ('fdc', 'ide', 'lxc', 'sata', 'scsi', 'uml', 'usb', 'virtio', 'xen')
_NETWORK_CARDS = (
    'e1000', 'e1000e', 'igb', 'lan9118', 'ne2k_pci', 'netfront', 'pcnet', 'rtl8139',
    'spapr-vlan', 'sriov', 'virtio', 'vmxnet', 'vmxnet3',
)  # fmt: skip
_VIDEO_MODELS = ('bochs', 'cirrus', 'gop', 'none', 'qxl', 'vga', 'virtio', 'vmvga', 'xen')
#: The values that Nova accepts, by the name of the image property: ``hw_cpu_policy``. The extra
#: spec has the same name with a colon: ``hw:cpu_policy``.
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
    'hw_video_model': _VIDEO_MODELS,
    'hw_vif_model': _NETWORK_CARDS,
    'hw_viommu_model': ('auto', 'intel', 'smmuv3', 'virtio'),
    'os_secure_boot': ('disabled', 'optional', 'required'),
}
_OLD_ARCHITECTURES = {
    'amd64': 'x86_64',
    **dict.fromkeys(('i386', 'i486', 'i586', 'x86_32', 'x86_32p'), 'i686'),
}
#: These are extra specs alone: Nova does not know the image property.
_SPECS_ALONE = frozenset({'hw_emulator_threads_policy'})
#: Other spellings of the values of image properties.
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
    """Return whether Nova takes an extra spec or an image property for true."""
    return text.strip().lower() in _TRUE


class Features:
    """The extra specs of a flavor and the properties of an image, which may contradict each other.

    Methods take the common part of the two names: ``cpu_policy`` with the prefix ``hw`` is the
    extra spec ``hw:cpu_policy`` and the property ``hw_cpu_policy``.

    :ivar specs: the extra specs
    :ivar properties: the image properties under their names of today, with values that Nova knows
    :ivar has_image: False where nothing is known of the image
    :raises Refusal: if the image has a value that Nova does not know
    """

    def __init__(self, flavor: Flavor, image: Image | None) -> None:
        self.flavor, self.specs = flavor, flavor.extra_specs
        self.has_image = image is not None
        self.properties = _rename_properties(image.properties if image else {})
        _refuse_unknown_property_values(self.properties)

    def read_values(self, key: str, prefix: str = 'hw') -> tuple[str | None, str | None]:
        """Return the values of the flavor and of the image, ``None`` where one has none."""
        return self.specs.get(f'{prefix}:{key}'), self.properties.get(f'{prefix}_{key}')

    def choose_value(self, key: str, prefix: str = 'hw') -> str | None:
        """Return the value that the flavor or the image has, or both; ``None`` if neither has one.

        :raises Refusal: if they have different values, or Nova does not know the value
        """
        flavor, image = self.read_values(key, prefix)
        if flavor and image and flavor != image:
            raise self.make_conflict_refusal(key, prefix)
        return self.require_known(key, flavor or image, prefix)

    def require_known(self, key: str, value: str | None, prefix: str = 'hw') -> str | None:
        """Return ``value``, of the extra spec or of the property; ``None`` if it is empty.

        :param key: the common part of their names, behind ``prefix``: see :class:`Features`
        :raises Refusal: if Nova does not know the value for the two
        """
        if value and value not in CHOICES[f'{prefix}_{key}']:
            raise Refusal(f'{prefix}:{key} is {value!r}, which Nova does not know')
        return value or None

    def requires_feature(self, key: str) -> bool:
        """Return whether the flavor or the image has a true value, such as ``mem_encryption``.

        :raises Refusal: if one has a true value and the other one a false value
        """
        flavor, image = (value and is_true(value) for value in self.read_values(key))
        if None not in (flavor, image) and bool(flavor) != bool(image):
            raise self.make_conflict_refusal(key)
        return bool(flavor or image)

    def make_conflict_refusal(self, key: str, prefix: str = 'hw') -> Refusal:
        """Return the refusal of a flavor and an image with different values of a key."""
        flavor, image = self.read_values(key, prefix)
        return Refusal(
            f'the flavor has {prefix}:{key}={flavor}, in conflict with {prefix}_{key}={image} of '
            'the image'
        )


def _rename_properties(values: Mapping[str, str]) -> dict[str, str]:
    """Return image properties with the names and the values of today in place of older ones."""
    properties = dict(values)
    if 'architecture' in values:
        properties['hw_architecture'] = values['architecture']
    if adapter := values.get('vmware_adaptertype'):
        properties['hw_disk_bus'] = 'ide' if adapter == 'ide' else 'scsi'
    # A property of today counts before an older one.
    properties |= {name: value for name, value in values.items() if name in CHOICES}
    for name, synonyms in _SYNONYMS.items():
        if name in properties:
            value = properties[name].lower()
            properties[name] = synonyms.get(value, value)
    return properties


def _refuse_unknown_property_values(properties: Mapping[str, str]) -> None:
    for name in sorted(CHOICES.keys() & properties.keys() - _SPECS_ALONE):
        if properties[name] not in CHOICES[name]:
            raise Refusal(f'the image has {name}={properties[name]}, which Nova does not know')


def parse_alias_counts(specs: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the PCI aliases of a flavor, each with the number of devices.

    :raises Refusal: at the first alias that Nova cannot read
    """
    text = specs.get(ALIAS_SPEC)
    for item in text.split(',') if text is not None else ():
        name, _, count = item.partition(':')
        try:
            yield name.strip(), int(count)
        except ValueError:
            raise Refusal(f'{ALIAS_SPEC}={text}: {item} is not NAME:COUNT') from None
