"""Images, as Nova's scheduler uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Image:
    """An image, or the image properties of a volume.

    :param properties: such as ``hw_disk_bus`` and ``trait:HW_CPU_X86_AVX``, under any of the names
        that Nova knows them by
    :param min_ram: in MiB
    :param min_disk: in GiB
    :param size: in bytes
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    disk_format: str | None = None
    min_ram: int = 0
    min_disk: int = 0
    size: int = 0
