# SPDX-License-Identifier: Apache-2.0
"""Audit a whole cloud in a scratch Placement, count what fits, and say what it costs.

One fault of each kind is planted; the audit has to find each once and nothing else:

    python -m benchmarks.audit_scale --hosts 1000
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter

from keystoneauth1.session import Session

from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.insight.audit.checks import audit
from placementclient.insight.audit.cloud import Cloud, CloudLists
from placementclient.insight.capacity import fits, totals
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.nova import host_records, records
from placementclient.placing.topology import Topology
from placementclient.reading import capture
from tests.functional import planted_services
from tests.functional.bulk import Database
from tests.functional.planted import planted

SHAPE = {'VCPU': 4, 'MEMORY_MB': 8192, 'DISK_GB': 80}


class Clock:
    """Measures what follows each other, in seconds."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._last = time.monotonic()

    def stop(self, what: str) -> None:
        """Note how long something has taken since the last time."""
        now = time.monotonic()
        self.times[what], self._last = round(now - self._last, 2), now


def main() -> None:
    """Fill, read, audit, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=1000)
    parser.add_argument('--workers', type=int, default=2)
    arguments = parser.parse_args()
    clock, cloud = Clock(), planted(arguments.hosts)
    planted_services.plant(cloud)
    with Direct.scratch() as service:
        client = http.Client(Session(auth=service), microversion.HIGHEST)
        database = Database(client)
        database.fill(cloud.snapshot)
        for consumer in cloud.forgotten:
            database.forget_consumer(consumer)
        clock.stop('fill')
        snapshot = capture.capture(client, workers=arguments.workers)
        clock.stop('read')
    result = audit(
        Cloud(
            snapshot,
            CloudLists(
                records.decode_servers(cloud.lists['servers'], 'planted'),
                records.decode_migrations(cloud.lists['migrations'], 'planted'),
                host_records.decode_compute_services(cloud.lists['services'], 'planted'),
                host_records.decode_hypervisors(cloud.lists['hypervisors'], 'planted'),
                records.decode_flavors(cloud.lists['flavors'], 'planted'),
                host_records.decode_registered_limits(cloud.lists['limits'], 'planted'),
                host_records.decode_baremetal_nodes(cloud.lists['nodes'], 'planted'),
                host_records.decode_bound_ports(cloud.lists['ports'], 'planted'),
                host_records.decode_network_agents(cloud.lists['agents'], 'planted'),
                host_records.count_segment_addresses(cloud.lists['subnets'], 'planted'),
            ),
        )
    ).findings
    clock.stop('audit')
    agrees = Counter((f.kind, f.subject) for f in result) == Counter(cloud.expected)
    report(clock, snapshot, {'findings': len(result), 'as planted': agrees})


def report(clock: Clock, snapshot: Snapshot, facts: dict[str, object]) -> None:
    """Count what fits, and print all."""
    totals.sum_by_tree(snapshot)
    clock.stop('capacity by tree')
    fitting = fits.count_fits_by_tree(Topology(snapshot), CandidateRequest(Filter(SHAPE)))
    clock.stop('fits by tree')
    facts |= {
        'providers': len(snapshot.providers),
        'consumers': len(snapshot.consumers),
        'fits': fitting[-1].count,
        'seconds': clock.times,
        'megabytes': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(facts, indent=2))


if __name__ == '__main__':
    main()
