# SPDX-License-Identifier: Apache-2.0
"""The limits of reading a list that comes in pages."""

import time
from dataclasses import dataclass, field


class UnendingList(Exception):
    """A list has no last page, or exceeds the limit of size or of time."""


@dataclass
class PagedReading:
    """Watches the reading of a list: no page twice, and all pages within a size and a time.

    :param size: the most bytes of all pages, once they are decompressed
    :param seconds: how long the reading of all pages may take
    """

    size: int
    seconds: float
    _links: set[str] = field(default_factory=set, init=False)
    _bytes: int = field(default=0, init=False)
    _begun: float = field(default_factory=lambda: time.monotonic(), init=False)

    def note_link(self, link: str) -> None:
        """Note the link to the next page; raise :class:`UnendingList` if it comes again or late."""
        if link in self._links:
            raise UnendingList('does not end: a page comes again')
        self._links.add(link)
        if time.monotonic() - self._begun > self.seconds:
            raise UnendingList(
                f'did not end within {self.seconds:g} s (--os-placement-list-timeout)'
            )

    def count_page(self, content: bytes) -> None:
        """Count the bytes of a page; raise :class:`UnendingList` if the list is too large."""
        self._bytes += len(content)
        if self._bytes > self.size:
            raise UnendingList(f'has more than {self.size >> 20} MiB (--os-placement-list-limit)')
