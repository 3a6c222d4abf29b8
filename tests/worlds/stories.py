# SPDX-License-Identifier: Apache-2.0
"""Stories of servers, each with what Nova records of it, and what it really needs."""

import random
from collections.abc import Callable, Iterable

from tests.worlds.cloud import (
    DAY,
    FAILED,
    FPGA,
    GOLD,
    RESTING,
    SETTLED,
    UNDER_WAY,
    Builder,
    Cloud,
    Flavor,
    Host,
    Server,
)

#: How a migration of each type ends well.
ENDS = {'live-migration': 'completed', 'migration': 'confirmed', 'resize': 'confirmed',
        'evacuation': 'done'}  # fmt: skip
MOVES = ('live-migration', 'migration', 'resize')


def build(seed: int, only: Iterable[int] = ()) -> Cloud:
    """Return the cloud of a seed.

    :param only: the numbers of the stories; none: all
    """
    builder, chosen = Builder(seed), frozenset(only)
    cloud = builder.cloud
    for number in range(builder.dice.randint(4, 14)):
        builder.dice = random.Random(f'{seed}/{number}')
        story = builder.dice.choice(STORIES)
        if chosen and number not in chosen:
            continue
        holdings, servers = len(cloud.holdings), len(cloud.servers)
        story(builder)
        made = {holding.consumer for holding in cloud.holdings[holdings:]}
        made |= {server.uuid for server in cloud.servers[servers:]}
        cloud.stories |= dict.fromkeys(made, f'{number} {story.__name__}')
    return cloud


def resting(b: Builder) -> None:
    """A server that stays where it is, in any status; maybe it has come from elsewhere."""
    host, other = b.pair()
    status, task = b.dice.choice(RESTING)
    updated = b.dice.uniform(1, 5) * DAY
    server = b.server(host, status=status, task=task, updated=updated)
    moved = b.maybe(0.4)
    written = updated + (1 if moved else 9 * DAY)
    b.hold(server.uuid, host, server.flavor, written)
    if moved:
        kind = b.dice.choice(MOVES)
        b.migration(server, other, host, kind, ENDS[kind], updated, 'running')
        server.earlier = ('ACTIVE', None, other, updated + 9 * DAY)


def foreign(b: Builder) -> None:
    """A container of Zun, a claim by hand, or a server of another Nova."""
    host = b.dice.choice([*b.cloud.hosts, b.foreign])
    b.hold(b.uuid(), host, b.flavor(), b.dice.uniform(1, 50) * DAY)


def offloaded(b: Builder) -> None:
    """A server that is shelved, and on no host, has left something; or is just coming back."""
    host = b.dice.choice(b.cloud.hosts)
    is_back = b.maybe(0.4)
    task = b.dice.choice(['unshelving', 'spawning']) if is_back else None
    server = b.server(None, status='SHELVED_OFFLOADED', task=task)
    server.earlier = ('SHELVED_OFFLOADED', None, None, 3 * DAY)
    # Nova writes its record before the claim, and again after it.
    written = server.updated + b.dice.choice([-0.5, 0.1]) if is_back else 9 * DAY
    b.hold(server.uuid, host, server.flavor, written, '' if is_back else 'offloaded')


def unshelved(b: Builder) -> None:
    """A server that has come back from the shelf: older lists have it there."""
    host = b.dice.choice(b.cloud.hosts)
    server = b.server(host, updated=DAY)
    server.earlier = ('SHELVED_OFFLOADED', None, None, 9 * DAY)
    b.hold(server.uuid, host, server.flavor, DAY + 1)


def deleted(b: Builder) -> None:
    """A server that is gone has left something, and Nova has its record, or one in a wrong state.

    Some were being migrated: Nova deletes those records too.
    """
    host, other = b.pair()
    stale = b.dice.choice(['DELETED'] * 5 + ['BUILD', 'ERROR', 'SOFT_DELETED'])
    promise = 'deleted' if stale == 'DELETED' else ''
    server = b.server(host, status='DELETED', shown=('deleted',), stale=stale)
    server.earlier = b.dice.choice([None, ('ACTIVE', None, host, 9 * DAY)])
    b.hold(server.uuid, host, server.flavor, 9 * DAY, promise, is_needed=False)
    if b.maybe(0.3):
        migration = b.migration(server, other, host, 'live-migration', 'running', 9 * DAY)
        migration.is_shown = False
        b.hold(migration.uuid, other, server.flavor, 9 * DAY, is_needed=False)


def archived(b: Builder) -> None:
    """A server of which nobody has a record any more, but that an operator knows to be gone."""
    server = b.server(b.dice.choice(b.cloud.hosts), status='DELETED', shown=())
    assert server.host
    b.hold(server.uuid, server.host, server.flavor, 50 * DAY, 'gone', is_needed=False)
    b.cloud.gone.append(server.uuid)


def reborn(b: Builder) -> None:
    """A server lives, and another cell has a deleted record of it."""
    host = b.dice.choice(b.cloud.hosts)
    server = b.server(host, shown=('live', 'deleted'))
    b.hold(server.uuid, host, server.flavor, 9 * DAY)


