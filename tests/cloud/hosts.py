# SPDX-License-Identifier: Apache-2.0
"""The hosts: what a test needs of them, how they die and come back."""

import contextlib
import json
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keystoneauth1.exceptions.http import BadRequest, Conflict

from tests.cloud import control, layout, processes, settings
from tests.cloud.compute import PAUSE, Compute, until

Driver = Mapping[str, Any]
#: All hosts, with nothing but what every host has.
PLAIN: Mapping[str, Driver] = {host: {} for host in layout.HOSTS}

#: A host with two functions of a card, and a card for one server.
DEVICES: Driver = {
    'devices': [
        {'status': 'available', 'numa_node': None, 'label': '', **device}
        for device in (
            *(
                {
                    **settings.FUNCTION,
                    'address': f'0000:81:00.{number}',
                    'dev_type': 'type-VF',
                    'parent_addr': '0000:81:00.0',
                }
                for number in (1, 2)
            ),
            {
                'vendor_id': '10de',
                'product_id': '20b0',
                'address': '0000:84:00.0',
                'dev_type': 'type-PCI',
                'parent_addr': None,
            },
        )
    ]
}
#: The options of the section ``[pci]`` for these devices.
PCI: Mapping[str, object] = {
    'device_spec': json.dumps(
        [
            settings.FUNCTION,
            {'address': '0000:84:00.0', 'resource_class': 'PGPU', 'traits': 'CUSTOM_FAST'},
        ]
    )
}


def settle(
    compute: Compute,
    drivers: Mapping[str, Driver] = PLAIN,
    pci: Mapping[str, Mapping[str, object]] = {},
) -> None:
    """Let hosts be what a test needs, whatever was there before, and delete all servers.

    A host that has changed since it was last settled, in Nova, in Placement or in its files, is
    installed anew. A host that is not named may be in any state.

    :param drivers: the settings of the drivers by host; see ``inside/driver.py``
    :param pci: the options of the section ``[pci]`` by host
    """
    # A test may have added hosts.
    services = _services(compute)
    added = services.keys() - set(layout.HOSTS)
    processes.stop(*added, how=signal.SIGKILL)
    _empty(compute, services)
    for host in added:
        _forget(compute, host)
    desired = {host: (driver, pci.get(host, {})) for host, driver in drivers.items()}
    stale = [
        host
        for host, wish in desired.items()
        if _note(host) != _state(compute, host, wish, services.get(host, {}))
    ]
    for host in stale:
        _forget(compute, host)
        configure(host, *desired[host])
    if stale:
        launch(compute, *stale)
        services = _services(compute)
    for host in stale:
        state = _state(compute, host, desired[host], services[host])
        _path(host, 'settled.json').write_text(state)


def _services(compute: Compute) -> dict[str, dict[str, Any]]:
    """Return the nova-compute services by host."""
    return {service['host']: service for service in compute.services()}


def configure(host: str, driver: Driver, pci: Mapping[str, object] = {}) -> None:
    """Write the settings of a host, which nova-compute reads when it starts."""
    _path(host, 'driver.json').write_text(json.dumps(driver))
    settings.save(f'nova/{host}.conf', settings.compute(host, **pci))


def _path(host: str, name: str) -> Path:
    return layout.state() / 'hosts' / host / name


def _note(host: str) -> str | None:
    """Return the state of a host when it was last settled."""
    with contextlib.suppress(FileNotFoundError):
        return _path(host, 'settled.json').read_text()
    return None


def _state(compute: Compute, host: str, wish: object, service: Mapping[str, Any]) -> str:
    files = [settings.path(f'nova/{host}.conf'), _path(host, 'driver.json')]
    state = {
        'wish': wish,
        'process': processes.pid(host),
        'files': [path.exists() and path.read_text() for path in files],
        'providers of the operator': [path.name for path in _provider_files(host)],
        'service': [service.get(name) for name in ('status', 'state', 'forced_down')],
        'tree': [_contents(compute, provider) for provider in _tree(compute, host)],
    }
    return json.dumps(state, sort_keys=True)


def _provider_files(host: str) -> Iterable[Path]:
    return sorted(_path(host, 'provider_config').glob('*.yaml'))


