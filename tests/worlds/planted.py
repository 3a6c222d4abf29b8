# SPDX-License-Identifier: Apache-2.0
"""Defects that the worlds have to find, planted in the product of this process."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from msgspec.structs import replace

from placementclient.insight.evidence import EvidenceJudge, Verdict
from placementclient.model.servers import Server, ServerMigration
from placementclient.nova import schema, service
from tests.worlds.running import World

_judge = EvidenceJudge.judge_consumer
_record = service.read_server_record


@dataclass(frozen=True)
class Defect:
    """A defect of an attribute.

    :param command: the one that shows it; empty: the evidence of lists alone does
    :param damages: of all worlds; ``None``: any
    """

    owner: Any
    name: str
    replacement: Any
    command: str = ''
    is_live: bool = False
    damages: frozenset[str] | None = None

    def worlds(self, seeds: Iterable[int]) -> Iterator[World]:
        for seed in seeds:
            world = World.draw(seed, [self.command or 'audit'], [self.is_live])
            damages = world.damages if self.damages is None else self.damages
            yield dataclasses.replace(world, damages=damages)

    @contextlib.contextmanager
    def plant(self) -> Iterator[None]:
        with mock.patch.object(self.owner, self.name, self.replacement):
            yield


def _free_by_absence(evidence, consumer, holding, server, changed):
    if server is None and evidence.find_migration(consumer.uuid) is None:
        return Verdict(tuple(consumer.allocations))
    return _judge(evidence, consumer, holding, server, changed)


def _free_by_404(client, uuid):
    if service.read_server(client, uuid):
        return _record(client, uuid)
    return Server(uuid, status='DELETED', vm_state='deleted')


def _free_by_any_record(client, uuid):
    path = f'/servers/detail?all_tenants=1&deleted=True&uuid={uuid}'
    if service._read_pages(client, path, 'servers'):
        return Server(uuid, status='DELETED', vm_state='deleted')
    return _record(client, uuid)


def _judge_without_tasks(evidence, consumer, holding, server, changed):
    server = server and replace(server, task=None)
    return _judge(evidence, consumer, holding, server, changed)


DEFECTS = {
    'free what a list lacks': Defect(EvidenceJudge, 'judge_consumer', _free_by_absence),
    'ignore the task': Defect(EvidenceJudge, 'judge_consumer', _judge_without_tasks),
    'take a page for the list': Defect(
        schema, 'find_next_page', lambda *_: None, damages=frozenset({'page'})
    ),
    'free during a migration': Defect(ServerMigration, 'is_over', property(lambda _: True)),
    'ignore when a server has moved': Defect(EvidenceJudge, '_has_left_host', lambda *_: True),
    'ignore the age of a list': Defect(EvidenceJudge, '_explain_unsettled', lambda *_: ''),
    'ignore what the host lacks': Defect(EvidenceJudge, '_find_lacking_amounts', lambda *_: {}),
    'take 404 for gone': Defect(service, 'read_server_record', _free_by_404, 'audit', True),
    'take any record for deleted': Defect(
        service, 'read_server_record', _free_by_any_record, 'audit', True
    ),
}
