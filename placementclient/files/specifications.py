# SPDX-License-Identifier: Apache-2.0
"""Reads the specification of a reshape, in its short or long form."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from msgspec import structs

from placementclient.files.cursors import Cursor, Faults, parse_document
from placementclient.files.declared import (
    DECLARED,
    flatten_trees,
    read_additions,
    read_declared_provider,
    read_provider_spec,
    read_template,
    sort_keys,
)
from placementclient.model.inventories import UNLIMITED
from placementclient.model.patterns import escape_pattern, is_pattern
from placementclient.model.providers import is_uuid, normalize_uuid
from placementclient.model.specifications import (
    ALL,
    DeclaredProvider,
    Keys,
    Move,
    ProviderSpec,
    Spec,
    TreeSelection,
    has_placeholder,
)


def parse_specification(text: str, path: str) -> Spec:
    """Return the specification of a text, YAML or JSON, in any form of :func:`read_specification`.

    :raises errors.BadFile: if it is none, with the line
    """
    return read_specification(parse_document(text, path))


def convert_specification(document: object, path: str) -> Spec:
    """Return a specification from a decoded document, as in a plan.

    :raises errors.BadFile: if it is none
    """
    return read_specification(Cursor(document, path, ''))


def is_specification(document: Cursor) -> bool:
    """Return whether a document has ``moves`` or ``trees``; a declared tree alone has neither."""
    return isinstance(document.value, Mapping) and not {'moves', 'trees'}.isdisjoint(document.value)


def read_specification(document: Cursor) -> Spec:
    """Return a specification: a list of moves, a mapping, or a declared tree with moves in it.

    In the end all have the long form, ``trees``, ``providers`` and ``moves``. Each provider of a
    declared tree becomes an entry of ``providers``, and so does a new target that a move names.
    """
    form = _read_long_form(document)
    if form.declared:
        form.select_declared_trees()
    form.replace_target_uuids()
    if 'trees' not in form.fields and any(has_placeholder(move.source) for move in form.moves):
        raise document.make_error('trees is missing, and a source with a placeholder selects none')
    spec = Spec(
        moves=form.moves,
        providers=tuple(form.entries),
        **form.fields,
        document=document,
        places=form.places,
    )
    _refuse_repeated_providers(spec)
    return spec


class _LongForm:
    """A specification on the way to its long form.

    :ivar entries: the value of ``providers``; :attr:`moves` is that of ``moves``
    :ivar fields: the values of the other keys
    :ivar declared: the trees that the file declares in place of a selection of trees
    :ivar places: by keys of the long form, the keys in the file, where these are others. In a
        list of moves, ``('moves',): ()``. In the declared tree ``{name: gpu, children: [{name:
        gpu_1}], moves: …}``, ``('trees', 0): ()`` for the tree, ``('providers', 1): ('children',
        0)`` for the entry of the child, and ``('trees', 'name', 0): ('name',)`` for the selection
    """

    def __init__(
        self,
        document: Cursor,
        fields: dict[str, Any],
        declared: Sequence[DeclaredProvider],
        places: dict[Keys, Keys],
    ) -> None:
        self._document = document
        self.entries: list[ProviderSpec] = [*fields.pop('providers', ())]
        self.moves: tuple[Move, ...] = fields.pop('moves', ())
        self.fields, self.declared, self.places = fields, declared, places

    def _add_entry(self, entry: ProviderSpec, at: Keys) -> None:
        """Add an entry of ``providers``, with its keys in the file."""
        self.places['providers', len(self.entries)] = at
        self.entries.append(entry)

    def select_declared_trees(self) -> None:
        """Select the declared trees by their names, and add an entry for each provider of them."""
        indexes = range(len(self.declared))
        keys: list[Keys] = [self.places.get(('trees', n), ('trees', n)) for n in indexes]
        for entry, at in flatten_trees(self.declared, keys):
            read_template(self._document.descend(*at, 'name'), ())
            self._add_entry(entry, at)
        for index, at in enumerate(keys):
            self.places['trees', 'name', index] = *at, 'name'
        names = tuple(escape_pattern(tree.name) for tree in self.declared)
        self.fields['trees'] = TreeSelection(names)

    def replace_target_uuids(self) -> None:
        """Replace the UUIDs of targets in moves with the names that moves or entries give them.

        Each new target without an entry gets one.
        """
        named = {entry.uuid: entry.name for entry in self.entries if entry.uuid}
        start = self.places.get(('moves',), ('moves',))
        for index, move in enumerate(self.moves):
            uuid = normalize_uuid(move.target)
            if move.name is None:
                continue
            if uuid not in named:
                named[uuid] = move.name
                self._add_entry(ProviderSpec(move.name, move.source, uuid=uuid), (*start, index))
            elif named[uuid] != move.name:
                at = self._document.descend(*start, index, 'name')
                raise at.make_error(f'{uuid} is {named[uuid]}')
        self.moves = tuple(
            structs.replace(
                move,
                target=move.name or named.get(normalize_uuid(move.target), move.target),
                name=None,
            )
            for move in self.moves
        )


def _read_long_form(document: Cursor) -> _LongForm:
    """Return the values of a specification in any of its forms, for the long form."""
    if isinstance(document.value, list):
        moves = document.read_list(lambda item: _read_move(item, ()))
        return _LongForm(document, {'moves': moves}, (), {('moves',): ()})
    if isinstance(document.value, Mapping) and 'name' in document.value:
        fields = document.read_fields({**DECLARED, **_BESIDE_TREES})
        tree = {key: fields.pop(key) for key in DECLARED if key in fields}
        return _LongForm(document, fields, [DeclaredProvider(**tree)], {('trees', 0): ()})
    fields = document.read_fields({'trees': _read_trees, **_BESIDE_TREES})
    # A list declares trees, a mapping selects them.
    declared = fields.pop('trees') if isinstance(fields.get('trees'), tuple) else ()
    return _LongForm(document, fields, declared, {})


def _refuse_repeated_providers(spec: Spec) -> None:
    """Raise an error if two entries have the same name or UUID."""
    names: set[str] = set()
    uuids: set[str] = set()
    for index, entry in enumerate(spec.providers):
        if entry.name in names:
            raise spec.make_error(f'{entry.name} appears twice', 'providers', index)
        if entry.uuid:
            if entry.uuid in uuids:
                raise spec.make_error(f'{entry.uuid} appears twice', 'providers', index, 'uuid')
            uuids.add(entry.uuid)
        names.add(entry.name)


def _read_moves(cursor: Cursor) -> tuple[Move, ...]:
    return () if cursor.value is None else cursor.read_list(lambda at: _read_move(at, ('root',)))


def _read_trees(cursor: Cursor) -> TreeSelection | tuple[DeclaredProvider, ...]:
    """Return the conditions on the trees, or the trees themselves."""
    if not isinstance(cursor.value, list):
        return _read_selection(cursor)
    if not cursor.value:
        raise cursor.make_error('is empty')
    return cursor.read_list(read_declared_provider)


def _read_selection(cursor: Cursor) -> TreeSelection:
    readers: dict[str, Callable[[Cursor], tuple[str, ...]]] = {
        'name': Cursor.read_texts,
        'uuid': lambda at: at.read_list(Cursor.read_uuid),
        'trait': Cursor.read_classes_or_traits,
        'class': Cursor.read_classes_or_traits,
    }
    fields = cursor.read_fields(readers)
    return TreeSelection(*(fields.get(key, ()) for key in readers))


def _read_move(cursor: Cursor, placeholders: Collection[str]) -> Move:
    """Return a move; its names of providers may have the placeholders."""
    needed = ('from_resource_provider', 'to_resource_provider', 'moved_resources')
    fields = cursor.read_fields(
        {
            'from_resource_provider': lambda at: read_template(at, placeholders),
            'to_resource_provider': lambda at: read_template(at, (*placeholders, 'source')),
            'moved_resources': lambda at: at.read_by_class(_read_moved_amount, at.read_mappings()),
            'as': lambda at: {k: v.read_class_or_trait() for k, v in at.read_mapping().items()},
            'moved_traits': Cursor.read_classes_or_traits,
            'consumers': Cursor.read_mapping,
            'name': lambda at: read_template(at, ()),
        },
        needed,
    )
    source, target, moved = (fields[key] for key in needed)
    renamed = sort_keys(fields.get('as', {}))
    faults, consumers = Faults(), dict[str, dict[str, int | None]]()
    for moved_class in [name for name in renamed if name not in moved]:
        with faults.collect():
            at = cursor.descend('as', moved_class)
            raise at.make_error(f'{moved_class} is not in moved_resources')
    with faults.collect():
        consumers = _read_consumers(fields.get('consumers', {}), moved)
    with faults.collect():
        if 'name' in fields and (not is_uuid(target) or is_pattern(source)):
            reason = 'names a new provider whose UUID is to_resource_provider, below one source'
            raise cursor.descend('name').make_error(reason)
    faults.raise_collected()
    traits, name = fields.get('moved_traits', ()), fields.get('name')
    return Move(source, target, moved, renamed, traits, sort_keys(consumers), name)


def _read_moved_amount(cursor: Cursor) -> int | Literal['all']:
    return ALL if cursor.value == ALL else cursor.read_integer(1, UNLIMITED)


def _read_consumers(
    items: Mapping[str, Cursor], moved: Collection[str]
) -> dict[str, dict[str, int | None]]:
    """Return the amounts by consumer and class; ``None`` is all that a consumer has of the class.

    An amount without its class is of the only class that moves.

    :param items: the values by the UUID of the consumer
    :param moved: the classes that move
    """
    faults = Faults()
    result: dict[str, dict[str, int | None]] = {}
    for uuid, item in items.items():
        with faults.collect():
            consumer_uuid = replace(item, value=uuid).read_uuid()
            if isinstance(item.value, Mapping):
                result[consumer_uuid] = sort_keys(
                    item.read_fields(dict.fromkeys(moved, _read_optional_amount))
                )
            elif item.value is None or len(moved) == 1:
                result[consumer_uuid] = dict.fromkeys(sorted(moved), _read_optional_amount(item))
            else:
                raise item.make_error(f'has to state the amount of each class: {", ".join(moved)}')
    faults.raise_collected()
    return result


def _read_optional_amount(cursor: Cursor) -> int | None:
    """Return the amount of a class that a consumer moves; ``None``: all of it."""
    return None if cursor.value is None else cursor.read_integer(1, UNLIMITED)


def _read_class_groups(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    """Return the groups of classes that a consumer gets together on one provider."""
    seen: set[str] = set()

    def read_group(item: Cursor) -> tuple[str, ...]:
        names = item.read_classes_or_traits()
        if len(set(names)) < 2:
            raise item.make_error('has to name two classes or more')
        if len(set(names)) < len(names) or seen.intersection(names):
            raise item.make_error('names a class that is in a group already')
        seen.update(names)
        return names

    return cursor.read_list(read_group)


#: The readers of the keys beside ``trees``.
_BESIDE_TREES: Mapping[str, Callable[[Cursor], object]] = {
    'providers': lambda at: at.read_list(read_provider_spec),
    'moves': _read_moves,
    'together': _read_class_groups,
    'split': Cursor.read_boolean,
    'assignments': Cursor.read_texts,
    'additions': read_additions,
}
