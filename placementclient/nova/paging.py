# SPDX-License-Identifier: Apache-2.0
"""The bounds of a list that comes in pages."""

import time
from dataclasses import dataclass, field


class Unending(Exception):
    """A list comes to no end, or exceeds a bound."""


@dataclass
class PagedReading:
    """A list that is being read: each link is followed once, within a size and a time.

    :param size: the most bytes of all pages, once they are decompressed
    :param seconds: how long the reading of all pages may take
    """

    size: int
    seconds: float
    _links: set[str] = field(default_factory=set, init=False)
    _read: int = field(default=0, init=False)
    _begun: float = field(default_factory=lambda: time.monotonic(), init=False)

    def follow(self, link: str) -> None:
        """Note that a page is read next; raise :class:`Unending` if it was read before."""
        if link in self._links:
            raise Unending('does not end: a page comes again')
        self._links.add(link)
        if time.monotonic() - self._begun > self.seconds:
            raise Unending(f'did not end within {self.seconds:g} s (--os-placement-list-timeout)')

    def add(self, content: bytes) -> None:
        """Count a page; raise :class:`Unending` if the list has become too large."""
        self._read += len(content)
        if self._read > self.size:
            raise Unending(f'has more than {self.size >> 20} MiB (--os-placement-list-limit)')
