"""What makes a fault good without anybody losing anything; each can be typed as a command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from placementclient.model.consumers import Consumer

_PREFIX = 'openstack resource provider'


@dataclass(frozen=True, slots=True)
class AddTrait:
    """Give a provider a trait beside those that it has."""

    provider_uuid: str
    provider_name: str
    trait: str

    @property
    def command(self) -> str:
        """What an operator types for it."""
        return f'{_PREFIX} trait add {shlex.quote(self.provider_name)} {self.trait}'


@dataclass(frozen=True, slots=True)
class LowerReserved:
    """Reserve all that a provider has of a class, where more than that is reserved."""

    provider_uuid: str
    provider_name: str
    resource_class: str
    total: int

    @property
    def command(self) -> str:
        """What an operator types for it."""
        name = shlex.quote(self.provider_name)
        field = f'{self.resource_class}:reserved={self.total}'
        return f'{_PREFIX} inventory set {name} --amend --resource {field}'


@dataclass(frozen=True, slots=True)
class Free:
    """Take from a consumer what it has on some providers.

    :param consumer: as it was when this was decided
    :param provider_uuids: some of those that it holds something on, or all
    """

    consumer: Consumer
    provider_uuids: tuple[str, ...]

    @property
    def is_all(self) -> bool:
        """Whether nothing is left to it."""
        return set(self.provider_uuids) == set(self.consumer.allocations)

    @property
    def command(self) -> str:
        """What an operator types for it."""
        if self.is_all:
            return f'{_PREFIX} allocation delete {self.consumer.uuid}'
        chosen = ' '.join(f'--provider {uuid}' for uuid in self.provider_uuids)
        return f'{_PREFIX} allocation unset {self.consumer.uuid} {chosen}'


Repair = AddTrait | LowerReserved | Free
