"""What an operator types to make a fault good."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from placementclient.model.repairs import (
    AddTrait,
    Administration,
    AmendInventory,
    FreeAllocations,
    HealServer,
    JoinAggregate,
    LeaveAggregate,
    LookAtMigrations,
    LowerReserved,
    PurgeProvider,
    Remedy,
    Rename,
)

_ADMINISTRATION = {
    Administration.RECORD_CONSUMERS: 'placement-manage db online_data_migrations',
    Administration.LIMIT_CANDIDATES: (
        'set allocation_candidates_generation_strategy = breadth-first and '
        'max_allocation_candidates in [placement] of placement.conf'
    ),
}


def command(remedy: Remedy, program: str, lists: Mapping[str, str] | None = None) -> str:
    """The command line, or a word to the operator where there is none.

    :param program: the name of the one that is running, ``openstack`` or ``placement``
    :param lists: the files that the compute service is known by, by the option for each
    """
    match remedy:
        case Administration():
            return _ADMINISTRATION[remedy]
        case LookAtMigrations():
            # Nova's command: the program placement has none for it.
            return f'openstack server migration list --server {remedy.server_uuid}'
        case HealServer(server):
            files = ''.join(
                f' {option} {shlex.quote(path)}' for option, path in (lists or {}).items()
            )
            return f'{program} resource provider allocation heal --server {server}{files}'
        case _:
            return f'{program} resource provider {_of_provider(remedy)}'


def _of_provider(remedy: Remedy) -> str:
    match remedy:
        case AddTrait(_, provider, trait):
            return f'trait add {shlex.quote(provider)} {trait}'
        case LowerReserved(_, provider, resource_class, total):
            return _amend(provider, resource_class, {'reserved': total})
        case AmendInventory(provider, resource_class, fields):
            return _amend(provider, resource_class, fields)
        case JoinAggregate(provider_name, aggregate):
            name = shlex.quote(provider_name) if provider_name else '<host>'
            return f'aggregate add {name} {aggregate or "<aggregate of its hosts>"}'
        case LeaveAggregate(provider, aggregate):
            return f'aggregate remove {shlex.quote(provider)} {aggregate}'
        case Rename(provider, name):
            return f'set {shlex.quote(provider)} --name {shlex.quote(name)}'
        case PurgeProvider(provider):
            return f'purge {shlex.quote(provider)} --dry-run'
        case FreeAllocations() if remedy.is_all:
            return f'allocation delete {remedy.consumer.uuid}'
        case FreeAllocations():
            chosen = ' '.join(f'--provider {uuid}' for uuid in remedy.provider_uuids)
            return f'allocation unset {remedy.consumer.uuid} {chosen}'
        case _:
            raise AssertionError(remedy)


def _amend(provider_name: str, resource_class: str, fields: Mapping[str, int | float]) -> str:
    resources = ' '.join(f'--resource {resource_class}:{name}={n}' for name, n in fields.items())
    return f'inventory set {shlex.quote(provider_name)} --amend {resources}'
