# SPDX-License-Identifier: Apache-2.0
"""That the judge sees what is wrong: flawed trees make Nova write."""

from typing import Any, ClassVar

from tests.nova import test_vgpu
from tests.nova.judge import Judged


class Rejected(Exception):
    """Nova was not content with the tree."""


class Flawed(Judged):
    """Mixed in before the reshape of virtual GPUs, of which something is wrong."""

    #: Of the first child: what it is instead.
    flaw: ClassVar[dict[str, Any]] = {}

    def specification(self, hostname):
        specification = super().specification(hostname)
        child, move = specification['providers'][0], specification['moves'][0]
        child.update(self.flaw)
        move['to_resource_provider'] = child['name']
        return specification

    def assignments(self, hostname):
        rows = super().assignments(hostname)
        was = f'{hostname}_{super().specification(hostname)["providers"][0]["name"][7:]}'
        now = self.specification(hostname)['providers'][0]['name'].replace('{root}', hostname)
        for row in rows:
            row['to_provider'] = now if row['to_provider'] == was else row['to_provider']
        return rows

    def restart_compute_service(self, hostname, *args, **kwargs):
        try:
            return super().restart_compute_service(hostname, *args, **kwargs)
        except Rejected:
            raise
        except Exception as failure:
            if not self.written:
                raise
            # Nova refuses to start at all.
            raise Rejected(self.written) from failure

    def judge(self, before, after):
        if self.written and before != after:
            raise Rejected(self.written)
        raise AssertionError(f'Nova saw nothing wrong: {self.written}')

    def test_create_servers_with_vgpu(self):
        self.assertRaises(Rejected, super().test_create_servers_with_vgpu)


class WithoutOwnerTests(Flawed, test_vgpu.VGPUTests):
    flaw: ClassVar[dict[str, Any]] = {'traits': []}


class WrongTotalTests(Flawed, test_vgpu.VGPUTests):
    flaw: ClassVar[dict[str, Any]] = {'inventories': {'VGPU': {'total': 2, 'max_unit': 1}}}


class WrongNameTests(Flawed, test_vgpu.VGPUTests):
    flaw: ClassVar[dict[str, Any]] = {'name': '{root}_gpu0'}
