"""What the compute service says of the consumers: servers, and migrations of servers."""

from __future__ import annotations

from dataclasses import dataclass

#: How a migration ends; one that has 'finished' still waits to be confirmed or reverted.
_SUCCESS = frozenset({'completed', 'confirmed', 'reverted', 'cancelled', 'done'})
_FAILURE = frozenset({'error', 'failed'})


@dataclass(frozen=True, slots=True)
class Server:
    """A server.

    :param hosts: the names of the host that it is on: of the compute service, of the hypervisor
    """

    uuid: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerMigration:
    """A migration, resize or evacuation of a server.

    :param uuid: of the consumer that holds what the server had on the source meanwhile;
        ``None`` where the list does not say it (before compute API 2.59)
    :param sources: the names of the host that the server came from
    """

    uuid: str | None
    server_uuid: str
    sources: tuple[str, ...]
    status: str
    type: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in _SUCCESS | _FAILURE

    @property
    def has_failed(self) -> bool:
        """Whether it ended in a way that leaves open where the server is."""
        return self.status in _FAILURE


def same_host(name: str, other: str) -> bool:
    """Whether two names are of one host; one of them may be the short one."""
    if name == other:
        return True
    shorter, longer = sorted((name, other), key=len)
    return '.' not in shorter and longer.partition('.')[0] == shorter