def _tree(compute: Compute, host: str) -> list[dict[str, Any]]:
    """Return the providers of a host in the order of their names."""
    uuid = compute.provider(host)
    tree = compute.providers(f'?in_tree={uuid}') if uuid else []
    return sorted(tree, key=lambda provider: str(provider['name']))


def _contents(compute: Compute, provider: Mapping[str, Any]) -> list[Any]:
    def read(what: str) -> Any:
        path = f'/resource_providers/{provider["uuid"]}/{what}'
        return compute.call('GET', path, service='placement')[what]

    return [
        provider['name'],
        read('inventories'),
        *(sorted(read(w)) for w in ('traits', 'aggregates')),
    ]


def _empty(compute: Compute, services: Mapping[str, Mapping[str, Any]]) -> None:
    """Delete servers, aggregates and ports, and every allocation that stays."""
    for host, service in services.items():
        # Nova deletes the servers of a dead host by itself, once it knows.
        if not processes.pid(host) and not service['forced_down']:
            compute.update_service(host, forced_down=True)
    compute.delete(*[server['id'] for server in compute.servers()])
    for aggregate in compute.call('GET', '/os-aggregates')['aggregates']:
        compute.remove_aggregate(aggregate['id'])
    control.PORTS.unlink(missing_ok=True)
    for consumer in compute.consumers():
        compute.discard(f'/allocations/{consumer}', service='placement')


def _forget(compute: Compute, host: str) -> None:
    """Take a host without servers out of Nova and Placement, and wipe its disk."""
    processes.stop(host, how=signal.SIGKILL)
    while tree := _tree(compute, host):
        parents = {provider['parent_provider_uuid'] for provider in tree}
        for uuid in {provider['uuid'] for provider in tree} - parents:
            compute.discard(f'/resource_providers/{uuid}', service='placement')
    if service := compute.service(host):
        if node := compute.node(host):
            # Nova deletes the service only of a host with a provider, and deletes that too.
            body = {'name': host, 'uuid': node}
            with contextlib.suppress(Conflict):
                compute.call('POST', '/resource_providers', body, service='placement')
        compute.discard(f'/os-services/{service["id"]}')
        # Nova takes a server for down while an earlier service of the host is (instance.services).
        control.sql('DELETE FROM nova.services WHERE deleted != 0;')
    names = ('compute_id', 'guests.json', 'settled.json')
    for path in (*(_path(host, name) for name in names), *_provider_files(host)):
        path.unlink(missing_ok=True)


def kill(compute: Compute, host: str) -> None:
    """Let a host die: its nova-compute is killed, and an operator says so."""
    processes.stop(host, how=signal.SIGKILL)
    compute.update_service(host, forced_down=True)


def _reports(host: str) -> tuple[int, int]:
    """Return the ID of the newest service of a host, and how often that has reported."""
    found = 'SELECT id, report_count FROM nova.services WHERE host = %s AND deleted = 0'
    service, count = max(control.rows(found, host), default=(0, 0))
    return (service, count) if count else (0, 0)


def revive(compute: Compute, host: str) -> None:
    """Start the nova-compute of a host, and wait until the scheduler may use it."""
    control.compute(host)

    def is_up() -> bool:
        # Nova refuses it until nova-compute has dealt with the servers that were evacuated.
        with contextlib.suppress(BadRequest):
            compute.update_service(host, forced_down=False)
        return bool((compute.service(host) or {}).get('state') == 'up')

    until(is_up, f'{host} does not come up')
    until(lambda: host in compute.mapped_hosts(), f'{host} is not mapped')


def restart(compute: Compute, *hosts: str) -> None:
    """Stop the nova-compute of hosts and start them again, and wait until they are up."""
    processes.stop(*hosts, how=signal.SIGKILL)
    launch(compute, *hosts)


def launch(compute: Compute, *hosts: str) -> None:
    """Start the nova-compute of hosts, and wait until they have reported their trees."""

    before = {host: _reports(host) for host in hosts}
    for host in hosts:
        control.compute(host)
    for host in hosts:
        # The first report comes after the tree.
        until(
            lambda host=host: _reports(host) > before[host], f'{host} does not report', pause=PAUSE
        )
    until(lambda: set(hosts) <= compute.mapped_hosts(), f'{hosts} are not up')
