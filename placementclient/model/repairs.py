"""Repairs as facts; :mod:`placementclient.render.repairs` writes the commands."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from placementclient.model.consumers import Consumer


@dataclass(frozen=True, slots=True)
class AddTrait:
    """Give a provider a trait beside those that it has."""

    provider_uuid: str
    provider_name: str
    trait: str


@dataclass(frozen=True, slots=True)
class LowerReserved:
    """Reserve all that a provider has of a class, where more than that is reserved."""

    provider_uuid: str
    provider_name: str
    resource_class: str
    total: int


@dataclass(frozen=True, slots=True)
class FreeAllocations:
    """Take from a consumer what it has on some providers.

    :param consumer: as it was when this was decided
    :param provider_uuids: some of those that it holds something on, or all
    """

    consumer: Consumer
    provider_uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveTrait:
    """Take a trait from a provider."""

    provider_name: str
    trait: str


@dataclass(frozen=True, slots=True)
class AmendInventory:
    """Change some fields of the inventory of a class."""

    provider_name: str
    resource_class: str
    fields: Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class LeaveAggregate:
    """Take a provider out of an aggregate."""

    provider_name: str
    aggregate: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a provider another name."""

    provider_name: str
    name: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Put another provider in the place of one, under a name; ``None``: under the same.

    :param uuid: of one that is made; ``None`` if there is one
    :param twin: of the one that is there
    """

    provider_name: str
    name: str | None
    uuid: str | None = None
    twin: str | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    """Delete a provider and all below it, without allocations."""

    provider_name: str


@dataclass(frozen=True, slots=True)
class HealServer:
    """Give a server what it should hold, as its own."""

    server_uuid: str


class Administration(enum.Enum):
    """A repair for the administrator of the service."""

    #: Give consumers from before there were any their records.
    RECORD_CONSUMERS = enum.auto()


#: What can be carried out at once: no consumer loses what it uses.
Repair = AddTrait | LowerReserved | FreeAllocations
#: What is left to the operator.
Advice = (
    AmendInventory
    | RemoveTrait
    | LeaveAggregate
    | Rename
    | Replace
    | Purge
    | HealServer
    | Administration
)
Remedy = Repair | Advice
