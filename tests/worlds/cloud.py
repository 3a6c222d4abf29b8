# SPDX-License-Identifier: Apache-2.0
"""A random cloud of which the truth is known: which server runs where, and what it needs."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from placementclient.model.nova import OWNER_CYBORG, OWNER_NOVA

SHARING = 'MISC_SHARES_VIA_AGGREGATE'
EGRESS, FPGA, GOLD = 'NET_BW_EGR_KILOBIT_PER_SEC', 'FPGA', 'CUSTOM_BAREMETAL_GOLD'
CARD, LICENSE = 'CUSTOM_PCI_CARD', 'CUSTOM_LICENSE'
AGENT = 'Open vSwitch agent'
CLASSES = {
    'VCPU': 640, 'PCPU': 64, 'MEMORY_MB': 640_000, 'DISK_GB': 64_000, 'VGPU': 64, EGRESS: 64_000,
    FPGA: 64, GOLD: 1, CARD: 64, LICENSE: 64,
}  # fmt: skip
#: A day, in hours: all moments are hours before now.
DAY = 24
SETTLED = ('ACTIVE', 'SHUTOFF', 'PAUSED', 'SUSPENDED', 'SHELVED')
#: Statuses and tasks of servers that stay where they are.
RESTING = (
    *((status, None) for status in SETTLED),
    ('SOFT_DELETED', None), ('ERROR', None), ('RESCUE', None), ('REBUILD', 'rebuilding'),
    ('REBOOT', 'rebooting'), ('BUILD', 'spawning'), ('SHUTOFF', 'powering-on'),
    ('ACTIVE', 'image_snapshot'), ('SHELVED', 'shelving_offloading'), ('UNKNOWN', None),
)  # fmt: skip
UNDER_WAY = ('queued', 'accepted', 'pre-migrating', 'preparing', 'running', 'post-migrating')
FAILED = ('error', 'failed', 'cancelled')


@dataclass(eq=False)
class Host:
    """A compute node.

    :param service: the name of its nova-compute, which may be short
    :param cell: empty for one of another Nova that has the same Placement
    :param pool: the sharing provider that has its disks; ``None``: its own
    :param device_root: of another service, under its short name
    """

    name: str
    service: str
    uuid: str
    cell: str
    pool: str | None = None
    device_root: str | None = None
    agent_root: str | None = None
    kind: str = 'QEMU'


@dataclass(eq=False)
class Provider:
    uuid: str
    name: str
    classes: tuple[str, ...]
    parent: 'Provider | None' = None
    traits: tuple[str, ...] = ()
    aggregate: str = ''

    @property
    def root(self) -> 'Provider':
        return self.parent.root if self.parent else self


@dataclass(frozen=True)
class Flavor:
    name: str
    vcpus: int
    ram: int
    disk: int
    specs: tuple[tuple[str, str], ...] = ()
    #: The classes of ports and devices, which no flavor shows.
    devices: tuple[tuple[str, int], ...] = ()
    from_volume: bool = False

    @property
    def resources(self) -> dict[str, int]:
        """Return all that a server needs."""
        specs = dict(self.specs)
        if f'resources:{GOLD}' in specs:
            return {GOLD: 1}
        cpus = 'PCPU' if specs.get('hw:cpu_policy') == 'dedicated' else 'VCPU'
        extra = {k.removeprefix('resources:'): int(v) for k, v in self.specs if ':CUSTOM' in k}
        extra |= {'VGPU': int(specs['resources:VGPU'])} if 'resources:VGPU' in specs else {}
        disk = {} if self.from_volume or not self.disk else {'DISK_GB': self.disk}
        return {cpus: self.vcpus, 'MEMORY_MB': self.ram} | disk | extra | dict(self.devices)


@dataclass(eq=False)
class Server:
    """A server as Nova records it.

    :param host: by Nova's record
    :param shown: in which lists it is: ``live``, ``deleted``, both; in none, Nova knows nothing
    :param earlier: status, task, host, and the moment of the change before the last
    """

    uuid: str
    flavor: Flavor
    cell: str
    project: str
    host: Host | None
    status: str = 'ACTIVE'
    task: str | None = None
    updated: float = DAY
    shown: tuple[str, ...] = ('live',)
    stale: str = 'DELETED'
    earlier: 'tuple[str, str | None, Host | None, float] | None' = None
    is_unmapped: bool = False


@dataclass(eq=False)
class Migration:
    uuid: str
    server: Server
    source: Host
    dest: Host
    type: str
    status: str
    updated: float
    #: In an older list; ``None``: not in it.
    earlier: str | None = None
    is_shown: bool = True
    #: The hours from its beginning to its last change.
    duration: float = 1


@dataclass(eq=False)
class Holding:
    """What a consumer has allocated on a provider.

    :param promise: the rule by which it is freed if Nova's records are complete; empty: it is not
    :param is_needed: whether something breaks without it
    """

    consumer: str
    provider: Provider
    resources: dict[str, int]
    written: float
    promise: str = ''
    is_needed: bool = True


@dataclass
class Cloud:
    """All that there is.

    :ivar stories: the name of the story of each consumer
    :ivar gone: the consumers that an operator knows to be gone
    :ivar lacking: the servers that lack their allocations, or have wrong amounts
    """

    hosts: list[Host] = field(default_factory=list)
    nodes: list[Host] = field(default_factory=list)
    providers: dict[str, Provider] = field(default_factory=dict)
    servers: list[Server] = field(default_factory=list)
    migrations: list[Migration] = field(default_factory=list)
    holdings: list[Holding] = field(default_factory=list)
    stories: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    lacking: dict[str, Server] = field(default_factory=dict)
    kept_nodes: dict[str, str] = field(default_factory=dict)

    def of(self, consumer: str) -> list[Holding]:
        return [holding for holding in self.holdings if holding.consumer == consumer]


class Builder:
    """Makes the hosts of a cloud, and the parts of stories of servers."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.cloud = Cloud()
        self._hosts()

    def uuid(self) -> str:
        return str(UUID(int=self.dice.getrandbits(128), version=4))

    def maybe(self, chance: float = 0.5) -> bool:
        return self.dice.random() < chance

    def provider(self, name: str, *classes: str, **facts) -> Provider:
        uuid = facts.pop('uuid', None) or self.uuid()
        provider = self.cloud.providers[uuid] = Provider(uuid, name, classes, **facts)
        return provider

    def _hosts(self) -> None:
        pool = self.provider('pool', 'DISK_GB', traits=(SHARING,), aggregate=self.uuid())
        # A pool that has lost its trait is a root like others, to those who do not know.
        pool.traits = () if self.maybe(0.2) else pool.traits
        domain = '' if self.maybe(0.3) else '.cloud.example'
        has_twins = domain and self.maybe(0.2)
        for number in range(1, 5):
            short, cell = f'hv{number}', 'c1' if number < 3 else 'c2'
            if number == 4 and has_twins:
                short, domain = 'hv1', '.other.example'
            service = short if self.maybe() else short + domain
            host = Host(short + domain, service, self.uuid(), cell if self.maybe(0.95) else 'c1')
            self.cloud.hosts.append(host)
            self._tree(host, pool)
        foreign = Host('far1.cloud.example', 'far1', self.uuid(), '')
        self._tree(foreign, pool)
        self.foreign = foreign
        for _ in range(2):
            uuid = self.uuid()
            node = Host(uuid, 'ironic-compute', uuid, 'c1', kind='ironic')
            self.cloud.nodes.append(node)
            self.provider(uuid, GOLD, uuid=uuid)

    def _tree(self, host: Host, pool: Provider) -> None:
        local = self.maybe(0.6)
        host.pool = None if local else pool.uuid
        classes = ('VCPU', 'PCPU', 'MEMORY_MB', LICENSE, *(('DISK_GB',) if local else ()))
        aggregate = '' if local or self.maybe(0.1) else pool.aggregate
        root = self.provider(
            host.name, *classes, uuid=host.uuid, traits=('COMPUTE_NODE',), aggregate=aggregate
        )
        for kind, name in (('VGPU', 'gpu0'), (CARD, '0000:81:00.0')):
            if self.maybe(0.7):
                self.provider(f'{host.name}_{name}', kind, parent=root, traits=(OWNER_NOVA,))
        self._devices(host, root)

    def _devices(self, host: Host, root: Provider) -> None:
        """Add what Cyborg and Neutron have of a host, maybe below a root with its short name."""
        short, above = host.name.partition('.')[0], root
        names = {provider.name for provider in self.cloud.providers.values()}
        if short not in names and self.maybe():
            above = self.provider(short, *((FPGA,) if self.maybe(0.3) else ()))
        if FPGA in above.classes:
            host.device_root = above.uuid
        elif f'{short}_fpga' not in names and self.maybe(0.6):
            host.device_root = self.provider(
                f'{short}_fpga', FPGA, parent=above, traits=(OWNER_CYBORG,)
            ).uuid
        if f'{short}:{AGENT}' not in names and self.maybe(0.6):
            agent = self.provider(f'{short}:{AGENT}', parent=above)
            host.agent_root = self.provider(f'{agent.name}:br', EGRESS, parent=agent).uuid

    # --- what servers hold

    def flavor(self) -> Flavor:
        number = self.dice.randint(1, 4)
        specs = self.dice.choice(
            [(), (), (), (('resources:VGPU', '1'),), (('hw:cpu_policy', 'dedicated'),),
             ((f'resources:{LICENSE}', '1'),)]
        )  # fmt: skip
        devices = self.dice.choice([(), (), (), ((FPGA, 1),), ((EGRESS, 100),), ((CARD, 1),)])
        disk, from_volume = 10 * number, self.maybe(0.2)
        name = f'm{number}.{"".join(k[-4:] for k, _ in specs)}'
        return Flavor(name, number, 1024 * number, disk, specs, devices, from_volume)

    def places(self, host: Host, resources: dict[str, int]) -> dict[Provider, dict[str, int]]:
        """Return where a host has resources; without those that it lacks."""
        providers = self.cloud.providers
        tree = [p for p in providers.values() if p.root.uuid == host.uuid]
        others = [providers[u] for u in (host.pool, host.device_root, host.agent_root) if u]
        placed: dict[Provider, dict[str, int]] = {}
        for name, amount in resources.items():
            found = next((p for p in [*tree, *others] if name in p.classes), None)
            if found:
                placed.setdefault(found, {})[name] = amount
        return placed

    def hold(
        self, consumer: str, host: Host, flavor: Flavor, written: float, promise: str = '',
        *, is_needed: bool | None = None, leave: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """Let a consumer hold what a flavor asks for on a host; of a pool only once.

        :param leave: the classes that it does not get
        """
        resources = {k: n for k, n in flavor.resources.items() if k not in leave}
        is_needed = not promise if is_needed is None else is_needed
        held = {holding.provider: holding for holding in self.cloud.of(consumer)}
        for provider, amounts in self.places(host, resources).items():
            if provider in held:
                first = held[provider]
                if is_needed:
                    first.promise, first.is_needed = '', True
                continue
            self.cloud.holdings.append(
                Holding(consumer, provider, amounts, written, promise, is_needed)
            )

    def fits(self, host: Host, flavor: Flavor) -> bool:
        """Return whether a host itself, or its pool, has all that a flavor asks for."""
        places = self.places(host, flavor.resources)
        is_there = sum(map(len, places.values())) == len(flavor.resources)
        return is_there and all(self.is_of(provider, host) for provider in places)

    def is_of(self, provider: Provider, host: Host) -> bool:
        """Return whether a provider is in the tree of a host, or shares with it."""
        root = self.cloud.providers[host.uuid]
        is_shared = SHARING in provider.traits and provider.aggregate == root.aggregate
        return provider.root is root or is_shared

    def pair(self) -> list[Host]:
        return self.dice.sample(self.cloud.hosts, 2)

    def server(self, host: Host | None, **facts) -> Server:
        project = self.dice.choice(['p1' * 16, 'p2' * 16, 'p3' * 16])
        cell = host.cell if host else 'c1'
        flavor = facts.pop('flavor', None) or self.flavor()
        server = Server(self.uuid(), flavor, cell, project, host, **facts)
        server.is_unmapped = self.maybe(0.04)
        self.cloud.servers.append(server)
        return server

    def migration(self, server: Server, source: Host, dest: Host, kind: str, status: str,
                  updated: float, earlier: str | None = None) -> Migration:  # fmt: skip
        facts = (source, dest, kind, status, updated, earlier)
        migration = Migration(self.uuid(), server, *facts)
        self.cloud.migrations.append(migration)
        return migration
