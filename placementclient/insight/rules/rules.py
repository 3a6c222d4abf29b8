"""Rules in a file, and which of them a snapshot breaks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import os_traits
from os_resource_classes import STANDARDS

from placementclient.client import errors
from placementclient.client.wording import meant
from placementclient.codec.cursors import Cursor, read
from placementclient.insight import selecting, shapes
from placementclient.insight.capacity.totals import ALL
from placementclient.insight.rules import expectations
from placementclient.insight.rules.expectations import Breach, Comparison, Expectation, RuleSubject
from placementclient.insight.selecting import ProviderSelector
from placementclient.insight.shapes import Flavors
from placementclient.insight.topology import Topology, is_sharing
from placementclient.model.snapshots import ProviderState, Snapshot

T = TypeVar('T')

#: Stands for all hosts or providers.
_ALL = 'all'
#: What is expected of hosts together, or of the whole cloud.
_OF_HOSTS = ('fits', 'survives_loss_of')
#: What can be expected of the cloud as a whole.
_OF_ALL = ('usage', *_OF_HOSTS)
#: How many hosts may be lost together.
MOST_LOST = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    :param scope: ``'hosts'``, ``'providers'``, or empty: the cloud as a whole
    :param selector: ``None``: all of them
    """

    at: Cursor
    name: str
    scope: str
    selector: ProviderSelector | None
    expectations: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A rule and what came of it.

    :param note: why it selects nothing, if it does
    """

    rule: Rule
    breaches: tuple[Breach, ...]
    note: str = ''


def parse(text: str, path: str, flavors: Flavors) -> tuple[Rule, ...]:
    """Read rules, YAML or JSON.

    :param path: the file that the text came from
    :param flavors: lists the flavors that rules name
    :raises errors.BadFile: for what is wrong, with line and column
    """
    names: set[str] = set()

    def rule(at: Cursor) -> Rule:
        found = _rule(at, flavors)
        if found.name in names:
            raise at.inside('rule').error(f'{found.name} is there twice')
        names.add(found.name)
        return found

    document = read(text, path, columns=True)
    rules = document.each(rule)
    if not rules:
        raise document.error('has no rules: give at least one')
    return rules


def check(snapshot: Snapshot, rules: Sequence[Rule], *, is_strict: bool = False) -> list[Checked]:
    """Return what came of each rule.

    :param is_strict: whether a rule that selects nothing is broken
    """
    cloud = Topology(snapshot)
    checked = [_checked(cloud, rule) for rule in rules]
    return list(map(_strictly, checked)) if is_strict else checked


def _strictly(checked: Checked) -> Checked:
    if not checked.note:
        return checked
    return Checked(checked.rule, (Breach(ALL, f'{checked.rule.scope} to check', checked.note),))


def _checked(cloud: Topology, rule: Rule) -> Checked:
    try:
        subjects = list(_subjects(cloud, rule))
    except errors.BadFile as nothing:
        return Checked(rule, (), str(nothing))
    found = (breach for each in rule.expectations for breach in each(cloud, subjects))
    return Checked(rule, tuple(found), '' if subjects else f'there are no {rule.scope}')


def _subjects(cloud: Topology, rule: Rule) -> Iterator[RuleSubject]:
    """Return all that a rule is about.

    :raises errors.BadFile: if its selector selects nothing
    """
    trees = cloud.trees
    if not rule.scope:
        yield RuleSubject(ALL, list(cloud.snapshot.providers.values()))
        return
    known: Sequence[ProviderState]
    if rule.scope == 'hosts':
        known = [root for root in cloud.snapshot.roots() if not is_sharing(root)]
    else:
        known = [state for states in trees.values() for state in states]
    for state in known if rule.selector is None else rule.selector.selected(known):
        yield RuleSubject(state.name, trees[state.uuid] if rule.scope == 'hosts' else (state,))


def _rule(at: Cursor, flavors: Flavors) -> Rule:
    expected: Mapping[str, Callable[[Cursor], Expectation]] = {
        'traits': lambda inside: _names(inside, 'traits', _trait),
        'aggregates': lambda inside: _names(inside, 'aggregates', Cursor.uuid),
        'inventories': lambda inside: partial(
            expectations.inventories, of_class=_of_classes(inside, expectations.of_fields)
        ),
        'children': _children,
        'consumers': lambda inside: partial(expectations.consumers, count=Comparison.read(inside)),
        'usage': lambda inside: partial(
            expectations.usage,
            of_class=_of_classes(inside, lambda percent: Comparison.read(percent, '%')),
        ),
        'names': _unique,
        'fits': lambda inside: _room(inside, flavors),
        'survives_loss_of': lambda inside: partial(
            expectations.survived_loss, number=inside.integer(1, MOST_LOST)
        ),
    }
    readers = {'rule': Cursor.text, 'hosts': _selector, 'providers': _selector, **expected}
    given = at.fields(readers, ['rule'])
    scopes = [name for name in ('hosts', 'providers') if name in given]
    made = {name: given[name] for name in expected if name in given}
    if len(scopes) > 1:
        raise at.error('is about either hosts or providers')
    if not made:
        raise at.error(f'expects nothing: give {", ".join(expected)}')
    for name in made if not scopes else ():
        if name not in _OF_ALL:
            raise at.inside(name).error('of which? Give hosts or providers, or one of them "all"')
    for name in _OF_HOSTS if scopes == ['providers'] else ():
        if name in made:
            raise at.inside(name).error('is for hosts, or for the whole cloud')
    scope = ''.join(scopes)
    return Rule(at, given['rule'], scope, given.get(scope), tuple(made.values()))


def _names(at: Cursor, facet: str, read_name: Callable[[Cursor], str]) -> Expectation:
    """Read names that must be there, of which some joined by commas are alternatives, or must not.

    :param read_name: reads one of them
    """

    def any_of(item: Cursor) -> str:
        parts = item.text().split(',')
        return ','.join(read_name(replace(item, value=part)) for part in parts)

    given = at.fields(
        {
            'required': lambda inside: inside.each(any_of),
            'forbidden': lambda inside: inside.each(read_name),
        }
    )
    if not given:
        raise at.error('has neither required nor forbidden')
    return partial(expectations.names, facet=facet, **given)


def _trait(at: Cursor) -> str:
    return _known(at, at.symbol(), os_traits.get_traits(), 'trait')


def _class(at: Cursor) -> str:
    return _known(at, at.symbol(), STANDARDS, 'resource class')


def _of_classes(at: Cursor, read_one: Callable[[Cursor], T]) -> dict[str, T]:
    for name, inside in at.mapping().items():
        _known(inside, name, STANDARDS, 'resource class')
    return at.entries(read_one)


def _known(at: Cursor, name: str, standards: Collection[str], kind: str) -> str:
    """Refuse a name that no provider can have: a rule about it might hold for ever."""
    if name in standards or name.startswith('CUSTOM_'):
        return name
    hint = meant(name, standards) or f', did you mean CUSTOM_{name}?'
    raise at.error(f'{name} is no standard {kind}{hint}')


#: The readers of the fields of a selector, by name.
_SELECTOR: Mapping[str, Callable[[Cursor], Any]] = {
    **selecting.READERS,
    'with_trait': _trait,
    'without_trait': _trait,
    'with_class': _class,
}


def _selector(at: Cursor) -> ProviderSelector | None:
    if at.value == _ALL:
        return None
    return selecting.taken(at, at.fields(_SELECTOR))


def _children(at: Cursor) -> Expectation:
    given = at.fields({**_SELECTOR, 'count': Comparison.read})
    count = given.pop('count', Comparison('>=', 1))
    selector = selecting.taken(at, given) if given else None
    return partial(expectations.children, selector=selector, count=count)


def _unique(at: Cursor) -> Expectation:
    if at.value != 'unique':
        raise at.error('has to be unique')
    return expectations.unique_names


def _room(at: Cursor, flavors: Flavors) -> Expectation:
    given = at.fields({**shapes.READERS, 'count': Comparison.read}, ['count'])
    shape = shapes.taken(at, given, flavors)
    return partial(expectations.room, shape=shape, **given)
