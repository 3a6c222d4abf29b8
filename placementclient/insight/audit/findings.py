"""Checks of an audit, and their findings."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.texts import CheckText, explanation
from placementclient.model.repairs import Remedy, Repair
from placementclient.model.snapshots import ProviderState


class Severity(enum.Enum):
    """The severity of a finding."""

    #: Something is counted or promised wrongly.
    ERROR = 'error'
    #: It works, but not as it was meant to, or not for long.
    WARNING = 'warning'
    #: Worth knowing; it needs no fix, or resolves itself.
    INFO = 'info'


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a check found.

    :param subject: the name of a provider, or the UUID of a consumer or of an aggregate
    :param roots: the UUIDs of the roots of the trees that it concerns
    :param evidence: the facts that show it
    :param remedy: what fixes it; ``None`` where only the operator can know that
    :param reason: why the remedy is not safe to carry out as it is; empty: it is safe
    :param passed_over: why it may be none at this moment, so that it is counted only; empty: it is
        one
    """

    subject: str
    roots: tuple[str, ...]
    evidence: Mapping[str, Any]
    remedy: Remedy | None
    reason: str = ''
    passed_over: str = ''

    @property
    def repair(self) -> Repair | None:
        """The remedy, where ``--fix`` carries it out."""
        return self.remedy if isinstance(self.remedy, Repair) and not self.reason else None


def of_provider(
    cloud: Cloud,
    state: ProviderState,
    evidence: Mapping[str, Any],
    remedy: Remedy | None,
    reason: str = '',
) -> Fault:
    """Return a fault of a provider, which concerns its tree; arguments as of :class:`Fault`."""
    return Fault(state.name, (cloud.root_of(state),), evidence, remedy, reason)


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of fault.

    :param find: the function that finds it; its docstring is the text of the documentation, in the
        form of :mod:`placementclient.insight.audit.texts`
    :param needs: the lists of other services that it cannot do without, by the option for each
    :param also: the lists that it looks at where they are there
    :param gap: says why the lists that are there are not enough; empty if they are
    """

    id: str
    severity: Severity
    find: Callable[[Cloud], Iterable[Fault]]
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    gap: Callable[[Cloud], str] | None = None

    @property
    def is_of_services(self) -> bool:
        """Return True if the check compares Placement with another service."""
        return bool(self.needs or self.also)

    @property
    def text(self) -> CheckText:
        """Return the text about the check for an operator."""
        return explanation(self.find)


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, and the check that found it."""

    check: Check
    fault: Fault

    @property
    def id(self) -> str:
        """The check's."""
        return self.check.id

    @property
    def severity(self) -> str:
        """The check's."""
        return self.check.severity.value

    @property
    def is_wrong(self) -> bool:
        """Return whether it is more than an information."""
        return self.check.severity is not Severity.INFO
