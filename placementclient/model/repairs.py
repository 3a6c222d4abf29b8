# SPDX-License-Identifier: Apache-2.0
"""Repairs as facts; :mod:`placementclient.render.repairs` turns them into commands."""

from collections.abc import Mapping
from dataclasses import dataclass

from placementclient.model.consumers import Consumer


@dataclass(frozen=True, slots=True)
class AddTrait:
    """Add a trait to a provider."""

    provider_uuid: str
    provider_name: str
    trait: str


@dataclass(frozen=True, slots=True)
class LowerReserved:
    """Lower the reserved amount of a class to the total."""

    provider_uuid: str
    provider_name: str
    resource_class: str
    total: int


@dataclass(frozen=True, slots=True)
class FreeAllocations:
    """Delete the allocations of a consumer on some providers.

    :param consumer: as it was when the command was chosen
    :param provider_uuids: some of those with allocations of the consumer, or all
    """

    consumer: Consumer
    provider_uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """A command that the operator may run.

    :param words: of the command line, not quoted
    :param program: the first word; ``None``: the program that is running
    """

    words: tuple[str, ...]
    program: str | None = None


def make_advice(*words: str) -> Advice:
    """Return the command of this program with ``resource provider`` before the words."""
    return Advice(('resource', 'provider', *words))


def make_inventory_advice(
    provider: str, resource_class: str, fields: Mapping[str, int | float]
) -> Advice:
    """Return the command that sets some fields of an inventory."""
    options = (f'{resource_class}:{name}={value}' for name, value in fields.items())
    resources = (word for option in options for word in ('--resource', option))
    return make_advice('inventory', 'set', provider, '--amend', *resources)


@dataclass(frozen=True, slots=True)
class HealServer:
    """Give a server the allocations that it should have, with its own project and user.

    :param corrects_amounts: whether amounts that it has already become those of its flavor
    """

    server_uuid: str
    corrects_amounts: bool = False


#: Creates the missing records of consumers; for the administrator of the service.
RECORD_CONSUMERS = Advice(('db', 'online_data_migrations'), 'placement-manage')
#: The repairs that ``--fix`` makes: no consumer loses resources that it uses.
Repair = AddTrait | LowerReserved | FreeAllocations
Remedy = Repair | Advice | HealServer
