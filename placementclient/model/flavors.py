"""Flavors of the compute service."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Flavor(msgspec.Struct, frozen=True, gc=False):
    """A flavor, in Nova's own units.

    Whether a server boots from a volume, and so takes no root disk, is not said by its flavor.

    :param vcpus: the number of CPUs
    :param ram: in MiB
    :param disk: the root disk, in GiB
    :param ephemeral: the disk beside it, in GiB
    :param swap: in MiB
    """

    name: str
    vcpus: int
    ram: int
    disk: int = 0
    ephemeral: int = 0
    swap: int = 0
    is_public: bool = True
    extra_specs: Mapping[str, str] = msgspec.field(default_factory=dict)
