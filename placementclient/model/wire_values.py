"""The form of values that Placement accepts in a request. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import filterfalse

from placementclient.model.consumers import Allocations
from placementclient.model.inventories import Inventory
from placementclient.model.providers import LONGEST_NAME

#: How long the service lets the name of a class, a trait or a type, and the ID of an owner be.
LONGEST_SYMBOL = 255
#: The name of a resource class, a trait or a consumer type.
SYMBOL = re.compile(rf'[A-Z0-9_]{{1,{LONGEST_SYMBOL}}}')
_UUID = re.compile(r'[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}')
#: So many characters of a value are shown.
_SHOWN = 60


#: The pattern of each kind of values, and its name for messages.
_FORMS = {
    'uuids': (_UUID, 'a UUID'),
    'symbols': (SYMBOL, f'a name of A-Z, 0-9 and _ only, at most {LONGEST_SYMBOL} long'),
    'names': (re.compile(f'.{{0,{LONGEST_NAME}}}', re.DOTALL), 'the name of a provider'),
    'owners': (re.compile(f'.{{1,{LONGEST_SYMBOL}}}', re.DOTALL), 'the ID of a project or user'),
}


@dataclass(slots=True)
class WireValues:
    """The distinct values that a plan may write.

    :param symbols: resource classes, traits and consumer types
    :param owners: the IDs of projects and users
    """

    uuids: set[str] = field(default_factory=set)
    symbols: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    owners: set[str] = field(default_factory=set)
    inventories: set[Inventory] = field(default_factory=set)

    def add_allocations(self, allocations: Allocations) -> None:
        """Add the UUIDs of the providers, and the classes."""
        self.uuids.update(allocations)
        self.symbols.update(*allocations.values())

    def faults(self) -> Iterator[str]:
        """Return a clause for each value that Placement would refuse."""
        for kind, (pattern, noun) in _FORMS.items():
            for value in sorted(filterfalse(pattern.fullmatch, getattr(self, kind))):
                yield f'{value[:_SHOWN]!r} is not {noun}'
        for inventory in self.inventories:
            for name in ('total', 'min_unit', 'max_unit'):
                if not getattr(inventory, name):
                    yield f'the {name} of an inventory is 0'
