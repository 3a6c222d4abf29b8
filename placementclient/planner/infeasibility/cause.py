"""A reason why a tree cannot be planned: facts, which can say themselves in one sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason.

    :param tree: the name of the tree's root
    """

    tree: str

    @property
    def kind(self) -> str:
        """What kind of reason this is, for programs: ``too-large`` of the class ``TooLarge``."""
        return re.sub(r'(?<!^)(?=[A-Z])', '-', type(self).__name__).lower()

    def facts(self) -> dict[str, Any]:
        """Its fields."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            for value in (getattr(self, field.name),)
        }

    @property
    def sentence(self) -> str:
        """It without the name of the tree before it."""
        return str(self).removeprefix(f'{self.tree}: ')


@dataclass(frozen=True, slots=True)
class SpecFault(Cause):
    """A fault of the specification, which only a tree shows.

    :param keys: what leads to it in the specification: ``('moves', 0, 'as')``
    """

    keys: tuple[str | int, ...]
