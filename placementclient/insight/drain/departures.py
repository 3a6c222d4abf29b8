# SPDX-License-Identifier: Apache-2.0
"""The way of each server off its host, by its state and by what Nova does not live-migrate."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import NamedTuple

from placementclient.model.consumers import Allocations
from placementclient.model.nova import LIVE_MIGRATABLE, MANAGED_PCI_DEVICE, OWNER_CYBORG
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.features import PROFILE_SPEC, Features, parse_alias_counts
from placementclient.nova.settings import Settings

_MEMORY = 'MEM_ENCRYPTION_CONTEXT'
#: Classes that every host of virtual machines has.
_OF_MACHINES = frozenset({'VCPU', 'PCPU', 'MEMORY_MB'})
_LIVE = 'openstack server migrate --live-migration --host {host} {server}'
_COLD = 'openstack server migrate --host {host} {server}'


class MoveState(enum.StrEnum):
    """The way Nova moves a server, as in the column ``state``."""

    MOVE = 'move'
    COLD = 'cold'
    CANNOT_MOVE = 'cannot move'


class Departure(NamedTuple):
    """The command that moves a server off its host.

    :param command: with the placeholders ``{server}`` and ``{host}``; of a server that cannot move
        the one after which it can, or an empty string
    :param reason: why Nova does not live-migrate the server
    :param needs_place: False if the command frees all that the server holds, or if there is none
    """

    state: MoveState
    command: str
    reason: str = ''
    needs_place: bool = True


def _make_blocked_departure(reason: str, command: str) -> Departure:
    """Return the departure of a server that cannot move; the command removes the reason."""
    return Departure(MoveState.CANNOT_MOVE, f'openstack server {command} {{server}}', reason)


#: Every state of ``nova/compute/vm_states.py`` (34), and the status that the API has for it. Nova
#: migrates servers live that are active or paused, and cold that are active or stopped.
_DEPARTURES = {
    ('', 'active', 'paused'): Departure(MoveState.MOVE, _LIVE),
    ('stopped', 'shutoff'): Departure(MoveState.COLD, _COLD),
    # "openstack server shelve --offload" passes over a server that is shelved already.
    ('shelved',): Departure(MoveState.MOVE, 'nova shelve-offload {server}', needs_place=False),
    ('suspended',): _make_blocked_departure('is suspended', 'resume'),
    ('rescued', 'rescue'): _make_blocked_departure('is rescued', 'unrescue'),
    ('resized', 'verify_resize'): _make_blocked_departure(
        'was resized or migrated: confirm or revert that', 'resize confirm'
    ),
    ('error',): _make_blocked_departure('is in error', 'set --state active'),
    ('building', 'build'): _make_blocked_departure('is being built', 'show'),
    ('soft-delete', 'soft_deleted'): _make_blocked_departure(
        'is deleted and can be restored', 'restore'
    ),
}
#: Servers in these states are on no host: their allocations on hosts are left over.
GONE = frozenset({'deleted', 'shelved_offloaded'})


class ServerFacts(NamedTuple):
    """The known facts about a server.

    :param allocated: a provider and a class for each of its allocations
    :param features: ``None`` if its flavor is not known
    """

    snapshot: Snapshot
    allocated: Sequence[tuple[ProviderState, str]]
    features: Features | None
    settings: Settings


class Restriction(NamedTuple):
    """A property of servers for which Nova (34) does not live-migrate them.

    :param source: the code of Nova that refuses a live migration
    :param is_cold: whether Nova migrates them cold
    """

    reason: str
    source: str
    is_cold: bool
    applies: Callable[[ServerFacts], bool]


def _is_baremetal(server: ServerFacts) -> bool:
    """Return True if a server is on a node of Ironic, which has one unit of one class."""
    return any(
        state.provider.parent_provider_uuid is None
        and len(state.inventories) == 1
        and state.inventories[name].total == 1
        and name not in _OF_MACHINES
        and not server.snapshot.children(state.uuid)
        for state, name in server.allocated
        if name in state.inventories
    )


def _has_accelerator(server: ServerFacts) -> bool:
    if server.features is not None and server.features.specs.get(PROFILE_SPEC):
        return True
    return any(name == 'FPGA' or OWNER_CYBORG in state.traits for state, name in server.allocated)


def _has_encrypted_memory(server: ServerFacts) -> bool:
    if server.features is not None and server.features.requires_feature('mem_encryption'):
        return True
    return any(name == _MEMORY for _, name in server.allocated)


def _has_bound_device(server: ServerFacts) -> bool:
    """Return True if a server has a PCI device of an alias that is not live-migratable."""
    counts = parse_alias_counts(server.features.specs) if server.features else ()
    aliases = {name for name, count in counts if count}
    if aliases and server.settings.is_read:
        return not aliases <= server.settings.find_migratable_aliases()
    devices = [
        state
        for state, name in server.allocated
        if MANAGED_PCI_DEVICE in state.traits or name.startswith('CUSTOM_PCI_')
    ]
    return any(LIVE_MIGRATABLE not in state.traits for state in devices) or bool(
        aliases and not devices
    )


def _has_bound_tpm(server: ServerFacts) -> bool:
    """Return True if the secret of a server's TPM stays on its host."""
    features = server.features
    if features is None or features.choose_value('tpm_version') is None:
        return False
    return features.specs.get('hw:tpm_secret_security', 'user') != 'host'


