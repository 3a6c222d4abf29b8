"""Constants that the server makes again each time that it needs them.

It takes about half of what a small request costs. The copy of the server's modules that a service
has is its own, so they can be given these instead; what they do with them stays the same.
"""

from __future__ import annotations

import functools
from typing import Any

import jsonschema
import sqlalchemy
from jsonschema import exceptions, validators

from placementclient.direct.modules import PrivateModules

#: The modules whose queries are those of most requests.
_WITH_QUERIES = (
    'allocation',
    'consumer',
    'inventory',
    'project',
    'research_context',
    'resource_provider',
    'trait',
    'user',
)


def share(modules: PrivateModules) -> None:
    """Make the server use one of each.

    :param modules: the server's
    """
    modules.load('placement.util').__dict__['jsonschema'] = _Schemas()
    queries = _Queries()
    for name in _WITH_QUERIES:
        module = modules.load(f'placement.objects.{name}')
        if hasattr(module, 'sa'):
            module.__dict__['sa'] = queries


class _Schemas:
    """jsonschema, but a schema is compared with the schema of schemas only the first time."""

    def __init__(self) -> None:
        # By identity: each has its schema in it, which hence lives as long.
        self._validators: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(jsonschema, name)

    def validate(self, instance: Any, schema: Any, *, format_checker: Any = None) -> None:
        """See ``jsonschema.validate()``."""
        validator = self._validators.get(id(schema))
        if validator is None:
            kind = validators.validator_for(schema)
            kind.check_schema(schema)
            validator = kind(schema, format_checker=format_checker)
            self._validators[id(schema)] = validator
        error = exceptions.best_match(validator.iter_errors(instance))
        if error is not None:
            raise error


class _Queries:
    """SQLAlchemy, but a table has one alias of a name."""

    def __init__(self) -> None:
        self._alias = functools.cache(sqlalchemy.alias)

    def __getattr__(self, name: str) -> Any:
        return getattr(sqlalchemy, name)

    def alias(self, selectable: Any, name: str | None = None) -> Any:
        """See ``sqlalchemy.alias()``."""
        if name is not None and isinstance(selectable, sqlalchemy.Table):
            return self._alias(selectable, name)
        return sqlalchemy.alias(selectable, name)
