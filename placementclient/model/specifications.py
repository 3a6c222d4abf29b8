# SPDX-License-Identifier: Apache-2.0
"""The values of a specification: moves, providers, additions, and the selected trees."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, Protocol

import msgspec

from placementclient.basis import errors
from placementclient.model.inventories import Amount, Inventory, InventoryFields
from placementclient.model.patterns import is_pattern
from placementclient.model.providers import normalize_uuid
from placementclient.model.snapshots import ProviderState

#: The amount in ``moved_resources`` that means all that the source has.
ALL: Final = 'all'
#: The default parent of a provider of the long form.
ROOT = '{root}'
SOURCE = '{source}'
PLACEHOLDER = re.compile(r'\{(\w*)\}')
#: The path to a value of a specification in its long form: ``('moves', 0, 'as')``.
Keys = tuple[str | int, ...]


class Identified(Protocol):
    """An object with the UUID and the name of a provider."""

    @property
    def uuid(self) -> str: ...

    @property
    def name(self) -> str: ...


class ProviderIdentity(NamedTuple):
    """The UUID and the name of a provider."""

    uuid: str
    name: str


Name = Annotated[str, msgspec.Meta(min_length=1)]
Symbol = Annotated[str, msgspec.Meta(pattern='^[A-Z0-9_]+$')]
#: A field of a provider that an entry may state whole.
WholeField = Literal['inventories', 'traits', 'aggregates']


class TreeSelection(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The selected trees: those that meet every condition."""

    names: tuple[Name, ...] = msgspec.field(default=(), name='name')
    uuids: tuple[Name, ...] = msgspec.field(default=(), name='uuid')
    traits: tuple[Symbol, ...] = msgspec.field(default=(), name='trait')
    classes: tuple[Symbol, ...] = msgspec.field(default=(), name='class')

    def selects(self, uuid: str, name: str, root: ProviderState | None) -> bool:
        """Return whether a root meets every condition.

        :param root: its state; ``None``: unknown, so that it meets conditions on traits and classes
        """
        return (
            (not self.names or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.names))
            and (not self.uuids or uuid in self.uuids)
            and (
                root is None
                or (root.traits.issuperset(self.traits) and {*self.classes} <= {*root.inventories})
            )
        )


