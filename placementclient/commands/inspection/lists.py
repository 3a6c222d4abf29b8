"""The lists of other services for an audit, from files or from the services."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from placementclient.client import errors
from placementclient.commands.framework import base, compute
from placementclient.commands.framework.compute import IRONIC, KEYSTONE, NEUTRON, NOVA
from placementclient.commands.framework.option import Option


def _list(name: str, what: str, service: str) -> Option:
    return Option(
        f'--{name}',
        metavar=f'<file>|{service}',
        help=f'The list of all {what}, as JSON; {service}: ask the service of the catalog',
    )


OPTIONS = (
    _list('servers', 'servers', NOVA),
    _list('migrations', 'migrations', NOVA),
    _list('services', 'nova-compute services', NOVA),
    _list('hypervisors', 'hypervisors with details, below compute API 2.88', NOVA),
    _list('flavors', 'flavors with extra specs', NOVA),
    _list('limits', 'registered limits', KEYSTONE),
    _list('nodes', 'bare metal nodes with details', IRONIC),
    _list('ports', 'ports with resource_request, as an administrator sees them', NEUTRON),
    _list('agents', 'agents of Neutron, as an administrator sees them', NEUTRON),
    _list('subnets', 'subnets, for the segments of routed networks', NEUTRON),
)
_NO_CATALOG = (
    'There is no service catalog (auth type none or placement_direct), so that no other service '
    'can be asked'
)
_NAMES = tuple(option.dest for option in OPTIONS)
#: Every audit needs these: they say which server should hold what.
_ALWAYS = ('servers', 'migrations')


class Lists(NamedTuple):
    """The lists that the audit has.

    :param known: by the name of the option
    :param failures: why a service that no option names has not answered, by the name of the option
    :param refused: the names of those that a service of the catalog refused or did not answer
    :param is_live: True if a service was asked for one
    """

    known: Mapping[str, Any]
    failures: Mapping[str, str]
    refused: frozenset[str]
    is_live: bool


def read(command: base.PlacementCommand, wanted: Collection[str]) -> Lists:
    """Read the lists of the options; without options or a snapshot, ask the services.

    :param wanted: those that are needed, where nothing is named
    :raises errors.PlacementError: if one that an option names cannot be had
    """
    from placementclient.nova import service

    given = {name: getattr(command.args, name, None) for name in _NAMES}
    is_told = any(given.values()) or command.args.snapshot
    known: dict[str, Any] = {}
    failures: dict[str, str] = {}
    silent: dict[str, errors.PlacementError] = {}
    refused: set[str] = set()
    is_live = False
    sources = compute.sources()
    for name in _NAMES:
        source = sources[name]
        is_asked = not is_told and name in (*_ALWAYS, *wanted)
        where = given[name] or (source.service if is_asked else None)
        if where is None:
            continue
        is_live = is_live or where == source.service
        reason = silent.get(source.service)
        if reason is None:
            try:
                known[name] = source.read(command, where)
                continue
            except (service.NoCompute, errors.BadFile) as failure:
                if given[name]:
                    raise
                reason = failure
        failures[name] = _NO_CATALOG if isinstance(reason, service.NoCatalog) else str(reason)
        if isinstance(reason, service.ServiceRefusal | service.ServiceSilence):
            refused.add(name)
        if not isinstance(reason, service.ServiceRefusal | errors.BadFile):
            # It would be waited for again for each of its lists.
            silent[source.service] = reason
    return Lists(known, failures, frozenset(refused), is_live)
