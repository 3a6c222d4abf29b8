"""Names that the service does not know, and what was probably meant by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from placementclient import errors
from placementclient.api import resource_class, trait
from placementclient.http import Client
from placementclient.wording import meant

_NAME = re.compile(r'\b[A-Z][A-Z0-9_]+')
#: What the service says before the names, and who lists all that there are.
_SENTENCES: tuple[tuple[str, Callable[[Client], Iterable[str]]], ...] = (
    ('No such trait', trait.list),
    ('No such resource class', resource_class.list),
)


def suggestion(client: Client, refusal: errors.BadRequest) -> str:
    """The question for what was probably meant, to be put after what the service said; or nothing.

    One request, where the service has said that it does not know a name.
    """
    for beginning, listed in _SENTENCES:
        names = _NAME.findall(refusal.sentence.partition(beginning)[2])
        if names:
            try:
                known = list(listed(client))
            except errors.PlacementError:
                return ''
            return ''.join(meant(name, known) for name in names if name not in known)
    return ''
