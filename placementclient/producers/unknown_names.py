"""Names that the service does not know, and what was probably meant by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from placementclient.api import resource_class, resource_provider, trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import meant
from placementclient.client.wording import suggestion as alike

_NAME = re.compile(r'\b[A-Z][A-Z0-9_]\w*')
#: What can be made.
_CUSTOM = re.compile('CUSTOM_[A-Z0-9_]+')


class _Refusal(NamedTuple):
    """A sentence of the service that ends with the names that it does not know.

    :param beginning: what it says before them, as a pattern
    :param listed: who lists all names that there are
    :param command: what makes one, where that may be what is missing
    """

    beginning: str
    listed: Callable[[Client], Iterable[str]]
    command: str = ''


_REFUSALS = (
    _Refusal(r'^No such trait (?!\()', trait.list, 'trait create'),
    _Refusal('No such trait', trait.list),
    _Refusal(
        'inventory for resource provider .*No such resource class',
        resource_class.list,
        'resource class create',
    ),
    _Refusal('No such resource class', resource_class.list),
    _Refusal('^No inventory of class', resource_class.list),
)


def suggestion(client: Client, refusal: errors.PlacementError) -> str:
    """Return the name that was probably meant, or how to make it; it follows a refusal.

    One request, where the service does not know a name.
    """
    if isinstance(refusal, errors.NoSuchProvider) and refusal.name:
        try:
            providers = resource_provider.list(client)
        except errors.PlacementError:
            return ''
        return alike(refusal.name, {provider.name for provider in providers})
    if not isinstance(refusal, errors.BadRequest | errors.NotFound):
        return ''
    for beginning, listed, command in _REFUSALS:
        said = re.search(beginning, refusal.sentence)
        names = _NAME.findall(refusal.sentence, said.end()) if said else []
        if names:
            try:
                known = set(listed(client))
            except errors.PlacementError:
                return ''
            return remedy([name for name in names if name not in known], known, command)
    return ''


def remedy(unknown: Sequence[str], known: Collection[str], command: str) -> str:
    """Return the names that were probably meant instead of unknown ones, or how to make those.

    :param command: makes one of that kind; empty: none does
    """
    near = ''.join(dict.fromkeys(meant(name, sorted(known)) for name in unknown))
    custom = [name for name in unknown if command and name.startswith('CUSTOM_')]
    if not custom:
        return near
    if not all(map(_CUSTOM.fullmatch, custom)):
        return f'{near}; names are made of A to Z, 0 to 9 and _'
    commands = ', '.join(f'{command} {name}' for name in custom)
    return f'{near}{" Or" if near else ";"} make it first: {commands}'
