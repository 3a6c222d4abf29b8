"""Loads a package once more, apart from what the process has imported."""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import util
from types import ModuleType


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
