# SPDX-License-Identifier: Apache-2.0
"""All that a Placement has, as one flat mapping, and the difference between two of them."""

from collections import Counter
from functools import cached_property
from typing import Any

#: A kind, and what tells one of it from the others; providers and consumers by UUID.
Key = tuple[str, ...]
#: The value of a key that is not there.
ABSENT = None
#: By key, before and after.
Delta = dict[Key, tuple[Any, Any]]

_QUERIES = {
    'provider': 'SELECT p.uuid, p.name, q.uuid FROM resource_providers p '
    'LEFT JOIN resource_providers q ON p.parent_provider_id = q.id',
    'inventory': 'SELECT p.uuid, c.name, i.total, i.reserved, i.min_unit, i.max_unit, i.step_size, '
    'i.allocation_ratio FROM inventories i JOIN resource_providers p '
    'ON i.resource_provider_id = p.id JOIN resource_classes c ON i.resource_class_id = c.id',
    'trait': 'SELECT p.uuid, t.name FROM resource_provider_traits x JOIN resource_providers p '
    'ON x.resource_provider_id = p.id JOIN traits t ON x.trait_id = t.id',
    'aggregate': 'SELECT p.uuid, a.uuid FROM resource_provider_aggregates x '
    'JOIN resource_providers p ON x.resource_provider_id = p.id '
    'JOIN placement_aggregates a ON x.aggregate_id = a.id',
    'allocation': 'SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a '
    'JOIN resource_providers p ON a.resource_provider_id = p.id '
    'JOIN resource_classes c ON a.resource_class_id = c.id',
    'consumer': 'SELECT c.uuid, j.external_id, u.external_id, t.name FROM consumers c '
    'JOIN projects j ON c.project_id = j.id JOIN users u ON c.user_id = u.id '
    'LEFT JOIN consumer_types t ON c.consumer_type_id = t.id '
    'WHERE c.uuid IN (SELECT consumer_id FROM allocations)',
    'class name': "SELECT name FROM resource_classes WHERE name LIKE 'CUSTOM%'",
    'trait name': "SELECT name FROM traits WHERE name LIKE 'CUSTOM%'",
}
#: How many columns of a row are its key.
_WIDTHS = {
    'provider': 1, 'inventory': 2, 'trait': 2, 'aggregate': 2, 'allocation': 3, 'consumer': 1,
    'class name': 1, 'trait name': 1,
}  # fmt: skip


class State(dict[Key, Any]):
    """What there is at one moment."""

    @classmethod
    def read(cls, connection):
        """Read it from the tables, past all that is tested."""
        state = cls()
        for kind, query in _QUERIES.items():
            width = _WIDTHS[kind]
            for row in connection.execute(query):
                values = row[width:]
                state[kind, *row[:width]] = values[0] if len(values) == 1 else values or True
        return state

    def of(self, kind, *first):
        """The keys of a kind that begin so, in an order that does not depend on anything."""
        return [key for key in self._sorted[kind] if key[1 : 1 + len(first)] == first]

    @cached_property
    def _sorted(self):
        keys: dict[str, list[Key]] = {kind: [] for kind in _QUERIES}
        for key in sorted(self):
            keys[key[0]].append(key)
        return keys

    def name(self, uuid):
        return str(self['provider', uuid][0])

    def root(self, uuid):
        """The root of the tree of a provider."""
        parent = self['provider', uuid][1]
        return self.root(parent) if parent else uuid

    def tree(self, root):
        """All providers of a tree."""
        return [key[1] for key in self.of('provider') if self.root(key[1]) == root]

    def roots(self):
        return [key[1] for key in self.of('provider') if self[key][1] is None]

    def by_name(self, name):
        return next((key[1] for key in self.of('provider') if self[key][0] == name), None)

    def held(self, consumer):
        """What a consumer holds, by provider and class."""
        return {key[2:]: self[key] for key in self.of('allocation', consumer)}  # type: ignore[misc]

    def sums(self, consumer):
        """What a consumer holds in all, by class."""
        sums = Counter[str]()
        for (_, name), amount in self.held(consumer).items():
            sums[name] += amount
        return sums

    @cached_property
    def used(self):
        """What is used, by provider and class."""
        sums = Counter[tuple[str, ...]]()
        for key in self._sorted['allocation']:
            sums[key[2:]] += self[key]
        return sums

    def capacity(self, provider, name):
        """What Placement allocates of a class at the most."""
        fields = self.get(('inventory', provider, name))
        return int((fields[0] - fields[1]) * fields[5]) if fields else 0

    def consumers(self):
        return [key[1] for key in self.of('consumer')]


def delta(before, after):
    """What differs."""
    return dict(_differing(before, after))


def _differing(before, after):
    for key in sorted(before.keys() | after.keys()):
        was, new = before.get(key, ABSENT), after.get(key, ABSENT)
        if was != new:
            yield key, (was, new)
