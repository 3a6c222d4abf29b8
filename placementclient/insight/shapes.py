"""Servers in a file: of a flavor, or of resources and traits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placementclient.client.wording import suggestion
from placementclient.files.cursors import Cursor
from placementclient.insight import owners
from placementclient.model.consumers import Resources
from placementclient.model.inventories import UNLIMITED
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor
from placementclient.model.snapshots import Snapshot
from placementclient.nova.server_request import Scheduling

#: Lists flavors, given the path of a file; given ``None``, it asks for them.
Flavors = Callable[[str | None], Sequence[Flavor]]


@dataclass(frozen=True, slots=True)
class ServerShape:
    """The request of each of some servers.

    :param flavor: ``None``: the others say it
    """

    flavor: Flavor | None = None
    resources: Resources = field(default_factory=dict)
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    scheduling: Scheduling = field(default_factory=Scheduling, compare=False)

    def __str__(self) -> str:
        if self.flavor is not None:
            return self.flavor.name
        return ','.join(f'{name}={amount}' for name, amount in self.resources.items())

    def requests(self, snapshot: Snapshot) -> tuple[CandidateRequest, ...]:
        """Return the request, and the second one that Nova sends for some flavors.

        :raises Refusal: if Nova refuses the flavor
        """
        if self.flavor is None:
            return (CandidateRequest(Filter(self.resources, self.required, self.forbidden)),)
        is_owned = owners.is_owner_required(snapshot)
        return self.scheduling.requested(self.flavor, is_owned=is_owned).requests


#: The readers of the fields of a shape, by name.
READERS: Mapping[str, Callable[[Cursor], Any]] = {
    'flavor': Cursor.text,
    'flavors': Cursor.text,
    'resources': lambda at: at.entries(lambda amount: amount.integer(1, UNLIMITED)),
    'required': Cursor.symbols,
    'forbidden': Cursor.symbols,
}


def taken(
    at: Cursor, fields: dict[str, Any], list_flavors: Flavors, scheduling: Scheduling
) -> ServerShape:
    """Remove the fields of a shape from an entry, and return the shape.

    :param at: the entry
    :param fields: what :data:`READERS` have read, among others
    :raises errors.BadFile: if they contradict each other, or there is no such flavor
    """
    shape = {name: fields.pop(name) for name in READERS if name in fields}
    if ('flavor' in shape) == ('resources' in shape):
        raise at.error('has to have either a flavor or resources')
    if 'resources' in shape:
        shape.pop('flavors', None)
        return ServerShape(**shape)
    if 'required' in shape or 'forbidden' in shape:
        raise at.error('required and forbidden are for resources: a flavor has its own')
    flavors = {flavor.name: flavor for flavor in list_flavors(shape.get('flavors'))}
    name = shape['flavor']
    if name not in flavors:
        raise at.inside('flavor').error(f'there is no flavor {name}{suggestion(name, flavors)}')
    return ServerShape(flavors[name], scheduling=scheduling)
