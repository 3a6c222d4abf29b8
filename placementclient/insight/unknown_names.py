# SPDX-License-Identifier: Apache-2.0
"""Names in a request that no provider has: perhaps mistyped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from os_resource_classes import STANDARDS

from placementclient.basis.wording import suggest_similar
from placementclient.model.findings import Finding, Severity
from placementclient.model.providers import is_uuid
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import Snapshot

#: The sentence of each kind of absent name.
_SENTENCES = {
    'class': 'No resource provider has inventory of {}{hint}',
    'trait': 'No resource provider has the trait {}{hint}',
    'aggregate': 'No resource provider is in the aggregate {}{hint}',
    'no-aggregate': '{} is not the UUID of an aggregate{hint}',
}


class ReportedNames(NamedTuple):
    """The resource classes, traits and aggregates that providers have."""

    classes: set[str]
    traits: set[str]
    aggregates: set[str]

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> ReportedNames:
        states = snapshot.providers.values()
        return cls(
            {name for state in states for name in state.inventories},
            {trait for state in states for trait in state.traits},
            {aggregate for state in states for aggregate in state.aggregates},
        )

    def explain_impossible(self, classes: Iterable[str], traits: Iterable[str]) -> Iterator[str]:
        """Yield a sentence for each class and each trait that is neither standard nor custom."""
        for kind, names, reported, standard in (
            ('resource class', classes, self.classes, lambda: STANDARDS),
            ('trait', traits, self.traits, _list_standard_traits),
        ):
            for name in sorted(names):
                if name not in reported and not name.startswith('CUSTOM_'):
                    possible = {*reported, *standard()}
                    if name not in possible:
                        hint = suggest_similar(name, possible)
                        yield f'{name} is no standard {kind}, and does not begin with CUSTOM_{hint}'


def describe_absent_name(finding: Finding) -> str:
    """Return the sentence about a name that no provider has, with a similar name.

    :param finding: one of :func:`find_absent_names`
    """
    return _SENTENCES[finding.kind].format(finding.subject, hint=finding.facts.get('hint', ''))


def find_absent_names(reported: ReportedNames, request: CandidateRequest) -> Iterator[Finding]:
    """Yield a finding for each requested class, trait and aggregate that no provider has.

    It is an error only if no service knows the name, or if it is not the UUID of an aggregate.
    """
    filters = (request.common, *request.groups.values())
    yield from _find_absent_classes(
        reported, {name for group in filters for name in group.resources}
    )
    required = [*request.root_required, *(name for group in filters for name in group.required)]
    yield from _find_absent_traits(reported, required)
    yield from _find_absent_aggregates(reported, [n for group in filters for n in group.member_of])


def _find_absent_classes(reported: ReportedNames, requested: Set[str]) -> Iterator[Finding]:
    for name in sorted(requested - reported.classes):
        hint = '' if name in STANDARDS else suggest_similar(name, {*reported.classes, *STANDARDS})
        severity = Severity.INFO if name in STANDARDS else Severity.ERROR
        yield Finding('class', name, {'hint': hint}, severity=severity)


def _find_absent_traits(reported: ReportedNames, required: Iterable[str]) -> Iterator[Finding]:
    for names in _find_unmet_alternatives(required, reported.traits):
        possible = {*reported.traits, *_list_standard_traits()}
        hint = suggest_similar((name for name in names if name not in possible), possible)
        severity = Severity.INFO if possible.issuperset(names) else Severity.ERROR
        yield Finding('trait', ','.join(names), {'hint': hint}, severity=severity)


def _find_absent_aggregates(reported: ReportedNames, requested: Iterable[str]) -> Iterator[Finding]:
    for names in _find_unmet_alternatives(requested, reported.aggregates):
        wrong = ', '.join(name for name in names if not is_uuid(name))
        if wrong:
            yield Finding('no-aggregate', wrong)
        else:
            yield Finding('aggregate', ','.join(names), severity=Severity.INFO)


def _list_standard_traits() -> list[str]:
    # Loaded only here: it takes longer than all the rest of this module.
    import os_traits

    traits: list[str] = os_traits.get_traits()
    return traits


def _find_unmet_alternatives(requested: Iterable[str], reported: set[str]) -> Iterator[list[str]]:
    """Yield the names of each condition that no provider meets: ``a,b`` is ``[a, b]``."""
    for alternatives in dict.fromkeys(requested):
        names = alternatives.split(',')
        if reported.isdisjoint(names):
            yield names
