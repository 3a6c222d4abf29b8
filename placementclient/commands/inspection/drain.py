# SPDX-License-Identifier: Apache-2.0
"""Plans to empty hosts, and the new hosts of their servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.basis.wording import format_count
from placementclient.commands.framework import (
    base,
    cloud_options,
    nova_outages,
    selection_options,
    server_options,
)
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.inspection import drain_lists
from placementclient.model.catalog import NOVA

if TYPE_CHECKING:
    from placementclient.commands.inspection.drain_lists import NovaLists
    from placementclient.insight.drain.cloud import DrainCloud
    from placementclient.insight.drain.host_failure import HostFailures
    from placementclient.insight.drain.nova_facts import NovaFacts
    from placementclient.insight.drain.plan import DrainVerdict
    from placementclient.model.findings import Finding
    from placementclient.model.servers import Server
    from placementclient.model.snapshots import Snapshot
    from placementclient.nova.images import Images
    from placementclient.producers.assuming import AssumedCloud
    from placementclient.render.drains import DrainAnswer

#: How the command ends, by the answer.
_EXIT_STATUSES = {
    'yes': ExitStatus.DONE,
    'no': ExitStatus.INFEASIBLE,
    'depends': ExitStatus.UNDECIDED,
    'undetermined': ExitStatus.ERROR,
}


class PlanDrain(base.Lister):
    """Plan how to empty hosts: whether they can be emptied, where each server goes, in which order.

    The command prints a plan, or the proof that there is none, and changes nothing. A row is the
    move of a server; the moves of a wave may run at the same time. During a live migration
    Placement has the allocations of the server twice: each wave has room for that. Hosts with the
    trait COMPUTE_STATUS_DISABLED receive nothing.

    The column state says how Nova moves the server: move (live), cold, or cannot move, with the
    reason, and the command that comes first (not with -f value).

    Placement does not know the state of a server, nor its request. Without --requests, each server
    counts as running, also one that waits for "resize confirm". A new host then needs all traits
    and aggregates of the old one, and as many providers of the same kind. If a server then has no
    place, the amounts alone decide if the drain is impossible.

    --rolling empties each host once, batch by batch. Each batch is back in service, empty, before
    the next one begins. --lose plans nothing: it prints the losses of hosts after which some
    servers have no place.

    --for-flavor empties nothing: it makes room for new servers of a flavor. The rows are the fewest
    moves after which all of them fit; no rows: they fit now. The last line on stderr says how many
    moves are needed at least. If no number of moves is enough, that is proved.
    """

    examples = (
        'compute1 compute2 --requests nova',
        '--for-flavor m1.large --count 3 --requests nova',
    )
    auth_required = False
    # Standard error has the answer.
    empty_message = ''
    statuses = (
        (
            ExitStatus.INFEASIBLE,
            'impossible (proved): not every server can have a place, or no number of moves makes '
            'room',
        ),
        (
            ExitStatus.UNDECIDED,
            'unknown: some requirements of the servers are unknown, or some consumers cannot '
            'move; stderr names them',
        ),
    )
    options = (
        Option(
            'host',
            nargs='*',
            default=[],
            help="A host, by the name or UUID of its provider, or a pattern such as 'compute2*'",
        ),
        *selection_options.CONDITIONS,
        drain_lists.REQUESTS,
        server_options.NOVA_CONF,
        server_options.PROFILES,
        server_options.IMAGES,
        Option(
            '--cells <file>',
            help='Move servers only within their cell: the output of nova-manage cell_v2 '
            'list_hosts. Default: all hosts are in one cell',
        ),
        Flag(
            '--strict',
            help='Assume that each server needs all traits and aggregates of its old host: the '
            'answer is yes or no',
        ),
        Option(
            '--for-flavor <name>',
            help='Make room for new servers of this flavor on the hosts, by default on all: the '
            'fewest moves, of servers of any host, after which they fit',
        ),
        Option('--count <number>', help='The number of new servers; default: 1'),
        Option(
            '--flavors <file>|nova',
            help='With --for-flavor: the answer of GET /flavors/detail or of openstack flavor list '
            '--all --long -f json. Default: ask Nova',
        ),
        Flag('--rolling', help='Empty the hosts in batches, one after the other'),
        Option(
            '--batch <number>',
            help='With --rolling: empty this many hosts at a time. Default: one aggregate at a '
            'time, such as a rack, the smallest of each host; a host without aggregate is a '
            'batch alone',
        ),
        Option(
            '--lose <number>',
            help='Check that every server has a place if this many hosts fail together, of the '
            'named hosts or of all. For 1 each host is checked. For more each combination is '
            'checked, or the largest if there are more than 10,000. Default: no losses',
        ),
        Option(
            '--keep-free <percent>',
            type=float,
            default=0.0,
            help='Leave this percentage of the capacity of each class free on each host',
        ),
        Option(
            '--per-host <number>',
            default=2,
            help='Maximum number of servers that leave a host, and that come to a host, at the '
            'same time',
        ),
        Option(
            '--parallel <number>',
            default=50,
            help='Maximum number of servers that move at the same time',
        ),
        Option(
            '--solver-timeout <seconds>',
            default=60,
            help='Time limit of each search. The same files give the same answer, unless a '
            'search reaches the limit',
        ),
        Option(
            '-o',
            '--output <file>',
            help='Also write the whole answer as JSON to this file, for resource provider report '
            '--drain',
            output='a plan of a drain',
        ),
        *cloud_options.OPTIONS,
    )

    def list_column_names(self) -> Sequence[str]:
        from placementclient.render import drain_moves, host_failures

        return host_failures.FAILURES if self.args.lose else drain_moves.MOVES

    def execute(self) -> base.Output:
        from placementclient.files import disk
        from placementclient.files.documents import format_json
        from placementclient.insight.drain.cloud import DrainCloud
        from placementclient.render import drain_moves, drains, host_failures

        self._refuse_wrong_option_combinations()
        assumption = cloud_options.read_cloud(self, is_steady=True)
        snapshot = assumption.snapshot
        lists = drain_lists.read_lists(self)
        cells_down = nova_outages.report_cells_down(self) if lists.source == NOVA else ()
        nova_facts = self._make_nova_facts(lists, assumption)
        nova_facts = replace(nova_facts, cells=self._read_cells(snapshot))
        audit = drain_lists.format_audit_command(self, lists)
        cloud = DrainCloud(snapshot, nova_facts, self.args.keep_free, audit)
        names = self.args.host
        client = None if self.args.snapshot else self.client
        hosts = cloud.select_hosts(names, selection_options.make_selector(client, self.args))
        if self.args.for_flavor:
            meaning = 'new servers may come to all of'
            self.warn([*drains.describe_child_arguments(snapshot, names, meaning)])
            self.warn([*drains.describe_hosts_without_cell(cloud, ())])
            hosts, answer = [], self._plan_room_for_flavor(cloud, hosts)
        else:
            self.warn(
                [
                    *drains.describe_child_arguments(snapshot, names),
                    *drains.describe_hosts_without_cell(cloud, hosts),
                ]
            )
            if self.args.lose:
                checked = self._check_losses(cloud, hosts)
                self._set_exit_status(checked.verdict, cells_down)
                return host_failures.list_host_failures(snapshot, checked)
            answer = self._plan_drain(cloud, hosts)
        self._set_exit_status(answer.verdict, cells_down)
        if self.args.output:
            document = drain_moves.make_answer_document(cloud, hosts, answer, self.args.assume)
            disk.write_text(self.args.output, f'{format_json(document)}\n')
        self.ending, *self.explanation = answer.messages
        steps = answer.next_steps
        self.next_steps = (*drain_lists.list_commands_for_lists(steps), *steps)
        if self.args.formatter == 'table' and self.app.stdout.isatty():
            self.explanation += drains.advise_copying_commands(answer.moves)
        self.warn([*drains.describe_unknown_states(cloud, answer.moves)])
        # What it prints may go to a shell: only the moves of this plan.
        has_first_steps = self.args.formatter != 'value'
        return drain_moves.list_moves(cloud, answer, has_first_steps=has_first_steps)

    def _set_exit_status(self, verdict: DrainVerdict, cells_down: Sequence[Finding]) -> None:
        """Set the exit status of a verdict; a ``yes`` is an error while cells of Nova are down."""
        self.exit_status = _EXIT_STATUSES[verdict]
        if cells_down:
            self.exit_status = self.exit_status or errors.ExitStatus.ERROR

    def _refuse_wrong_option_combinations(self) -> None:
        if self.args.rolling and self.args.lose:
            raise errors.UsageError('--rolling and --lose contradict each other')
        if self.args.batch and not self.args.rolling:
            raise errors.UsageError('--batch is for --rolling')
        if not 0 <= self.args.keep_free < 100:
            raise errors.UsageError('--keep-free is a percentage, from 0 to less than 100')
        is_selected = self.args.host or selection_options.has_selection(self.args)
        self._refuse_wrong_flavor_options()
        if not (self.args.lose or self.args.for_flavor or is_selected):
            self.exit_with_usage('the following arguments are required: <host>, --match, …')

    def _refuse_wrong_flavor_options(self) -> None:
        args = self.args
        if not args.for_flavor:
            for option, value in (('--count', args.count), ('--flavors', args.flavors)):
                if value:
                    raise errors.UsageError(f'{option} is for --for-flavor')
            return
        if args.rolling or args.lose:
            option = '--rolling' if args.rolling else '--lose'
            raise errors.UsageError(f'--for-flavor cannot be combined with {option}')
        if args.snapshot and not args.flavors:
            raise errors.UsageError('With --snapshot, --for-flavor needs --flavors FILE')

    def _read_cells(self, snapshot: Snapshot) -> Mapping[str, str] | None:
        """Return the cell of each host by the UUID of its root; None: all are in one cell."""
        if not self.args.cells:
            return None
        from placementclient.files import disk, kinds
        from placementclient.insight.drain.knowledge import key_by_root_name
        from placementclient.nova.cells import parse_host_cells

        path = self.args.cells
        return key_by_root_name(
            snapshot, parse_host_cells(disk.read_text(path, kinds.HOST_CELLS, kinds.TABLE), path)
        )

    def _make_nova_facts(self, lists: NovaLists, assumption: AssumedCloud) -> NovaFacts:
        """Return the facts about the servers of a cloud, from the lists of ``--requests``."""
        from placementclient.insight.drain.knowledge import read_nova_facts
        from placementclient.insight.drain.nova_facts import NovaFacts

        if lists.document is None:
            return NovaFacts()
        scheduling = server_options.read_scheduling_options(self)
        nova_facts, remarks = read_nova_facts(
            assumption.snapshot,
            lists.document,
            lists.source,
            scheduling,
            self._read_images,
            drain_lists.make_repair_choice(self, lists),
        )
        self.warn(remarks)
        return replace(nova_facts, consumers={*(nova_facts.consumers or ()), *assumption.placed})

    def _read_images(self, servers: Sequence[Server]) -> Images:
        """Return the images of servers; no image is known if Nova and ``--images`` give none."""
        from placementclient.nova.images import Images

        if NOVA not in self.args.requests and not self.args.images:
            return Images()
        return server_options.read_images(self, self.args.images, servers)

    def _plan_drain(self, cloud: DrainCloud, hosts: Sequence[str]) -> DrainAnswer:
        from placementclient.insight.drain import enough, moves, plan, rolling
        from placementclient.render import drains

        pace = moves.Pace(self.args.per_host, self.args.parallel)
        effort = self.args.solver_timeout
        if self.args.rolling:
            batches = rolling.split_into_batches(cloud, hosts, self.args.batch)
            return drains.answer_rolling_drain(
                cloud, hosts, rolling.plan_rolling(cloud, batches, pace, effort)
            )
        decision = plan.decide_drain(cloud, hosts, pace, effort, is_certain=self.args.strict)
        is_no = decision.verdict is plan.DrainVerdict.NO
        remedies = enough.find_remedies(cloud, hosts, decision.strict) if is_no else []
        return drains.answer_drain(cloud, hosts, decision, remedies)

    def _plan_room_for_flavor(self, cloud: DrainCloud, hosts: Sequence[str]) -> DrainAnswer:
        """Plan the moves after which the servers of ``--for-flavor`` fit on hosts."""
        from placementclient.insight.drain import moves, room_plan
        from placementclient.placing.requests import parse_request
        from placementclient.render import new_servers

        name, args = self.args.for_flavor, self.args
        flavor = server_options.read_flavor(self, args.flavors or NOVA, name)
        requests = [
            request
            for _, request in server_options.make_flavor_requests(
                self, cloud.snapshot, [flavor], self.log.warning
            )
        ]
        if not requests:
            raise errors.BadArgument(f'No server of the flavor {name} can be placed')
        request = parse_request(requests[0].first)
        new = room_plan.NewServers(flavor.name, request, args.count or 1)
        decision = room_plan.decide_room(
            cloud,
            hosts,
            new,
            moves.Pace(args.per_host, args.parallel),
            args.solver_timeout,
            is_certain=args.strict,
        )
        return new_servers.answer_new_servers(cloud, new, decision)

    def _check_losses(self, cloud: DrainCloud, hosts: Sequence[str]) -> HostFailures:
        """Check the failures of ``--lose`` hosts at once; set the last sentences of the command."""
        from placementclient.insight.drain import host_failure
        from placementclient.render import host_failures

        number = self.args.lose
        if number > len(hosts):
            raise errors.UsageError(
                f'--lose {number}: only {format_count(len(hosts), "host")} selected'
            )
        checked = host_failure.check_host_failures(cloud, hosts, number, self.args.solver_timeout)
        self.ending, *self.explanation = host_failures.describe_host_failures(
            cloud.snapshot, checked
        )
        return checked
