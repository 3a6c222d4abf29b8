"""The reasons for few candidates, or none."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from placementclient.client import errors, http, microversion, wording
from placementclient.client.microversion import Microversion
from placementclient.commands.allocations.allocation_candidate import FILTERS, LIMIT, requested
from placementclient.commands.framework import flavors, reading
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.document import DocumentCommand, Text
from placementclient.commands.framework.option import Option
from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA
from placementclient.model.requests import CandidateRequest, Filter

if TYPE_CHECKING:
    from placementclient.insight.candidates.explanation import Explanation

#: From here on the service looks for candidates in nested providers.
_NESTED = Microversion(1, 29)


class ExplainCandidate(DocumentCommand):
    """Explain why a request for candidates cannot be met.

    The filters are those of allocation candidate list. The command prints:

      * how many trees satisfy each requirement alone,
      * minimal sets of requirements that cannot be met together,
      * the changes of the request that would be enough, asked of the service unless marked as
        calculated,
      * the shortage of the nearest trees.

    With --flavor it explains "No valid host" of a server. Filters of Nova's scheduler that do not
    ask Placement are not known here.

    Example:

      openstack allocation candidate explain --flavor gpu.large
      openstack allocation candidate explain --resource VCPU=2 \\
        --group 1 --resource VGPU=4 --required CUSTOM_NVIDIA_A40
    """

    # With --snapshot there is no service to authenticate with.
    auth_required = False
    statuses = ((errors.ExitStatus.INFEASIBLE, 'there are no candidates'),)
    options = (
        *FILTERS,
        LIMIT,
        Option('--hosts <number>', type=int, default=5, help='Show so many of the nearest trees'),
        *reading.OPTIONS,
        Option(
            '--flavor <name>',
            help="Send the request of Nova's scheduler for a server of this flavor, with its root"
            ' disk on the host; --required, --member-of and the like are added',
        ),
        Option(
            '--flavors <file>',
            default=NOVA,
            help='Find the flavor in this file with the answer of GET /flavors/detail; nova: ask '
            'Nova',
        ),
    )

    def text(self, parsed_args: argparse.Namespace) -> Text:
        from placementclient.render import explanations

        try:
            is_calculated = parsed_args.snapshot or parsed_args.assume
            explain = self._of_snapshot if is_calculated else self._of_service
            explanation = explain(parsed_args)
        except errors.BadArgument as wrong:
            # "candidate list" ends with 1 for these, as osc-placement does.
            raise errors.UsageError(str(wrong)) from None
        if not explanation.is_met:
            self.exit_status = errors.ExitStatus.INFEASIBLE
        client: http.Client | None = vars(self).get('client')
        names = client.names if client else {}
        lines = [wording.with_names(line, names) for line in explanations.lines(explanation)]
        return Text(explanations.data(explanation), lines)

    def _of_service(self, parsed_args: argparse.Namespace) -> Explanation:
        from placementclient.insight.candidates import explanation
        from placementclient.producers import inquiry

        self.client.require('allocation candidate explain', _NESTED)
        for option in self.options:
            if option.is_given(parsed_args):
                self.client.require(option.flags[-1], option.since)
        index = inquiry.ServiceIndex(self.client)

        def is_owned() -> bool:
            try:
                return bool(index.matching(Filter(required=(COMPUTE_NODE, OWNER_NOVA))))
            except errors.BadRequest:  # a service that does not know the trait
                return False

        request = self._request(self.client, parsed_args, is_owned)
        inquirer = inquiry.Inquiry(self.client, request.limit)
        return explanation.explain(request, index, inquirer.offer, parsed_args.hosts)

    def _request(
        self,
        client: http.Client,
        parsed_args: argparse.Namespace,
        is_owned: Callable[[], bool],
        find: Callable[[str], str] | None = None,
    ) -> CandidateRequest:
        """Return the request that the options describe.

        :param is_owned: whether the scheduler requires OWNER_NOVA
        :param find: turns the name of a provider into its UUID
        """
        name = parsed_args.flavor
        request = requested(client, parsed_args, find, is_whole=not name)
        if not name:
            return request
        if request.groups or request.common.resources:
            raise errors.UsageError(
                '--flavor says what is asked for: leave out --resource, --group'
            )
        known = {each.name: each for each in flavors.given(self, parsed_args.flavors)}
        if name not in known:
            raise errors.BadArgument(
                f'No flavor is called {name!r}{wording.meant(name, known)}: see openstack flavor '
                'list --all'
            )
        from placementclient.nova import server_request
        from placementclient.nova.server_request import ServerRequest, Sources

        sources = Sources(is_owned())
        asked = server_request.requested(ServerRequest(known[name]), sources=sources)
        if asked.impossible:
            raise errors.BadArgument(f'flavor {name}: Placement refuses it: {asked.impossible}')
        if asked.uncounted:
            self.log.warning(f'flavor {name}: not counted: {", ".join(asked.uncounted)}')
        return asked.first.restricted(request)

    def _of_snapshot(self, parsed_args: argparse.Namespace) -> Explanation:
        from placementclient.insight import owners, unknown_names
        from placementclient.insight.candidates import explanation, snapshot_index

        snapshot = reading.cloud(self, parsed_args).snapshot

        def find(name: str) -> str:
            return snapshot.existing(name).uuid

        # Nothing is sent: it only knows what each option needs.
        nobody = http.Client(None, microversion.HIGHEST)
        request = self._request(
            nobody, parsed_args, lambda: owners.is_owner_required(snapshot), find
        )
        for absent in unknown_names.absent(unknown_names.Names.of(snapshot), request):
            self.log.warning(absent.sentence)
        return explanation.explain(
            request,
            snapshot_index.SnapshotIndex(snapshot),
            hosts=parsed_args.hosts,
        )
