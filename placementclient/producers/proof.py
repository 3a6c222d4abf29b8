# SPDX-License-Identifier: Apache-2.0
"""Asks whether consumers may be freed, just before they are: Placement first, then Nova."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime

from placementclient.api import allocation
from placementclient.api.parallel import call_in_parallel
from placementclient.basis import errors
from placementclient.client.http import Client
from placementclient.insight.evidence import CHANGED, EvidenceJudge, NovaRecords, Verdict
from placementclient.model.consumers import Consumer
from placementclient.model.servers import Server
from placementclient.nova import service
from placementclient.placing.topology import Topology

#: How many consumers are asked for at the same time.
_WORKERS = 8
#: The beginning of the reason why nothing of a consumer is freed.
SILENT = 'Nova cannot be asked'


class FreeingProof:
    """Judges which allocations may be freed, by what Placement and Nova say now.

    :param servers: by UUID, those of the operator's lists; ``None``: there is no list
    :param is_nova_asked: whether to ask Nova, whose answers count more than the lists
    :ivar known_lists: the names of the lists of Nova that are known
    :ivar is_unasked: whether Nova could not be asked for a server
    """

    def __init__(
        self,
        client: Client,
        topology: Topology,
        servers: Mapping[str, Server] | None,
        records: NovaRecords,
        *,
        is_nova_asked: bool,
    ) -> None:
        self._client, self._servers, self._records = client, servers or {}, records
        is_known = {
            'servers': is_nova_asked or servers is not None,
            'migrations': records.migrations is not None,
        }
        self.known_lists = frozenset(name for name, known in is_known.items() if known)
        self._evidence = EvidenceJudge(topology, records, is_asked=is_nova_asked)
        self._is_nova_asked, self.is_unasked = is_nova_asked, False
        #: Why no further server is asked for.
        self._silence = ''

    def judge_consumers(
        self, consumers: Sequence[Consumer], progress: Callable[..., None] | None = None
    ) -> dict[str, Verdict]:
        """Return by UUID which allocations of each consumer may be freed.

        A consumer that has changed since it was read keeps everything.

        :param progress: called with the UUID of each judged consumer
        """
        result = {}
        judged = call_in_parallel(self._judge_consumer, consumers, _WORKERS)
        for consumer, verdict in zip(consumers, judged, strict=True):
            result[consumer.uuid] = verdict
            if progress:
                progress(consumer.uuid)
        return result

    def refuse_existing_consumers(self, uuids: Iterable[str]) -> None:
        """Refuse consumers that may still exist, although the operator says that they are gone.

        :raises errors.BadArgument: names each with the reason
        """
        reasons = [
            f'{uuid}: {reason}' for uuid in uuids if (reason := self._explain_existence(uuid))
        ]
        if reasons:
            raise errors.BadArgument('\n'.join(f'--gone: {reason}' for reason in reasons))

    def _explain_existence(self, uuid: str) -> str:
        """Return the reason why a consumer may still exist; empty if there is none."""
        migration = self._evidence.find_migration(uuid)
        if migration is not None and not migration.is_over:
            return migration.retention_reason
        server = self._servers.get(uuid)
        if server is not None and not server.is_deleted:
            return f'a list of servers has it ({server.status or server.state or "no status"})'
        try:
            is_known = self._is_nova_asked and bool(service.read_server(self._client, uuid))
        except service.ServiceError as reason:
            return str(reason)
        return 'Nova has this server' if is_known else ''

    def _judge_consumer(self, consumer: Consumer) -> Verdict:
        """Read a consumer again, and return which of its allocations may be freed."""
        migration = self._evidence.find_migration(consumer.uuid)
        server_uuid = migration.server_uuid if migration else consumer.uuid
        changed: dict[str, str | None] = {}
        live = self._read_consumer(consumer.uuid, changed)
        if (live.allocations, live.generation) != (consumer.allocations, consumer.generation):
            return Verdict(reason=CHANGED)
        holding = self._read_consumer(server_uuid, changed) if migration else live
        server = self._servers.get(server_uuid)
        if self._is_nova_asked and consumer.uuid not in self._records.gone:
            try:
                server = self._find_nova_record(server_uuid)
            except (service.ServiceError, errors.BadFile) as reason:
                self.is_unasked = True
                return Verdict(reason=f'{SILENT}: {str(reason).removeprefix(f"{SILENT}: ")}')
        return self._evidence.judge_consumer(live, holding, server, changed.get)

    def _find_nova_record(self, server_uuid: str) -> Server | None:
        """Return Nova's record of a server; ``None`` if it has none.

        :raises service.ServiceError: if Nova does not answer, or did not answer before
        """
        if self._silence:
            raise service.ServiceSilence(self._silence)
        try:
            return service.read_server_record(self._client, server_uuid)
        except (service.UnfilteredList, service.ServiceSilence, service.NoService) as reason:
            self._silence = str(reason)
            raise

    def _read_consumer(self, consumer_uuid: str, changed: dict[str, str | None]) -> Consumer:
        """Read a consumer, and put the time of its last change, by UUID, into ``changed``."""
        read = allocation.show(self._client, consumer_uuid)
        if read.last_modified:
            moment = parsedate_to_datetime(read.last_modified)
            changed[consumer_uuid] = moment.strftime('%Y-%m-%dT%H:%M:%S')
        return read.value