def moving(b: Builder) -> None:
    """A live migration, a resize or a cold migration is under way; maybe after another one."""
    source, dest = b.pair()
    kind = b.dice.choice(MOVES)
    is_live = kind == 'live-migration'
    status, task = ('MIGRATING', 'migrating') if is_live else ('RESIZE', 'resize_prep')
    task = 'resize_migrating' if not is_live and b.maybe() else task
    server = b.server(source, status=status, task=task, updated=b.dice.choice([3, 2.2]))
    server.earlier = ('ACTIVE', None, source, 9 * DAY)
    if b.maybe():
        b.migration(server, dest, source, kind, ENDS[kind], 9 * DAY, ENDS[kind])
    migration = b.migration(server, source, dest, kind, b.dice.choice(UNDER_WAY), 2)
    b.hold(server.uuid, dest, server.flavor, 2.5)
    b.hold(migration.uuid, source, server.flavor, 2.5)
    if b.maybe(0.3):
        b.hold(server.uuid, source, server.flavor, 2.5)


def waiting(b: Builder) -> None:
    """A resize waits to be confirmed."""
    source, dest = b.pair()
    kind = b.dice.choice(['migration', 'resize'])
    server = b.server(dest, status='VERIFY_RESIZE', updated=DAY)
    server.earlier = ('ACTIVE', None, source, 9 * DAY)
    migration = b.migration(server, source, dest, kind, 'finished', DAY)
    b.hold(server.uuid, dest, server.flavor, DAY + 1)
    b.hold(migration.uuid, source, server.flavor, DAY + 1)
    if b.maybe(0.2):
        migration.status, server.status, server.task = 'confirming', 'ACTIVE', None


def evacuating(b: Builder) -> None:
    """An evacuation is under way; maybe it has written all it needs already."""
    source, dest = b.pair()
    updated = b.dice.choice([3, 2.2])
    server = b.server(source, status='REBUILD', task='rebuilding', updated=updated)
    server.earlier = ('ACTIVE', None, source, 9 * DAY)
    b.migration(server, source, dest, 'evacuation', b.dice.choice(UNDER_WAY), 2)
    for host in (source, dest):
        b.hold(server.uuid, host, server.flavor, 2.5)


def _moved(b: Builder, kind: str, promise: str) -> Server:
    """Return a server that has moved and still has all on its former host, which is promised."""
    source, dest = b.pair()
    updated = b.dice.uniform(1, 5) * DAY
    status = b.dice.choice(SETTLED)
    server = b.server(dest, status=status, updated=updated - 0.1)
    server.earlier = ('ACTIVE', None, source, updated + 9 * DAY)
    if b.maybe(0.3):
        failed = b.dice.choice(FAILED)
        b.migration(server, source, dest, kind, failed, updated + 20 * DAY, failed)
    if b.maybe(0.3):
        b.migration(server, dest, source, kind, ENDS[kind], updated + 10 * DAY, ENDS[kind])
    final = b.dice.choice(['completed', ENDS[kind]])
    if (kind, final) == ('evacuation', 'completed'):
        # It says when the source came back, not when the server left.
        promise = ''
    b.migration(server, source, dest, kind, final, updated, 'running')
    if not b.fits(dest, server.flavor):
        promise = ''
    leave = [FPGA] if b.maybe(0.1) else []
    promise = '' if FPGA in leave and FPGA in server.flavor.resources else promise
    b.hold(server.uuid, dest, server.flavor, updated + 1, leave=leave)
    b.hold(server.uuid, source, server.flavor, updated + 1, promise, is_needed=False)
    for holding in b.cloud.of(server.uuid):
        # Nobody knows a root under the short name to be the same host.
        if not b.is_of(holding.provider, source):
            holding.promise = ''
    return server


def doubled(b: Builder) -> None:
    """A migration is completed, and the former host was not freed; maybe changed since."""
    server = _moved(b, b.dice.choice(MOVES), 'doubled')
    if b.maybe(0.2):
        for holding in b.cloud.of(server.uuid):
            holding.written, holding.promise = 0.1, ''


def evacuated(b: Builder) -> None:
    """An evacuation is over, and the dead host never came back."""
    _moved(b, 'evacuation', 'evacuated')


def unexplained(b: Builder) -> None:
    """A server holds something on two hosts, and no migration says why."""
    host, other = b.pair()
    server = b.server(host, status=b.dice.choice(SETTLED))
    b.hold(server.uuid, host, server.flavor, 9 * DAY)
    b.hold(server.uuid, other, server.flavor, 9 * DAY, is_needed=False)


def misrecorded(b: Builder) -> None:
    """A live migration is completed, and Nova's record still names the source."""
    source, dest = b.pair()
    server = b.server(source, updated=2 * DAY)
    if b.maybe():
        kind = b.dice.choice(['live-migration', 'evacuation'])
        first = b.migration(server, dest, source, kind, 'completed', 20 * DAY, 'completed')
        if kind == 'evacuation' and b.maybe():
            # The host that was evacuated has come back long after: Nova says so in that record.
            first.updated, first.duration = DAY, 20 * DAY
    b.migration(server, source, dest, 'live-migration', 'completed', 2 * DAY, 'running')
    b.hold(server.uuid, dest, server.flavor, 2 * DAY + 1)
    b.hold(server.uuid, source, server.flavor, 2 * DAY + 1, is_needed=False)


