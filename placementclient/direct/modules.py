"""The server's modules once more, apart from those that the process has imported.

Each service has a copy of its own, with an engine and a configuration of its own. In the copy the
server makes once, not for each request, its aliases of tables and validators of schemas.
These take about half of what a small request costs.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import util
from types import ModuleType, SimpleNamespace
from typing import Any

import jsonschema
import sqlalchemy
from jsonschema import exceptions, validators


class PrivateModules:
    """A copy of a package that only its own modules can import from.

    What the modules of the package import from each other, at any time, they get from the copy;
    what they import from elsewhere is what everybody gets.

    :param package: the name of a top-level package
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._loaded: dict[str, ModuleType] = {}
        self._loading = threading.RLock()
        # An import statement calls the __import__ among the builtins of its module.
        self._builtins = {**vars(builtins), '__import__': self._import}

    def load(self, name: str) -> ModuleType:
        """A module of the copy, by its full name.

        :raises ModuleNotFoundError: the package has no such module
        """
        with self._loading:
            if name not in self._loaded:
                self._execute(name)
            return self._loaded[name]

    def reuse_constants(self) -> None:
        """Make the loaded modules make aliases and validators once."""
        shared = functools.cache(sqlalchemy.alias)

        def alias(selectable: Any, name: str | None = None) -> Any:
            is_shared = name is not None and isinstance(selectable, sqlalchemy.Table)
            return (shared if is_shared else sqlalchemy.alias)(selectable, name)

        sa = SimpleNamespace(**{**vars(sqlalchemy), 'alias': alias})
        schemas = SimpleNamespace(**{**vars(jsonschema), 'validate': _Validator()})
        for module in self._loaded.values():
            names = vars(module)
            for name, original, replacement in (
                ('sa', sqlalchemy, sa),
                ('jsonschema', jsonschema, schemas),
            ):
                if names.get(name) is original:
                    names[name] = replacement

    def _execute(self, name: str) -> None:
        parent, _, child = name.rpartition('.')
        path = self.load(parent).__path__ if parent else None
        specs = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next(filter(None, specs), None)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
        module = self._loaded[name] = util.module_from_spec(spec)
        vars(module)['__builtins__'] = self._builtins
        if parent:  # which knows it before it runs, for modules that import each other
            setattr(self._loaded[parent], child, module)
        spec.loader.exec_module(module)

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module for an import statement in the copy."""
        if level:
            package = str((globals or {})['__package__'])
            name = util.resolve_name('.' * level + name, package)
        if name.partition('.')[0] != self._package:
            return __import__(name, globals, locals, fromlist or ())
        module = self.load(name)
        if not fromlist:
            return self.load(self._package)
        if hasattr(module, '__path__'):
            for child in fromlist:
                if child != '*' and not hasattr(module, child):
                    self.load(f'{name}.{child}')
        return module


class _Validator:
    """``jsonschema.validate()``, which compares each schema with that of schemas once."""

    def __init__(self) -> None:
        # By identity: each has its schema in it, which hence lives as long.
        self._validators: dict[int, Any] = {}

    def __call__(self, instance: Any, schema: Any, *, format_checker: Any = None) -> None:
        validator = self._validators.get(id(schema))
        if validator is None:
            kind = validators.validator_for(schema)
            kind.check_schema(schema)
            validator = kind(schema, format_checker=format_checker)
            self._validators[id(schema)] = validator
        error = exceptions.best_match(validator.iter_errors(instance))
        if error is not None:
            raise error
