# SPDX-License-Identifier: Apache-2.0
"""Replace a resource provider with another one."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.client import endpoints
from placementclient.commands.framework import base, change_command, service_lists
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.catalog import NEUTRON
from placementclient.model.providers import is_uuid, normalize_uuid

if TYPE_CHECKING:
    from placementclient.producers.replace import ProviderPair


def _parse_uuid(text: str) -> str:
    """Return a UUID in the form of the service: small letters, with hyphens."""
    if not is_uuid(text):
        raise argparse.ArgumentTypeError(f'{text!r} is not a UUID')
    return normalize_uuid(text)


class ReplaceProvider(ChangeCommand):
    """Replace a resource provider with one that has another UUID, and delete the old one.

    Use it for a host that was reinstalled or renamed. The new provider gets the inventories,
    traits, aggregates, children and allocations of the old one. Children keep their UUIDs; if their
    names begin with the name of the provider and "_", they get the new name.

    --uuid creates the new provider. --with uses an existing one, which keeps its allocations and
    inventories; these must admit everything that those of the old provider admit. The command
    refuses

      * a provider above or below the old one,
      * a consumer with the same class on both,
      * a provider with the name of another host and consumers of its own, unless you give --merge,
      * an old host that is up in Nova, and a new one that Nova has under another name,
      * another UUID while Nova has the compute node under the old one: nova-compute would not
        start.

    One POST /reshaper moves inventories and allocations together: you need the role service. If the
    command is killed, run it again: it continues.
    """

    examples = ('compute1 --uuid 7d8fd7d2-43c6-4a93-9b62-0a4c0b6b1e6f',)
    first_version = endpoints.RESHAPE.since
    options = (
        Option('old', help='Name or UUID of the resource provider to delete'),
        Option('--uuid', type=_parse_uuid, help='Create the new resource provider with this UUID'),
        Option('--with <provider>', dest='twin', help='Name or UUID of an existing provider'),
        Option('--name', help='Name of the new provider; default: the name of the old one'),
        Flag('--merge', help='Merge the two also if the new one has another name and consumers'),
        Option(
            '--hypervisors <file>|nova',
            help='The compute nodes of Nova: a list as JSON; default: nova, if the catalog has it',
        ),
        Flag('--compute-node-exists', help='Go on, whatever hosts Nova has; do not ask Nova'),
        *change_command.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.insight.owners import NEUTRON_PROVIDER
        from placementclient.producers.replace import Replacement, ReplaceProducer, find_pair

        if self.args.uuid is None and self.args.twin is None:
            self.exit_with_usage('the following arguments are required: --uuid or --with')
        if self.args.uuid is not None and self.args.twin is not None:
            raise errors.UsageError('Give either --uuid or --with')
        request = Replacement(self.args.old, self.args.uuid, self.args.twin, self.args.name)
        pair, finished = find_pair(self.client, request)
        if pair and not self.args.compute_node_exists:
            self._refuse_other_host(pair, self.args.hypervisors)
        self.empty_message = finished or self.empty_message
        output = self.plan_and_apply(
            ReplaceProducer(
                self.client, pair, is_merge=self.args.merge, is_journaled=bool(self.args.plan)
            )
        )
        if pair and NEUTRON_PROVIDER.fullmatch(pair.old_name):
            self._warn_of_ports(pair)
        return output

    def _warn_of_ports(self, pair: ProviderPair) -> None:
        """Warn of ports for which Neutron stores the UUID of the old provider."""
        from placementclient.nova import service

        old, new = pair.old_uuid, pair.new_uuid
        try:
            ports = service_lists.get_sources().ports.read(self, NEUTRON)
        except (service.ServiceError, errors.BadFile) as reason:
            self.log.warning(
                f'Not known which ports name {old} as their provider: {reason}. Look for it in '
                'binding:profile of the ports with guaranteed bandwidth'
            )
            return
        for port in ports:
            if old in port.providers.values():
                noted = {group: new if p == old else p for group, p in port.providers.items()}
                profile = shlex.quote(json.dumps({'allocation': noted}))
                self.log.warning(
                    f'Port {port.uuid} of server {port.server_uuid} names {old} as its provider: '
                    'live-migrate the server, or tell Neutron: openstack port set '
                    f'--binding-profile {profile} {port.uuid}'
                )

    def _refuse_other_host(self, pair: ProviderPair, source: str | None) -> None:
        """Refuse to replace a provider by that of another host of Nova.

        :param source: the compute nodes: a file or ``nova``; None: Nova
        """
        from placementclient.nova import compute_hosts, service
        from placementclient.producers.same_host import require_compute_nodes_of_one_host

        try:
            nodes = service_lists.get_sources().hypervisors.read_option(self, source)
            nodes = compute_hosts.read_compute_nodes(self.client) if nodes is None else nodes
        except service.ServiceError as reason:
            if source is None and isinstance(reason, service.NoCatalog):
                return
            raise errors.BadArgument(
                f'{reason}. Give the list with --hypervisors FILE; --compute-node-exists goes on '
                'without it'
            ) from None
        require_compute_nodes_of_one_host(
            nodes, pair.old_uuid, pair.new_uuid, pair.name, is_merge=self.args.merge
        )
