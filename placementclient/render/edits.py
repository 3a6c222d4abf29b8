"""What one edit would change of many providers, in few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from placementclient.model.providers import Provider
from placementclient.render.columns import Changes
from placementclient.wording import listed

#: So many providers with one change are named.
_NAMED = 5


class _Edit(Protocol):
    @property
    def provider(self) -> Provider: ...

    @property
    def changes(self) -> Mapping[str, Mapping[str, tuple[object, object]]]: ...


def lines(edits: Sequence[_Edit]) -> Iterator[str]:
    """A line for all providers that have a change in common."""
    names: dict[str, list[str]] = {}
    for edit in edits:
        names.setdefault(Changes(edit.changes).human_readable(), []).append(edit.provider.name)
    for change, own in names.items():
        yield f'  {change}: {listed(own, _NAMED, "others")}'