def bereft(b: Builder) -> None:
    """A server has on its host only a part of what it needs; the rest is where it was."""
    server = _moved(b, 'live-migration', '')
    source, dest = b.cloud.migrations[-1].source, server.host
    assert dest
    for holding in [h for h in b.cloud.of(server.uuid) if h.provider.root.uuid == dest.uuid]:
        lost = b.dice.choice(sorted(holding.resources))
        if b.maybe():
            del holding.resources[lost]
        elif holding.resources[lost] > 1:
            holding.resources[lost] //= 2
    empty = [h for h in b.cloud.of(server.uuid) if not h.resources]
    b.cloud.holdings = [h for h in b.cloud.holdings if h not in empty]
    for holding in b.cloud.of(server.uuid):
        if holding.provider.root.uuid == source.uuid:
            holding.promise = ''


def held(b: Builder) -> None:
    """A migration is over, well or not, and still holds the host where the server is not."""
    source, dest = b.pair()
    kind, updated = b.dice.choice(MOVES), b.dice.uniform(1, 5) * DAY
    has_failed = b.maybe(0.4)
    status = b.dice.choice(FAILED) if has_failed else ENDS[kind]
    home, left = (source, dest) if has_failed else (dest, source)
    server = b.server(home, status=b.dice.choice(SETTLED), updated=updated - 0.1)
    server.earlier = ('RESIZE', 'resize_prep', source, updated + 1)
    migration = b.migration(server, source, dest, kind, status, updated, 'running')
    promise = 'migration' if b.fits(home, server.flavor) else ''
    b.hold(server.uuid, home, server.flavor, updated + 1)
    b.hold(migration.uuid, left, server.flavor, updated + 1, promise, is_needed=False)


def unreverted(b: Builder) -> None:
    """A migration has failed, and holds what the server on the source needs."""
    source, dest = b.pair()
    kind = b.dice.choice(MOVES)
    server = b.server(source, status=b.dice.choice([*SETTLED, 'ERROR']), updated=2 * DAY - 0.1)
    server.earlier = ('ACTIVE', None, source, 20 * DAY)
    migration = b.migration(server, source, dest, kind, b.dice.choice(FAILED), 2 * DAY, 'running')
    b.hold(migration.uuid, source, server.flavor, 2 * DAY + 1)
    b.hold(server.uuid, dest, server.flavor, 2 * DAY + 1, is_needed=False)
    held = {holding.provider: holding for holding in b.cloud.of(server.uuid)}
    for holding in b.cloud.of(migration.uuid):
        if holding.provider in held:
            # Of a pool that both hosts have, the server itself holds what it needs.
            holding.is_needed, held[holding.provider].is_needed = False, True


def metal(b: Builder) -> None:
    """A server on a node of Ironic; maybe it is gone, while the node has it still."""
    nodes = [n for n in b.cloud.nodes if n.uuid not in b.cloud.kept_nodes]
    if not nodes:
        return
    node, is_gone_or_empty = b.dice.choice(nodes), b.maybe()
    flavor = Flavor('metal', 8, 65536, 100, (
        ('resources:VCPU', '0'), ('resources:MEMORY_MB', '0'), ('resources:DISK_GB', '0'),
        (f'resources:{GOLD}', '1'),
    ))  # fmt: skip
    shown, status = (('deleted',), 'DELETED') if is_gone_or_empty else (('live',), 'ACTIVE')
    server = b.server(node, flavor=flavor, shown=shown, status=status)
    b.cloud.kept_nodes[node.uuid] = server.uuid
    b.hold(server.uuid, node, flavor, 9 * DAY, is_needed=not is_gone_or_empty)


def lacking(b: Builder) -> None:
    """A server has nothing, or another amount than its flavor asks for."""
    host = b.dice.choice(b.cloud.hosts)
    flavor = b.flavor() if b.maybe(0.3) else Flavor('plain', 2, 2048, 0)
    server = b.server(host, flavor=flavor, status=b.dice.choice(SETTLED), updated=9 * DAY)
    if b.maybe():
        b.hold(server.uuid, host, server.flavor, 10 * DAY)
        for holding in b.cloud.of(server.uuid):
            for name in holding.resources.keys() & {'VCPU', 'MEMORY_MB'}:
                holding.resources[name] += 1
    b.cloud.lacking[server.uuid] = server


STORIES: tuple[Callable[[Builder], None], ...] = (
    resting, resting, foreign, offloaded, unshelved, deleted, deleted, archived, reborn, moving,
    moving, waiting, evacuating, doubled, doubled, evacuated, unexplained, misrecorded, bereft,
    held, unreverted, metal, lacking, lacking,
)  # fmt: skip
__all__ = ['STORIES', 'Host', 'build']
