# SPDX-License-Identifier: Apache-2.0
"""The loss of hosts: the rows and the sentences about what has no place then."""

from collections.abc import Iterator

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.drain.host_failure import HostFailures
from placementclient.model.snapshots import Snapshot
from placementclient.render.columns import Output
from placementclient.render.drains import list_root_names
from placementclient.render.facts import Facts

FAILURES = ('hosts', 'servers', 'with_a_place', 'at_most', 'verdict')


def list_host_failures(snapshot: Snapshot, checked: HostFailures) -> Output:
    """Return a table of the failures that leave a server without a place, worst first."""
    return FAILURES, [
        (Facts(list_root_names(snapshot, hosts)), servers, least, most, str(verdict))
        for hosts, servers, least, most, verdict in checked.failures
    ]


def describe_host_failures(snapshot: Snapshot, checked: HostFailures) -> Iterator[str]:
    """Yield sentences about the worst of the checked failures of hosts."""
    extent, worst = f'{checked.checked} of {checked.possible} losses checked', checked.worst
    names = ' and '.join(list_root_names(snapshot, worst.hosts))
    servers = format_count(worst.servers, 'server')
    if checked.failures:
        many = f'{worst.least}' if worst.least == worst.most else f'{worst.least} to {worst.most}'
        yield (
            f'{extent}: after {len(checked.failures)} of them not every server certainly has a '
            f'place. The worst: {names}, with a place for {many} of {servers}'
        )
    else:
        yield (
            f'{extent}: each leaves a place for every {"counted " if checked.uncounted else ""}'
            f'server. The largest: {names}, with {servers}'
        )
    if checked.uncounted:
        hosts = sorted({str(finding.facts['host']) for finding in checked.uncounted})
        yield (
            f'Not counted: {format_count(len(checked.uncounted), "server")} without allocations on '
            f'the host that Nova has ({join_names(hosts, 5)}). Plan a drain of that host to see '
            'which'
        )
    if checked.checked < checked.possible:
        yield (
            f'Not proved for any {len(worst.hosts)} hosts: only the largest losses were checked. '
            'Give fewer hosts'
        )