class DeclaredProvider(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider with its desired state: a field that is left out stays as it is.

    Name or UUID may be empty, but not both.

    :param children: those that are named; others stay
    :param adds: whether inventories and traits are added to those that an existing provider has
    """

    name: str
    uuid: str = ''
    inventories: Mapping[Symbol, InventoryFields] | None = None
    traits: tuple[Symbol, ...] | None = None
    aggregates: tuple[Name, ...] | None = None
    children: tuple[DeclaredProvider, ...] = ()
    adds: bool = False


class ProviderSpec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A provider to create, or changes to an existing one.

    :param name: may have ``{root}`` and ``{source}`` in it
    :param parent: the same; ``None`` where the file does not say
    :param uuid: of a provider to make; ``None``: the plan chooses it
    :param whole: the fields with all that the provider has afterwards; others are added to it
    """

    name: Name
    parent: Name | None = None
    inventories: Mapping[Symbol, InventoryFields] = {}
    traits: tuple[Symbol, ...] = ()
    aggregates: tuple[Name, ...] = ()
    uuid: Name | None = None
    whole: tuple[WholeField, ...] = ()

    def can_have_class(self, name: str) -> bool:
        """Return whether the entry lets the provider have inventory of a class after the change."""
        return 'inventories' not in self.whole or name in self.inventories

    def states_present_inventory(self, name: str, inventory: Inventory | None) -> bool:
        """Return whether the entry certainly leaves the total of a class as it is now.

        It does if ``inventories`` is whole, and has the class with the present total or with none;
        without a present inventory, if it does not have the class.

        :param name: the class
        :param inventory: the present one; ``None``: there is none
        """
        if 'inventories' not in self.whole or (name in self.inventories) != (inventory is not None):
            return False
        return inventory is None or (
            self.inventories[name].get('total', inventory.total) == inventory.total
        )


class Move(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Inventory that moves from one provider to another.

    :param source: name, pattern or UUID; may have ``{root}`` in it
    :param target: name or UUID; may have ``{root}`` and ``{source}`` in it
    :param resources: units of each class; :data:`ALL`: as much as the source has
    :param renamed: new names of classes
    :param traits: taken off the source and put on the target
    :param consumers: by consumer and class, the amounts that belong to the target; ``None``: all
    :param name: in files, the name of a new target, whose UUID is then ``target``
    """

    source: Name = msgspec.field(name='from_resource_provider')
    target: Name = msgspec.field(name='to_resource_provider')
    resources: Mapping[Symbol, Amount | Literal['all']] = msgspec.field(name='moved_resources')
    renamed: Mapping[Symbol, Symbol] = msgspec.field(default_factory=dict, name='as')
    traits: tuple[Symbol, ...] = msgspec.field(default=(), name='moved_traits')
    consumers: Mapping[Name, Mapping[Symbol, Amount | None]] = {}
    name: Name | None = None

    @property
    def moves_anything(self) -> bool:
        """Return whether the move has inventories or traits, not only assignments."""
        return bool(self.resources or self.traits)

    def name_at_target(self, resource_class: str) -> str:
        """Return the name that a class has at the target."""
        return self.renamed.get(resource_class, resource_class)


class Addition(ProviderSpec, frozen=True):
    """Inventory and allocations that are new to Placement."""

    name: Name = msgspec.field(name='resource_provider')
    consumers: Mapping[Name, Mapping[Symbol, Amount]] = {}


class SpecRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The long form of a specification.

    :param trees: ``None``: those that the sources are in
    :param together: groups of classes of which all amounts of a consumer go to one target
    :param split: whether a consumer's amount of a class may be divided
    :param assignments: the names of files with assignment rows; reading them is the caller's part
    :param additions: new inventories and allocations beside the moves
    """

    trees: TreeSelection | None = None
    providers: tuple[ProviderSpec, ...] = ()
    moves: tuple[Move, ...] = ()
    together: tuple[tuple[Symbol, ...], ...] = ()
    split: bool = False
    assignments: tuple[Name, ...] = ()
    additions: tuple[Addition, ...] = ()


class Spec(SpecRecord, frozen=True, dict=True, eq=False):
    """A specification.

    :param document: the :class:`files.cursors.Cursor` that it was read from, which knows the place
        of each fault
    :param places: the keys that lead to a part in the document, by the keys that would lead to it
        in the long form, where these differ
    """

    document: Any = None
    places: Mapping[Keys, Keys] = {}

    @property
    def record(self) -> SpecRecord:
        """The specification without its document, as it is stored in a plan."""
        return SpecRecord(*(getattr(self, name) for name in SpecRecord.__struct_fields__))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.record == other.record

    def make_error(self, reason: str, *keys: str | int) -> errors.BadFile:
        """Return the error about a part of the specification, with its line in the file.

        :param keys: what leads to it in the long form: ``'moves', 0, 'as'``
        """
        for length in range(len(keys), 0, -1):
            if (place := self.places.get(keys[:length])) is not None:
                keys = (*place, *keys[length:])
                break
        fault: errors.BadFile = self.document.descend(*keys).make_error(reason)
        return fault

    @property
    def sections(self) -> dict[str, Sequence[ProviderSpec]]:
        """The lists of entries about providers, by their keys in the file."""
        return {'providers': self.providers, 'additions': self.additions}

    @functools.cached_property
    def index(self) -> SpecIndex:
        """The index that finds the parts about one tree."""
        return SpecIndex(self)

    @functools.cached_property
    def names(self) -> NamesInSpec:
        """The classes and consumers that it names."""
        return NamesInSpec(self)


def fill_template(template: str, root: Identified, source: Identified | None = None) -> str:
    """Return the name or UUID that a template means in a tree.

    :param source: of the move that leads there; without it, ``{source}`` stays as it is
    """
    if template == ROOT:
        return root.uuid
    if source is not None and template == SOURCE:
        return source.uuid
    names = {ROOT: root.name, SOURCE: source.name if source else SOURCE}
    return PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), template)


