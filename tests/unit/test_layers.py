"""The layers of the package: which part may import which, walked in the source of every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import placementclient

PACKAGE = Path(placementclient.__file__).parent
MODULES = sorted(PACKAGE.rglob('*.py'))
ARCHITECTURE = PACKAGE.parent / 'doc' / 'source' / 'contributor' / 'architecture.rst'

#: Of each part the parts that it may import, and whatever these may import. A part is a folder or
#: a file; one inside another has rules of its own. The documentation has the same table.
MAY_IMPORT: dict[str, set[str]] = {
    'wording': set(),
    'errors': {'wording'},
    'microversion': {'errors'},
    'model': {'errors', 'wording'},
    'endpoints': {'microversion'},
    'answers': {'endpoints'},
    'unreachable': {'wording'},
    'retries': {'errors'},
    'decoding': {'answers'},
    'http': {'decoding', 'model', 'retries', 'unreachable'},
    'api': {'http', 'model'},
    'nova': {'http', 'model'},
    'nova.schema': {'codec.decoding'},
    'nova.records': {'model', 'nova.schema'},
    'nova.resource_request': {'model'},
    'serving': {'errors'},
    'direct': {'model'},
    'changes.operations': {'model'},
    'changes.diff': {'changes.transfers'},
    'changes.transfers': {'changes.operations'},
    'changes.simulation': {'changes.operations'},
    'changes.plan': {'changes.diff', 'changes.simulation'},
    'changes.rebase': {'changes.diff'},
    'changes.summary': {'changes.transfers'},
    'changes.results': {'changes.plan', 'changes.summary'},
    'changes': {'changes.results', 'changes.rebase', 'api', 'files'},
    'producers': {'declaration', 'changes.results', 'insight'},
    'planner.spec': {'model'},
    'planner.plan': {'planner.spec', 'changes.operations'},
    'planner.infeasibility': {'model'},
    'optimize': {'errors'},
    'planner.solve': {'optimize'},
    'planner.target': {'planner.plan', 'planner.solve', 'planner.infeasibility'},
    'planner.warnings': {'planner.target'},
    'planner': {'planner.target', 'planner.warnings'},
    'insight.topology': {'model'},
    'insight.capacity': {'insight.topology', 'optimize'},
    'insight.candidates': {'insight.topology'},
    'insight.healing': {'model', 'nova.resource_request'},
    'insight.owners': {'model'},
    'insight.audit': {'insight.topology', 'insight.healing', 'insight.owners'},
    'insight': {'insight.capacity', 'insight.healing', 'nova.resource_request'},
    'codec.decoding': {'errors'},
    'codec': {'planner.plan', 'changes.plan', 'codec.decoding'},
    'files': {'codec', 'render.printable'},
    'hosts': {'codec.decoding', 'model', 'nova.schema'},
    'snapshot': {'api', 'changes'},
    'reshape': {'snapshot', 'planner', 'files', 'direct'},
    'declaration': {'planner.spec'},
    'workflows': {'producers', 'declaration', 'snapshot', 'insight', 'insight.candidates'},
    'render.printable': set(),
    'render': {
        'changes.results',
        'planner.plan',
        'insight',
        'insight.candidates',
        'insight.audit',
        'microversion',
        'render.printable',
    },
    'cli.coexistence': set(),
    'cli.deferral': {'cli.coexistence', 'cli.entry_points'},
    'plugin': {'http', 'cli.deferral'},
    'completion': {'cli.command_help', 'cli.entry_points'},
    'commands': {
        'files',
        'hosts',
        'reshape',
        'workflows',
        'render',
        'nova',
        'nova.records',
        'nova.resource_request',
        'serving',
        'plugin',
        'completion',
    },
    'cli': {'plugin', 'files', 'cli.command_help', 'cli.entry_points', 'render.printable'},
    'cli.command_help': set(),
    'cli.entry_points': set(),
    '__main__': {'cli', 'completion'},
}
#: The demo types commands and shows what they print.
TYPES_COMMANDS = 'placementclient.commands.demo'
#: What must be testable without a service, and so usable on a file.
PURE = (
    *('planner', 'codec', 'insight', 'nova.schema', 'nova.records', 'nova.resource_request'),
    *('render', 'model'),
)
#: What would be I/O, a clock or chance there.
IMPURE = {'requests', 'keystoneauth1', 'openstack', 'random', 'secrets', 'socket', 'subprocess'}
IMPURE |= {'time', 'datetime', 'urllib', 'os', 'pathlib', 'sqlite3', 'logging', 'sys', 'threading'}


def name_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(names).removesuffix('.__init__')


NAMES = {name_of(path): path for path in MODULES}


def part(module: str) -> str:
    """The row that a module belongs to: ``'api'`` of ``'placementclient.api.trait'``."""
    names = module.split('.')[1:]
    rows = ('.'.join(names[:length]) for length in range(len(names), 0, -1))
    return next((row for row in rows if row in MAY_IMPORT), '')


def imports(path: Path) -> Iterator[str]:
    """All that a module imports, anywhere in it, by its full name; also what only types need."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}:{node.lineno}: a relative import'
            for alias in node.names:
                full = f'{node.module}.{alias.name}'
                yield full if full in NAMES else node.module or ''


