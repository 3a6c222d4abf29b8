"""Findings as facts; :mod:`placementclient.render` turns them into text."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.model.repairs import Remedy, Repair


class Severity(enum.Enum):
    """The severity of a finding."""

    #: Something is counted or promised wrongly.
    ERROR = 'error'
    #: It works, but not as it was meant to, or not for long.
    WARNING = 'warning'
    #: Worth knowing; it needs no fix, or resolves itself.
    INFO = 'info'


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault that the audit found.

    :param subject: the name of a provider, or the UUID of a consumer or of an aggregate
    :param roots: the UUIDs of the roots of the trees that it concerns
    :param facts: the facts that show it
    :param remedy: what fixes it; ``None`` where only the operator can know that
    :param reason: why the remedy is not safe to carry out as it is; empty: it is safe
    :param passed_over: why it may be none at this moment, so that it is counted only; empty: it is
        one
    :param kind: the ID of the check of an audit, or what stands in the way of a drain
    """

    subject: str
    roots: tuple[str, ...]
    facts: Mapping[str, Any]
    remedy: Remedy | None = None
    reason: str = ''
    passed_over: str = ''
    kind: str = ''
    severity: Severity = Severity.ERROR

    @property
    def repair(self) -> Repair | None:
        """The change that ``--fix`` makes, if there is one."""
        return self.remedy if isinstance(self.remedy, Repair) and not self.reason else None

    @property
    def is_wrong(self) -> bool:
        """Return whether it is more than information."""
        return self.severity is not Severity.INFO
