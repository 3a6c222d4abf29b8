# SPDX-License-Identifier: Apache-2.0
"""The layers of the package: which part may import which, walked in the source of every file."""

import ast
import importlib
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import placementclient

PACKAGE = Path(placementclient.__file__).parent
MODULES = sorted(PACKAGE.rglob('*.py'))
ARCHITECTURE = Path(__file__).parents[2] / 'doc' / 'source' / 'contributor' / 'architecture.rst'

#: Of each folder the folders that it may import, and whatever these may import. The documentation
#: has the same table.
MAY_IMPORT: dict[str, set[str]] = {
    'basis': set(),
    'client': {'basis'},
    'model': {'basis'},
    'optimize': {'basis'},
    'files': {'model'},
    'api': {'client', 'model'},
    'embedded': {'client', 'model'},
    'nova': {'client', 'files'},
    'hosts': {'nova'},
    'reading': {'api'},
    'changes': {'reading', 'files'},
    'planner': {'changes', 'optimize'},
    'placing': {'model', 'optimize'},
    'insight': {'nova', 'placing'},
    'producers': {'insight', 'planner'},
    'runs': {'producers', 'embedded'},
    'render': {'planner', 'insight'},
    'cli': {'client', 'files'},
    'commands': {'cli', 'hosts', 'render', 'runs'},
    'testing': {'producers', 'embedded'},
    '__main__': {'cli'},
}
#: The parts of ``cli`` that OpenStackClient or a key press loads: they do without the others.
HOOKS = ('cli.plugin', 'cli.command_help', 'cli.factories', 'cli.entry_points', 'cli.completion')
#: The most folders in a chain, from the top of the table to its bottom.
LONGEST_CHAIN = 9
#: Folders and modules that must be testable without a service, and so usable on a file.
PURE = (
    *('basis', 'model', 'planner', 'placing', 'insight', 'render'),
    *(f'files.{name}' for name in ('cursors', 'decoding', 'documents', 'encoding', 'snapshots')),
    *('producers.assuming', 'producers.edited', 'producers.replaced', 'producers.same_host'),
    *('nova.schema', 'nova.records', 'nova.server_request', 'changes.records'),
    *('nova.cpus', 'nova.settings', 'nova.features'),
    *('changes.operations', 'changes.transfers', 'changes.diff'),
    *(
        'changes.simulation',
        'changes.plan',
        'changes.obstacles',
        'changes.phases',
        'changes.deviations',
        'changes.merge',
        'changes.atomic_merge',
        'changes.tree_merge',
        'changes.summary',
        'changes.rollback',
    ),
)
#: Modules that send requests.
SENDING = ('client.http', 'api', 'embedded', 'reading', 'runs', 'nova.service')
#: What would be I/O, a clock or chance there.
IMPURE = {'requests', 'keystoneauth1', 'openstack', 'random', 'secrets', 'socket', 'subprocess'}
IMPURE |= {'time', 'datetime', 'urllib', 'os', 'pathlib', 'sqlite3', 'logging', 'sys', 'threading'}


def name_of(path):
    names = path.relative_to(PACKAGE.parent).with_suffix('').parts
    return '.'.join(names).removesuffix('.__init__')


NAMES = {name_of(path): path for path in MODULES}


def folder(module):
    """The row that a module belongs to: ``'api'`` of ``'placementclient.api.trait'``."""
    return module.partition('.')[2].partition('.')[0]


def is_in(module, parts):
    name = module.partition('.')[2]
    return any(name == part or name.startswith(f'{part}.') for part in parts)


def imports(path):
    """All that a module imports, anywhere in it, by its full name; also what only types need."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}:{node.lineno}: a relative import'
            for alias in node.names:
                full = f'{node.module}.{alias.name}'
                yield full if full in NAMES else node.module or ''


def allowed(row):
    """All rows that one may import."""
    return {row}.union(MAY_IMPORT[row], *(allowed(below) for below in MAY_IMPORT[row]))


def ours(path):
    """The modules of the package that a module imports."""
    return {module for module in imports(path) if module.startswith('placementclient')}


GRAPH = {name: ours(path) & NAMES.keys() - {name} for name, path in NAMES.items()}


def reached(module):
    """All modules that are loaded with one, its own functions included."""
    loaded, waiting = {module}, [module]
    while waiting:
        new = GRAPH[waiting.pop()] - loaded
        loaded |= new
        waiting.extend(new)
    return loaded


@pytest.mark.parametrize('module', NAMES)
def test_every_module_imports_what_the_row_of_its_folder_allows(module):
    folders = {folder(other) for other in ours(NAMES[module])} - {''}
    assert folders <= (allowed(folder(module)) if folder(module) else set())


@pytest.mark.parametrize('module', [name for name in NAMES if is_in(name, HOOKS)])
def test_hooks_do_without_the_program(module):
    others = GRAPH[module] - {'placementclient', 'placementclient.cli'}
    assert [other for other in others if not is_in(other, (*HOOKS, 'basis', 'client'))] == []


def test_the_walk_sees_what_functions_and_types_import():
    seen = set(imports(PACKAGE / 'commands' / 'reshapes' / 'reshape_run.py'))
    assert 'placementclient.runs.engines' in seen, 'imported in a function'
    assert 'placementclient.model.outcomes' in seen, 'imported for types alone'


def test_every_row_of_the_layers_exists():
    assert {folder(name) for name in NAMES} - {''} == set(MAY_IMPORT)
    assert [pure for pure in PURE if not any(is_in(name, [pure]) for name in NAMES)] == []


def test_the_top_of_the_package_has_folders_only():
    assert {path.stem for path in PACKAGE.glob('*.py')} == {'__init__', '__main__'}


def test_no_file_imports_itself_by_a_detour():
    assert list(TopologicalSorter(GRAPH).static_order())


def test_no_folder_is_below_itself_and_no_chain_is_long():
    heights: dict[str, int] = {}
    for row in TopologicalSorter(MAY_IMPORT).static_order():
        heights[row] = 1 + max((heights[below] for below in MAY_IMPORT[row]), default=0)
    assert max(heights.values()) <= LONGEST_CHAIN


@pytest.mark.parametrize('module', [name for name in NAMES if is_in(name, PURE)])
def test_pure_modules_reach_neither_the_service_nor_the_world(module):
    assert not {other for other in reached(module) if is_in(other, SENDING)}
    assert not {other.split('.')[0] for other in imports(NAMES[module])} & IMPURE


def test_the_documentation_has_the_same_table():
    table = ARCHITECTURE.read_text().partition('The main types')[0]
    rows = re.findall(r'^   \* - ``(\S+)``\n     - (.*(?:\n       .*)*)$', table, re.MULTILINE)
    documented = {name: set(re.findall(r'``(\S+)``', cell)) for name, cell in rows}
    assert documented == MAY_IMPORT


def test_the_documentation_names_main_types_that_exist():
    table = ARCHITECTURE.read_text().partition('The main types')[2]
    names = re.findall(r'^   \* - ``(\S+)``$', table, re.MULTILINE)
    assert len(names) >= 40
    for name in names:
        module, _, type_name = name.rpartition('.')
        assert isinstance(
            getattr(importlib.import_module(f'placementclient.{module}'), type_name), type
        )
