# SPDX-License-Identifier: Apache-2.0
"""Findings as facts; :mod:`placementclient.render` turns them into text."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placementclient.model.repairs import Remedy, Repair


class Severity(enum.Enum):
    #: Something is wrong: counted or promised wrongly, damaged, in the way.
    ERROR = 'error'
    #: It works, but not as it was meant to, or not for long.
    WARNING = 'warning'
    #: Worth knowing; it needs no fix, or resolves itself.
    INFO = 'info'


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, or a fact worth knowing, that a command has found.

    :param kind: stable, for programs: the ID of a check of the audit, ``unsettled``, ``misplaced``
    :param subject: the name of a provider, of a root or of a class, the UUID of a consumer, …
    :param facts: the facts that show it, if ``reason`` does not
    :param roots: the UUIDs of the roots of the trees that it concerns
    :param remedy: what fixes it; ``None`` where only the operator can know that
    :param reason: in words: how the subject differs, or why a command does not change it. With a
        remedy: why that is not safe to carry out as it is; empty: it is safe
    :param passed_over: why the audit cannot judge the subject now, so that it is counted alone; or
        empty
    """

    kind: str
    subject: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    remedy: Remedy | None = None
    reason: str = ''
    passed_over: str = ''
    severity: Severity = Severity.ERROR

    @property
    def repair(self) -> Repair | None:
        """The change that ``--fix`` makes, if there is one."""
        return self.remedy if isinstance(self.remedy, Repair) and not self.reason else None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def is_error_or_warning(self) -> bool:
        return self.severity is not Severity.INFO
