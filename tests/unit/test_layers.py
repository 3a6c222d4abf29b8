"""The layers of the package: which part may import which, walked in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import placementclient

PACKAGE = Path(placementclient.__file__).parent
MODULES = sorted(PACKAGE.rglob('*.py'))

EVERYONE = {'model', 'errors', 'microversion'}
#: What each part stands on; what those stand on is below it too.
ARROWS = {
    'model': set(),
    'errors': set(),
    'microversion': set(),
    'endpoints': set(),
    'planner': set(),
    'insight': set(),
    'nova.records': set(),
    'nova.service': {'http'},
    'render': {'planner', 'insight'},
    'http': {'endpoints'},
    'api': {'http'},
    'direct': set(),
    'files': {'planner'},
    'snapshot': {'api'},
    'reshape': {'snapshot', 'planner', 'direct'},
    'workflows': {'snapshot', 'insight'},
    'cli.coexistence': set(),
    'plugin': {'http', 'cli.coexistence'},
    'cli.connection': {'plugin'},
    'cli.command_help': set(),
    'cli.entry_points': set(),
    'completion': {'cli.command_help', 'cli.entry_points'},
    'commands': {
        'files',
        'workflows',
        'reshape',
        'snapshot',
        'insight',
        'nova.records',
        'nova.service',
        'render',
        'api',
        'plugin',
        'completion',
    },
    'cli.shell': {'cli.connection', 'cli.command_help', 'cli.entry_points'},
    '__main__': {'cli.shell', 'completion'},
}
FOUNDATION = {
    'model': {'errors', 'model'},
    'errors': set(),
    'microversion': {'errors'},
}
#: The demo types commands and shows what they print.
TYPES_COMMANDS = 'placementclient.commands.demo'
#: What must be testable without a service, and so usable on a file.
PURE = ('planner', 'insight', 'nova.records', 'render', 'model')
#: What would be I/O, a clock or chance there.
IMPURE = {'requests', 'keystoneauth1', 'openstack', 'random', 'secrets', 'socket', 'subprocess'}
IMPURE |= {'time', 'datetime', 'urllib', 'os', 'pathlib', 'sqlite3', 'logging', 'sys', 'threading'}


def part(module: str) -> str:
    """The row that a module belongs to: ``'api'`` of ``'placementclient.api.trait'``."""
    names = module.split('.')[1:]
    for length in range(len(names), 0, -1):
        if '.'.join(names[:length]) in ARROWS:
            return '.'.join(names[:length])
    return ''


def name_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(names).removesuffix('.__init__')


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All of a module, but for what only a type checker reads."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == 'TYPE_CHECKING'):
            yield from nodes(child)


def imports(path: Path) -> Iterator[str]:
    """All that a module imports, at its top or in a function, by its full name."""
    for node in nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}:{node.lineno}: a relative import'
            yield node.module or ''
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def below(name: str) -> set[str]:
    if name in FOUNDATION:
        return FOUNDATION[name]
    deeper = set().union(*(below(arrow) for arrow in ARROWS[name]))
    return ARROWS[name] | deeper | EVERYONE | {name}


def parts_imported(path: Path) -> set[str]:
    ours = {part(module) for module in imports(path) if module.startswith('placementclient')}
    return ours - {''}


def test_the_walk_sees_the_whole_package_and_imports_in_functions() -> None:
    unknown = {name_of(path) for path in MODULES if not part(name_of(path))}
    assert unknown <= {'placementclient', 'placementclient.cli', 'placementclient.nova'}
    source = PACKAGE / 'commands' / 'reshaper.py'
    assert 'placementclient.files' in set(imports(source))


@pytest.mark.parametrize('path', MODULES, ids=name_of)
def test_imports_point_downwards(path: Path) -> None:
    name = part(name_of(path))
    allowed = below(name) if name else set()
    if name_of(path) == TYPES_COMMANDS:
        allowed = allowed | {'cli.shell'}
    assert parts_imported(path) <= allowed


@pytest.mark.parametrize('path', MODULES, ids=name_of)
def test_a_whole_package_is_not_imported_for_its_parts(path: Path) -> None:
    assert 'placementclient.*' not in set(imports(path))


@pytest.mark.parametrize('pure', PURE)
def test_pure_parts_reach_neither_the_service_nor_the_world(pure: str) -> None:
    assert not below(pure) & {'api', 'http', 'endpoints', 'direct', 'reshape', 'commands'}
    for path in (path for path in MODULES if part(name_of(path)) == pure):
        outside = {module.split('.')[0] for module in imports(path)}
        assert not outside & IMPURE, path


def test_no_part_is_below_itself_by_a_detour() -> None:
    for name, arrows in ARROWS.items():
        assert all(name not in below(arrow) for arrow in arrows)
