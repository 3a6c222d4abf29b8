"""The facts of one host."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Domain:
    """A server, as libvirt defines it.

    :param mdevs: the UUIDs of the mediated devices that are attached to it
    :param nodeset: the NUMA cells that its memory is bound to; empty where nothing says it
    :param cpus: the host's CPUs that its virtual CPUs are pinned to
    """

    uuid: str
    path: str
    mdevs: tuple[str, ...] = ()
    nodeset: frozenset[int] = frozenset()
    cpus: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MediatedDevice:
    """A mediated device and its parent.

    :param parent: the name of the node device that it is made on: ``pci_0000_84_00_0``
    :param type: such as ``nvidia-699``; empty where nothing says it
    """

    uuid: str
    parent: str
    type: str
    path: str


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The facts of one host.

    :param hostname: the hypervisor's, which Nova names the host's resource provider after
    :param mdevs: of each UUID all that is said: more than one parent is a contradiction
    :param cells: the NUMA cell of each CPU, by the CPU's number
    """

    hostname: str
    path: str
    domains: tuple[Domain, ...] = ()
    mdevs: Mapping[str, tuple[MediatedDevice, ...]] = field(default_factory=dict)
    cells: Mapping[int, int] = field(default_factory=dict)
