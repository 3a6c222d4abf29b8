# SPDX-License-Identifier: Apache-2.0
"""Names of the package: one word for one thing."""

import ast
import importlib
import io
import re
import tokenize
from collections import Counter
from pathlib import Path

import pytest

import placementclient

PACKAGE = Path(placementclient.__file__).parent


def type_names(module):
    """Return the names of the classes of a module, and of the aliases at its top level."""
    yield from (node.name for node in ast.walk(module) if isinstance(node, ast.ClassDef))
    for node in module.body:
        match node:
            case ast.Assign([ast.Name(name)]) if re.match('_*[A-Z].*[a-z]', name):
                yield name


@pytest.mark.slow
def test_no_name_of_a_type_occurs_twice():
    names = Counter(
        name.lstrip('_')
        for path in PACKAGE.rglob('*.py')
        for name in type_names(ast.parse(path.read_text()))
    )
    assert len(names) > 450
    assert [name for name, count in names.items() if count > 1] == []


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


#: Words that hide the subject of a sentence, in comments and texts.
AVOIDED_WORDS = re.compile(
    r'\b(whence|whither|wheres|thereof|nobody|somebody|anybody|anew|mend(s|ed|ing)?|shall|telling'
    r'|told|tells?|whom|survey|is made so|what is given|typist)\b',
    re.IGNORECASE,
)
AVOIDED_NAMES = re.compile(
    r'(^|_)(whence|wheres|survey|telling|teller|tell|told|typist|nobody|somebody|mend)($|_)',
    re.IGNORECASE,
)


def comments_and_texts(source):
    """Return the comments of a module, and its texts: docstrings, help and messages."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def definitions(source):
    """Return the names of classes, functions and arguments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


@pytest.mark.slow
def test_comments_texts_and_names_are_plain():
    matches = []
    for path in PACKAGE.rglob('*.py'):
        source = path.read_text()
        texts = [text for text in comments_and_texts(source) if AVOIDED_WORDS.search(text)]
        names = [path.stem, *definitions(source)]
        matches += [(path.name, text) for text in texts]
        matches += [(path.name, name) for name in names if AVOIDED_NAMES.search(name)]
    assert matches == []
