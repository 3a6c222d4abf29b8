"""Names of the package: one word for one thing."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import placementclient

PACKAGE = Path(placementclient.__file__).parent


def test_no_class_name_occurs_twice() -> None:
    names = Counter(
        node.name.lstrip('_')
        for path in PACKAGE.rglob('*.py')
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert len(names) > 400
    assert [name for name, count in names.items() if count > 1] == []