#: What Nova does not live-migrate. Placement does not show file shares (``compute/api.py``,
#: ``block_shares_not_supported``), nor ports of accelerators without their allocations.
RESTRICTIONS = (
    Restriction(
        'is on bare metal, which Nova does not migrate',
        'virt/ironic/driver.py: neither live_migration nor migrate_disk_and_power_off',
        False,
        _is_baremetal,
    ),
    Restriction(
        'has an accelerator of Cyborg, with which Nova does not migrate it',
        'compute/api.py: block_accelerators, block_port_accelerators',
        False,
        _has_accelerator,
    ),
    Restriction(
        'has encrypted memory', 'compute/api.py: reject_mem_enc_instances', True,
        _has_encrypted_memory,
    ),
    Restriction(
        'has a PCI device that is not live-migratable',
        'conductor/tasks/live_migrate.py: _check_can_migrate_pci',
        True,
        _has_bound_device,
    ),
    Restriction(
        'has a TPM whose secret does not move with it',
        'compute/api.py: reject_legacy_vtpm_live_migration',
        True,
        _has_bound_tpm,
    ),
)  # fmt: skip


def find_restriction(
    snapshot: Snapshot,
    allocations: Allocations,
    features: Features | None = None,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
) -> Restriction | None:
    """Return the reason why Nova does not live-migrate a server; ``None`` if it does.

    :param allocations: of the server
    :param features: what its flavor and image ask for; ``None`` if they are not known
    :param settings: those of ``nova.conf``
    """
    allocated = [
        (snapshot.providers[uuid], name)
        for uuid, resources in allocations.items()
        if uuid in snapshot.providers
        for name in resources
    ]
    server = ServerFacts(snapshot, allocated, features, settings)
    return next((kind for kind in RESTRICTIONS if kind.applies(server)), None)


def choose_departure(state: str, restriction: Restriction | None) -> Departure:
    """Return the departure of a server in a state, and with a restriction or without one.

    :param state: of the server, in small letters; empty counts as active
    :param restriction: why Nova does not live-migrate it; ``None``: it does
    """
    known = (way for states, way in _DEPARTURES.items() if state in states)
    of_state = next(known, _make_blocked_departure(f'is {state}', 'show'))
    if restriction is None or MoveState.CANNOT_MOVE is of_state.state or not of_state.needs_place:
        return of_state
    if not restriction.is_cold:
        return Departure(MoveState.CANNOT_MOVE, '', restriction.reason, needs_place=False)
    if state == 'paused':
        return _make_blocked_departure(f'is paused and {restriction.reason}', 'unpause')
    return Departure(MoveState.COLD, _COLD, restriction.reason)


class Hindrance(NamedTuple):
    """The reason why a consumer on a host is no server that a plan can move, and the next command.

    :param subject: the server that the consumer belongs to, or the consumer
    """

    subject: str
    reason: str
    command: str = ''


def explain_migration_allocations(
    consumer_uuid: str, migration: ServerMigration, audit: str
) -> Hindrance:
    """Return why a migration has allocations on a host, and the command that ends or shows it.

    :param consumer_uuid: of the migration, for the audit's command
    :param audit: the command that audits the cloud
    """
    server = migration.server_uuid
    if migration.is_awaiting_confirmation:
        reason = 'was resized or migrated to another host: confirm or revert that'
        return Hindrance(server, reason, f'openstack server resize confirm {server}')
    if not migration.is_over:
        reason = f'is being migrated ({migration.status})'
        return Hindrance(server, reason, f'openstack server migration list --server {server}')
    reason = f'left allocations here by a migration that is over ({migration.status})'
    return Hindrance(server, reason, f'{audit} --subject {consumer_uuid}')
