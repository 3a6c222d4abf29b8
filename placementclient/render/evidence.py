# SPDX-License-Identifier: Apache-2.0
"""The evidence of a finding in sentences; the templates are in ``audit_checks.txt``."""

import re
from collections.abc import Mapping
from functools import cache

from placementclient.basis.wording import add_names_to_uuids
from placementclient.render.audit_checks import find_check_texts
from placementclient.render.facts import format_fact, is_empty
from placementclient.render.units import format_whole_amount

#: The place of a fact, or of an item of one: ``{owner.project_id}``; with the text of an empty one:
#: ``{type:not set}``.
_PLACE = re.compile(r'\{(\w+)(?:\.(\w+))?(?::([^}]+))?\}')
#: The names of the aggregates of a finding, by UUID; they stand beside the UUIDs.
_NAMES = 'aggregate_names'


def describe_evidence(check_id: str, facts: Mapping[str, object]) -> str:
    """Return the facts of a finding in sentences.

    A sentence is left out if one of its facts is absent. Facts that no sentence has follow as
    ``key: value``.
    """
    sentences, told = [], {_NAMES}
    for template in list_evidence_sentences(check_id):
        places = _PLACE.findall(template)
        if all(key in facts and (text or not is_empty(facts[key])) for key, _, text in places):
            sentences.append(_PLACE.sub(lambda place: _fill_placeholder(place, facts), template))
            told.update(key for key, _, _ in places)
    untold = {key: value for key, value in facts.items() if key not in told and not is_empty(value)}
    sentences += [f'{key}: {format_fact(value)}' for key, value in untold.items()]
    text = ' '.join(s if s.endswith(('.', '?')) else f'{s}.' for s in sentences)
    names = facts.get(_NAMES)
    return add_names_to_uuids(text, names) if isinstance(names, Mapping) else text


def _fill_placeholder(placeholder: re.Match[str], facts: Mapping[str, object]) -> str:
    """Return the fact of a placeholder as text, or the placeholder's own text for an empty fact."""
    key, item, text = placeholder.groups()
    value, resource_class = facts[key], facts.get('resource_class')
    if item and isinstance(value, Mapping):
        value = value[item]
    if is_empty(value):
        return text or 'nothing'
    if type(value) is int and isinstance(resource_class, str):
        return format_whole_amount(resource_class, value)
    return format_fact(value)


@cache
def list_evidence_sentences(check_id: str) -> tuple[str, ...]:
    """Return the sentences about a check's evidence, with ``{fact}`` placeholders."""
    return tuple(filter(None, find_check_texts(check_id)['evidence'].split(' | ')))
