# SPDX-License-Identifier: Apache-2.0
"""What Nova's test classes become when this program has reshaped before nova-compute starts."""

import contextlib
import json
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import fixtures
from nova import exception
from nova.scheduler.client import report
from nova.virt.libvirt import driver

from tests.nova.bridge import Bridge

RESHAPE = ('resource', 'provider', 'reshape')


class Judged:
    """Mixed into a test class of Nova: the first restart of a host's service is preceded by our
    reshape, and finds nothing left to do.

    :cvar by_nova: whether Nova's driver does the reshape instead, to compare the end states
    """

    by_nova = False
    #: What was there after each start, for whoever compares; the class's, as testtools gives an
    #: instance the attributes back that it had before.
    states: ClassVar[list[dict[str, Any]]] = []

    def setUp(self):
        super().setUp()
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.bridge = Bridge(self._placement_conf(), folder)
        self.addCleanup(self.bridge.close)
        self.reshaped: set[str] = set()
        #: What Nova's services have written while they started again: method and path.
        self.written: list[tuple[str, str]] = []

    def _placement_conf(self):
        return self.placement.fixture.conf_fixture.conf

    def specification(self, hostname):
        """What the reshape of a host is to do."""
        raise NotImplementedError

    def assignments(self, hostname):
        """Known providers of allocations on it."""
        return []

    def reshape(self, hostname):
        """Snapshot, plan, rehearse, apply, verify: as an operator does it."""
        run, write = self.bridge.run, self.bridge.write
        spec = write(f'{hostname}.json', json.dumps(self.specification(hostname)))
        rows = write(f'{hostname}-rows.json', json.dumps(self.assignments(hostname)))
        plan, cloud = f'{hostname}-plan.json', f'{hostname}-cloud.json'
        run('resource', 'provider', 'snapshot', 'save', cloud)
        assignments = ('--assignments', rows) if self.assignments(hostname) else ()
        run(*RESHAPE, 'plan', '--spec', spec, '--snapshot', cloud, *assignments, '-o', plan)
        run(*RESHAPE, 'rehearse', plan, '--snapshot', cloud)
        run(*RESHAPE, 'apply', plan, '--yes')
        run(*RESHAPE, 'verify', plan)

    def restart_compute_service(self, hostname, *args, **kwargs):
        if self.by_nova:
            compute = super().restart_compute_service(hostname, *args, **kwargs)
            self.states.append(self.state())
            return compute
        if hostname not in self.reshaped:
            self.reshaped.add(hostname)
            self.reshape(hostname)
        before = self.state()
        with self.recorded():
            compute = super().restart_compute_service(hostname, *args, **kwargs)
        self.states.append(self.state())
        self.judge(before, self.states[-1])
        return compute

    def judge(self, before, after):
        """Nova has found nothing to do."""
        self.assertEqual([], self.written)
        self.assertEqual(before, after)

    @contextlib.contextmanager
    def recorded(self):
        """Take note of all that Nova writes to Placement, and of reshapes that it wants."""
        with contextlib.ExitStack() as stack:
            for method in ('put', 'post', 'delete'):
                stack.enter_context(self._noting(method))
            stack.enter_context(self._noting_reshapes())
            yield

    def _noting(self, method):
        send = getattr(report.SchedulerReportClient, method)

        def noting(client, url, *args, **kwargs):
            self.written.append((method.upper(), url))
            return send(client, url, *args, **kwargs)

        return mock.patch.object(report.SchedulerReportClient, method, noting)

    def _noting_reshapes(self):
        update = driver.LibvirtDriver.update_provider_tree

        def noting(libvirt, *args, **kwargs):
            try:
                return update(libvirt, *args, **kwargs)
            except exception.ReshapeNeeded:
                self.written.append(('RESHAPE', 'needed'))
                raise

        return mock.patch.object(driver.LibvirtDriver, 'update_provider_tree', noting)

    def state(self):
        """All of Placement that matters, by names: providers with inventories, traits, aggregates,
        and what each consumer holds.
        """
        get = self.placement.get
        listed = get('/resource_providers', version='1.14').body['resource_providers']
        names = {provider['uuid']: provider['name'] for provider in listed}
        providers, allocations = {}, {}
        for provider in listed:
            path = f'/resource_providers/{provider["uuid"]}'
            providers[provider['name']] = {
                'parent': names.get(provider['parent_provider_uuid']),
                'inventories': get(f'{path}/inventories').body['inventories'],
                'traits': sorted(get(f'{path}/traits', version='1.6').body['traits']),
                'aggregates': sorted(get(f'{path}/aggregates', version='1.1').body['aggregates']),
            }
            for consumer, record in get(f'{path}/allocations').body['allocations'].items():
                allocations.setdefault(consumer, {})[provider['name']] = record['resources']
        return {'providers': providers, 'allocations': allocations}
