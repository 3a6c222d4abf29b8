# SPDX-License-Identifier: Apache-2.0
"""Names of the package: one word for one thing."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import placementclient

PACKAGE = Path(placementclient.__file__).parent


def test_the_main_types_exist():
    page = Path(__file__).parents[2] / 'doc' / 'source' / 'contributor' / 'architecture.rst'
    table = page.read_text().partition('The main types')[2]
    names = re.findall(r'^   \* - ``(\S+)``$', table, re.MULTILINE)
    assert len(names) >= 40
    for name in names:
        module, _, type_name = name.rpartition('.')
        assert isinstance(
            getattr(importlib.import_module(f'placementclient.{module}'), type_name), type
        )


@pytest.mark.slow
def test_docstrings_begin_with_a_noun_or_a_verb():
    opening = re.compile(r'\s*(What|Who|Whose|Whether|Where|How|When|Why|Which)\b')
    matches = [
        f'{path}: {docstring}'
        for path in PACKAGE.rglob('*.py')
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if (docstring := ast.get_docstring(node)) and opening.match(docstring)
    ]
    assert matches == []