def has_placeholder(template: str) -> bool:
    return PLACEHOLDER.search(template) is not None


class TreeScope(NamedTuple):
    """The parts of a specification that are about one tree, as positions in its lists."""

    moves: tuple[int, ...]
    providers: tuple[int, ...]
    additions: tuple[int, ...]


class SpecIndex:
    """Finds the parts of a specification about one tree without reading all of it.

    An entry with placeholders or patterns is about every tree. An entry with the name of a provider
    is about the tree of this provider; of a new one, about the tree of its parent, or of the source
    of its move.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._open_moves: list[int] = []
        self._moves_from: dict[str, list[int]] = {}
        for index, move in enumerate(spec.moves):
            if has_placeholder(move.source) or is_pattern(move.source):
                self._open_moves.append(index)
            else:
                for name in _list_spellings(move.source):
                    self._moves_from.setdefault(name, []).append(index)
        self._entries = (*spec.providers, *spec.additions)
        #: the indexes of the entries about every tree
        self._open_entries: list[int] = []
        #: the indexes of the others, by the names in their fields
        self._entries_about: dict[str, list[int]] = {}
        # An entry for the target of a move belongs to the tree of the move.
        targets = {move.target for move in spec.moves}
        for index, entry in enumerate(self._entries):
            may_have_device = entry.parent is not None and not has_placeholder(entry.parent)
            is_named = may_have_device or entry.name in targets or entry.whole
            if has_placeholder(entry.name) or not is_named:
                self._open_entries.append(index)
                continue
            for text in filter(None, (entry.name, entry.parent)):
                for name in _list_spellings(text):
                    self._entries_about.setdefault(name, []).append(index)

    def find_scope(self, root: Identified, names: Collection[str]) -> TreeScope:
        """Return the parts of the specification about one tree.

        :param names: names and UUIDs of all its providers
        """
        moves = {*self._open_moves}.union(*(self._moves_from.get(name, ()) for name in names))
        entries = {*self._open_entries}
        pending = [*names, *(self._spec.moves[index].target for index in moves)]
        pending += (fill_template(self._entries[index].name, root) for index in entries)
        while pending and self._entries_about:
            for index in self._entries_about.get(pending.pop(), ()):
                if index not in entries:
                    entries.add(index)
                    pending.append(self._entries[index].name)
        number, order = len(self._spec.providers), sorted(entries)
        return TreeScope(
            tuple(sorted(moves)),
            tuple(index for index in order if index < number),
            tuple(index - number for index in order if index >= number),
        )

    def list_mentioned_names(self, root: Identified, names: Collection[str]) -> set[str]:
        """Return the names and UUIDs of all providers that the specification names for one tree.

        :param names: names and UUIDs of all providers of the tree
        """
        moves, providers, additions = self.find_scope(root, names)
        templates = {self._spec.moves[index].target for index in moves}
        entries = [self._spec.providers[index] for index in providers]
        for entry in (*entries, *(self._spec.additions[index] for index in additions)):
            templates.update(filter(None, (entry.name, entry.parent)))
        return {
            fill_template(template, root, ProviderIdentity(name, name))
            for template in templates
            for name in (names if SOURCE in template else [root.name])
        }


def _list_spellings(name_or_uuid: str) -> set[str]:
    """Return a text, and its normal form if it is a UUID; a name may look like a UUID."""
    return {name_or_uuid, normalize_uuid(name_or_uuid)}


class NamesInSpec:
    """The classes and consumers that a specification names.

    :ivar renamed: of each class that moves, its names at the source and at the target
    :ivar moved: the names of all classes that move, at the source or at the target
    :ivar stated: the classes whose inventories the specification states
    :ivar added_consumers: the UUIDs of the consumers that additions give allocations
    """

    def __init__(self, spec: Spec) -> None:
        entries = (*spec.providers, *spec.additions)
        self.renamed = {
            (name, move.name_at_target(name)) for move in spec.moves for name in move.resources
        }
        self.moved = {name for pair in self.renamed for name in pair}
        self.stated = {name for entry in entries for name in entry.inventories}
        self.added_consumers = {uuid for entry in spec.additions for uuid in entry.consumers}