def allowed(row: str) -> set[str]:
    """All rows that one may import."""
    return {row}.union(MAY_IMPORT[row], *(allowed(below) for below in MAY_IMPORT[row]))


def ours(path: Path) -> set[str]:
    """The modules of the package that a module imports."""
    return {module for module in imports(path) if module.startswith('placementclient')}


@pytest.mark.parametrize('path', MODULES, ids=name_of)
def test_every_file_has_a_row_and_imports_what_the_row_allows(path: Path) -> None:
    name = name_of(path)
    found = {module: part(module) for module in ours(path)} if name in NAMES else {}
    if path.name == '__init__.py' and not part(name):
        # Of the package itself, or of a folder whose files all have rows of their own.
        assert not found
        return
    permitted = allowed(part(name))
    if name == TYPES_COMMANDS:
        permitted |= allowed('cli')
    assert {module for module, row in found.items() if row and row not in permitted} == set()


def test_the_walk_sees_what_functions_and_types_import() -> None:
    seen = set(imports(PACKAGE / 'commands' / 'reshape_run.py'))
    assert 'placementclient.reshape.engines' in seen, 'imported in a function'
    assert 'placementclient.model.outcomes' in seen, 'imported for types alone'


def test_no_row_is_left_over() -> None:
    assert {part(name) for name in NAMES} - {''} == set(MAY_IMPORT)


def test_no_file_imports_itself_by_a_detour() -> None:
    graph = {name: ours(path) & NAMES.keys() - {name} for name, path in NAMES.items()}
    graph[TYPES_COMMANDS] -= {'placementclient.cli.shell'}
    assert list(TopologicalSorter(graph).static_order())


def test_no_part_is_below_itself() -> None:
    assert list(TopologicalSorter(MAY_IMPORT).static_order())


@pytest.mark.parametrize('path', MODULES, ids=name_of)
def test_pure_parts_reach_neither_the_service_nor_the_world(path: Path) -> None:
    row = part(name_of(path))
    if any(row == pure or row.startswith(f'{pure}.') for pure in PURE):
        assert not allowed(row) & {'api', 'http', 'endpoints', 'direct', 'snapshot', 'reshape'}
        assert not {module.split('.')[0] for module in imports(path)} & IMPURE


def test_the_documentation_has_the_same_table() -> None:
    rows = re.findall(
        r'^   \* - ``(\S+)``\n     - (.*(?:\n       .*)*)$', ARCHITECTURE.read_text(), re.MULTILINE
    )
    documented = {name: set(re.findall(r'``(\S+)``', cell)) for name, cell in rows}
    assert documented == MAY_IMPORT
