# SPDX-License-Identifier: Apache-2.0
"""The resource classes and traits that Nova uses for PCI devices. Pure."""

from functools import lru_cache

import os_resource_classes


def make_class_name(name: str, vendor_id: str, product_id: str) -> str:
    """Return the resource class of a PCI device.

    :param name: the class in the configuration; if it is empty, the product has a class of its own
    """
    if not name:
        return f'CUSTOM_PCI_{vendor_id}_{product_id}'.upper()
    name = name.upper()
    if name in os_resource_classes.STANDARDS or os_resource_classes.is_custom(name):
        return name
    return str(os_resource_classes.normalize_name(name))


@lru_cache(1024)
def parse_traits(names: str) -> frozenset[str]:
    """Return the traits of a configuration value, which commas separate."""
    # Loaded only here: it takes longer than all the rest of this module.
    import os_traits

    standard, others = os_traits.check_traits(names.split(',') if names else [])
    # A standard name counts in its exact case only.
    upper = [name.upper() for name in others]
    custom = {
        name if os_traits.is_custom(name) else os_traits.normalize_name(name) for name in upper
    }
    return frozenset({*standard, *custom})
