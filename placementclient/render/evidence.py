# SPDX-License-Identifier: Apache-2.0
"""The evidence of a finding as a sentence; the templates are in ``audit_checks.txt``."""

import re
from collections.abc import Mapping
from functools import cache

from placementclient.render.audit_checks import find_check_texts
from placementclient.render.facts import format_evidence, format_fact, is_empty

#: The place of a fact: its key, and perhaps the text of an empty one, as in ``{type:not set}``.
_PLACE = re.compile(r'\{(\w+)(?::([^}]+))?\}')


def describe_evidence(check_id: str, facts: Mapping[str, object]) -> str:
    """Return the facts of a finding in words.

    A clause is left out if one of its facts is absent. Facts that no clause has follow as
    ``key value``.
    """
    clauses, told = [], set[str]()
    for clause in list_evidence_clauses(check_id):
        places = _PLACE.findall(clause)
        if all(key in facts and (text or not is_empty(facts[key])) for key, text in places):
            clauses.append(_PLACE.sub(lambda place: _fill_placeholder(place, facts), clause))
            told.update(key for key, _ in places)
    # An empty text says nothing.
    untold = {key: value for key, value in facts.items() if key not in told and value != ''}
    return ', '.join([*clauses, *([format_evidence(untold)] if untold else [])])


def _fill_placeholder(place: re.Match[str], facts: Mapping[str, object]) -> str:
    """Return the text for a placeholder: that of its fact, or its own if the fact is empty."""
    key, text = place.groups()
    return text if is_empty(facts[key]) else format_fact(facts[key])


@cache
def list_evidence_clauses(check_id: str) -> tuple[str, ...]:
    """Return the clauses of the sentence about a check's evidence; they have ``{fact}``
    placeholders.
    """
    return tuple(filter(None, find_check_texts(check_id)['evidence'].split(' | ')))
