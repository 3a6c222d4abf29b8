# SPDX-License-Identifier: Apache-2.0
"""A Placement with one fault of each kind, and what an audit of it prints."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from placementclient.client.http import Client
from placementclient.files import disk
from tests.functional import clouds, planted_services
from tests.functional.bulk import Database
from tests.functional.planted import Planted, planted

#: What the services call their lists, where that is not the name of the option.
LIST_KEYS = {'limits': 'registered_limits'}
#: The findings that an audit fixes by itself.
SAFE = {
    'orphan', 'doubled', 'left-by-evacuation', 'left-by-shelving', 'left-by-migration',
    'reserved-above-total', 'owner-missing',
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A Placement with a planted cloud, and the files that one has of it."""

    cloud: Planted
    client: Client
    folder: Path

    def audit(self, placement, *argv):
        return placement('resource', 'provider', 'audit', '-f', 'json', *argv)

    @property
    def snapshot(self):
        return str(self.folder / 'cloud.json')

    @property
    def lists(self):
        return [
            argument
            for name in self.cloud.lists
            for argument in (f'--{name}', str(self.folder / f'{name}.json'))
        ]

    @property
    def files(self):
        return ['--snapshot', self.snapshot, *self.lists]


def build(client, hosts, folder):
    """Fill a Placement, and list what Nova has afterwards."""
    cloud = planted(hosts)
    planted_services.plant(cloud)
    database = Database(client)
    database.fill(cloud.snapshot)
    for consumer in cloud.forgotten:
        database.forget_consumer(consumer)
    site = Site(cloud, client, folder)
    disk.write_snapshot(site.snapshot, clouds.captured(client))
    for name, records in cloud.lists.items():
        key = LIST_KEYS.get(name, name)
        (folder / f'{name}.json').write_text(json.dumps({key: records}))
    return site


def subjects(result):
    return Counter((row['id'], row['subject']) for row in json.loads(result.stdout))


def by_id(result):
    return {row['id']: row for row in json.loads(result.stdout)}
