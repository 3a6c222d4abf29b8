"""Why there are few candidates, or none."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from placementclient.client import errors, http, microversion
from placementclient.client.microversion import Microversion
from placementclient.commands.allocations.allocation_candidate import FILTERS, LIMIT, requested
from placementclient.commands.framework.assuming import ASSUME, assumed
from placementclient.commands.framework.document import DocumentCommand, Text
from placementclient.commands.framework.option import Option
from placementclient.commands.snapshots.snapshot import taken

if TYPE_CHECKING:
    from placementclient.insight.candidates.explanation import Explanation

#: From here on the service looks for candidates in nested providers.
_NESTED = Microversion(1, 29)


class ExplainCandidate(DocumentCommand):
    """Explain why a request for candidates cannot be met.

    The filters are those of allocation candidate list. It says how many trees satisfy each
    requirement alone, which smallest sets cannot be met together, what would be enough, and what
    the nearest trees lack. What would be enough has been asked of the service, if not marked as
    calculated. The exit status is 0 if there are candidates, and 4 if there are none.

    Example:

      openstack allocation candidate explain --resource VCPU=2 \\
        --group 1 --resource VGPU=4 --required CUSTOM_NVIDIA_A40
    """

    # With --snapshot there is nobody to authenticate with.
    auth_required = False
    statuses = ((errors.ExitStatus.INFEASIBLE, 'there are no candidates'),)
    options = (
        *FILTERS,
        LIMIT,
        Option(
            '--hosts', metavar='<number>', type=int, default=5, help='How many of the nearest trees'
        ),
        Option('--snapshot', metavar='<file>', help='Ask this snapshot, not the service'),
        ASSUME,
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
        return Text(explanations.data(explanation), explanations.lines(explanation))

    def _of_service(self, parsed_args: argparse.Namespace) -> Explanation:
        from placementclient.insight.candidates import explanation
        from placementclient.workflows import inquiry

        self.client.require('allocation candidate explain', _NESTED)
        for option in self.options:
            if option.is_given(parsed_args):
                self.client.require(option.flags[-1], option.since)
        request = requested(self.client, parsed_args)
        inquirer = inquiry.Inquiry(self.client, request.limit)
        return explanation.explain(
            request, inquiry.ServiceIndex(self.client), inquirer.offer, parsed_args.hosts
        )

    def _of_snapshot(self, parsed_args: argparse.Namespace) -> Explanation:
        from placementclient.insight import unknown_names
        from placementclient.insight.candidates import explanation, snapshot_index

        snapshot = assumed(self, parsed_args, taken(self, parsed_args)).snapshot

        def find(name: str) -> str:
            state = snapshot.find(name)
            if state is None:
                raise errors.NoSuchProvider(f'No resource provider of the snapshot is {name!r}')
            return state.uuid

        # Nothing is sent: it only knows what each option needs.
        nobody = http.Client(None, microversion.HIGHEST)
        request = requested(nobody, parsed_args, find)
        for absent in unknown_names.absent(unknown_names.Names.of(snapshot), request):
            self.log.warning(absent.sentence)
        return explanation.explain(
            request,
            snapshot_index.SnapshotIndex(snapshot),
            hosts=parsed_args.hosts,
        )
