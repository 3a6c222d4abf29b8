# SPDX-License-Identifier: Apache-2.0
"""An audit while servers come and go."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.cloud import control, hosts, layout
from tests.cloud.compute import Compute

FIRST, SECOND, THIRD = layout.HOSTS
#: The variable that has the seconds of the test.
SECONDS = 'PLACEMENT_TEST_CLOUD_AUDIT_SECONDS'
LISTS = [
    word
    for kind in ('servers', 'migrations', 'services', 'hypervisors')
    for word in (f'--{kind}', 'nova')
]


def _come_and_go(host, over):
    """Start servers on a host and delete them; every other one moves before."""
    compute, number = Compute(), 0
    while not over.is_set():
        uuid = compute.boot(f'guest-{host}-{number}', host=host)
        if number % 2:
            compute.act(uuid, 'migrate', {'host': THIRD}, 'VERIFY_RESIZE')
            compute.act(uuid, 'confirmResize', None, 'ACTIVE')
        compute.delete(uuid)
        number += 1
    return number


def test_usage_below_zero_in_nova_ends_no_audit(compute, placement):
    hosts.settle(compute)
    used = 'local_gb_used = {}, free_disk_gb = local_gb - ({})'
    row = f"WHERE hypervisor_hostname = '{FIRST}' AND deleted = 0"
    control.sql(f'UPDATE nova.compute_nodes SET {used.format(-3, -3)} {row};')

    audited = placement('resource', 'provider', 'audit', *LISTS, '-f', 'json')

    control.sql(f'UPDATE nova.compute_nodes SET {used.format(0, 0)} {row};')
    assert audited.json() == [], audited.stderr


def test_no_fault_is_found_while_servers_come_and_go(compute, placement):
    hosts.settle(compute)
    over, results = threading.Event(), []
    end = time.monotonic() + float(os.environ.get(SECONDS, '12'))
    with ThreadPoolExecutor() as pool:
        workers = [pool.submit(_come_and_go, host, over) for host in (FIRST, FIRST, SECOND)]
        try:
            while time.monotonic() < end or len(results) < 3:
                results.append(placement('resource', 'provider', 'audit', *LISTS, '-f', 'json'))
        finally:
            over.set()
    guests = sum(worker.result() for worker in workers)

    print(f'{len(results)} audits, {guests} servers')
    assert guests >= 3
    faults = [row for done in results for row in done.json(0, 3) if row['severity'] != 'info']
    assert faults == []
