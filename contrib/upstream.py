# SPDX-License-Identifier: Apache-2.0
"""Try the faults that this project found in Placement and Nova: still there, or fixed.

Run ``python contrib/upstream.py`` where ``python-placementclient[direct]`` is installed. The two
faults of Nova need ``nova`` beside it, the simultaneous claims ``PLACEMENT_TEST_DATABASE``: the URL
of an empty database of MariaDB or PostgreSQL, which ``placement-manage db sync`` has prepared.
"""

import concurrent.futures
import os
import sys
import uuid
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

from keystoneauth1.session import Session

from placementclient import api
from placementclient.client.http import Client
from placementclient.embedded import Direct
from placementclient.model.consumers import Consumer
from placementclient.testing import EmbeddedPlacement

AGGREGATE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
POOL = {
    'name': 'pool',
    'inventories': {'DISK_GB': {'total': 100}},
    'traits': ['MISC_SHARES_VIA_AGGREGATE'],
    'aggregates': [AGGREGATE],
}
VCPU, VGPU = {'VCPU': {'total': 4}}, {'VGPU': {'total': 1}}


class NotTried(Exception):
    """Something that a reproducer needs is missing."""


def candidates(query: str, *trees: Mapping[str, Any]) -> tuple[int, int]:
    """Return the HTTP status and the number of candidates of a request on some trees."""
    with EmbeddedPlacement() as placement:
        placement.declare(*trees)
        answer = placement.session.get(
            f'{placement.url}/allocation_candidates?{query}',
            headers={'OpenStack-API-Version': 'placement 1.39'},
            raise_exc=False,
        )
        requests = answer.json().get('allocation_requests', ())
        return answer.status_code, len(requests)


def sharing_provider_inside_a_tree() -> bool:
    """A host uses a sharing provider that is a child in another tree: HTTP 500."""
    storage = {'name': 'storage', 'children': [POOL]}
    host = {'name': 'host', 'inventories': VCPU, 'aggregates': [AGGREGATE]}
    return candidates('resources=VCPU:1,DISK_GB:1', storage, host)[0] == 500


def group_beside_shared_storage() -> bool:
    """A host of two providers: no candidates for shared disk and a group on its child."""
    query = 'resources=DISK_GB:1&resources1=VGPU:1'
    flat = {'name': 'flat', 'inventories': VGPU, 'aggregates': [AGGREGATE]}
    nested = {
        'name': 'nested',
        'inventories': VCPU,
        'aggregates': [AGGREGATE],
        'children': [{'name': 'gpu', 'inventories': VGPU}],
    }
    assert candidates(query, POOL, flat) == (200, 1)
    return candidates(query, POOL, nested) == (200, 0)


def simultaneous_claims() -> bool:
    """MariaDB, PostgreSQL: claims at the same time get more of a class than a provider has."""
    url = os.environ.get('PLACEMENT_TEST_DATABASE')
    if url is None:
        raise NotTried('PLACEMENT_TEST_DATABASE is not set')
    client = Client(Session(auth=Direct(placement_database=url)))
    return any(_granted(client) > 4 for _ in range(10))


def _granted(client: Client) -> int:
    """Return how many of twelve claims for one VCPU each are granted by a host that has four."""
    host = api.resource_provider.create(client, f'host-{uuid.uuid4()}')
    api.inventory.create(client, host.uuid, 'VCPU', {'total': 4}, host.generation)
    consumers = [
        Consumer(str(uuid.uuid4()), {host.uuid: {'VCPU': 1}}, 'project', 'user', None, 'INSTANCE')
        for _ in range(12)
    ]
    with concurrent.futures.ThreadPoolExecutor(len(consumers)) as pool:
        claims = [pool.submit(api.allocation.set, client, consumer) for consumer in consumers]
    return sum(claim.exception() is None for claim in claims)


def image_metadata_without_traits() -> bool:
    """Nova: one image property without a trait of os-traits takes all others out of the request."""
    fields, os_traits = _nova()
    names = (f'COMPUTE_ARCH_{value.upper()}' for value in fields.Architecture.ALL)
    return not all(hasattr(os_traits, name) for name in names)


def viommu_model() -> bool:
    """Nova: the prefilter asks for COMPUTE_VIOMMU_INTEL, which os-traits does not have."""
    fields, os_traits = _nova()
    return not all(
        hasattr(os_traits, f'COMPUTE_VIOMMU_{value.upper()}') for value in fields.VIOMMUModel.ALL
    )


def _nova() -> tuple[Any, Any]:
    try:
        import os_traits
        from nova.objects import fields
    except ImportError as missing:
        raise NotTried(f'{missing.name} is not installed') from None
    return fields, os_traits


FAULTS: tuple[Callable[[], bool], ...] = (
    sharing_provider_inside_a_tree,
    group_beside_shared_storage,
    simultaneous_claims,
    image_metadata_without_traits,
    viommu_model,
)


def main() -> int:
    """Print a line for each fault, and return 1 if one is still there."""
    versions = [f'{name} {metadata.version(name)}' for name in ('openstack-placement', 'os-traits')]
    print(', '.join(versions))
    is_any_there = False
    for is_there in FAULTS:
        try:
            state = 'still there' if is_there() else 'fixed'
        except NotTried as reason:
            state = f'not tried: {reason}'
        is_any_there |= state == 'still there'
        print(f'{is_there.__name__}: {state}')
    return int(is_any_there)


if __name__ == '__main__':
    sys.exit(main())
