"""What other packages do not promise: each name in one module, with an upper bound, and there."""

from __future__ import annotations

import ast
import inspect
from configparser import ConfigParser
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from alembic.script import ScriptDirectory
from cliff.command import Command
from cliff.display import DisplayCommandBase
from keystoneauth1.session import Session
from osc_lib.clientmanager import ClientManager
from packaging.requirements import Requirement
from placement import db_api, deploy
from placement.db.sqlalchemy import migration
from stevedore import ExtensionManager

import placementclient

PACKAGE = Path(placementclient.__file__).parent
TOP = Path(__file__).parents[2]


class Private(NamedTuple):
    """Names of an object of another package, and the module of ours that may use them."""

    package: str
    owner: object
    names: tuple[str, ...]
    module: str


PRIVATE = (
    Private(
        'cliff',
        DisplayCommandBase,
        ('_load_hooks', '_load_formatter_plugins', '_generate_columns_and_selector'),
        'commands/base.py',
    ),
    Private('osc-lib', ClientManager, ('_auth_required', '_api_version'), 'plugin.py'),
    Private('keystoneauth1', Session, ('_collect_timing',), 'cli/connection.py'),
    Private('stevedore', ExtensionManager, ('ENTRY_POINT_CACHE',), 'cli/coexistence.py'),
    Private('alembic', ScriptDirectory, ('_upgrade_revs',), 'direct/service.py'),
    Private(
        'openstack-placement',
        db_api,
        ('placement_context_manager', 'get_placement_engine'),
        'direct/service.py',
    ),
    Private('openstack-placement', deploy, ('loadapp',), 'direct/service.py'),
    Private('openstack-placement', migration, ('version',), 'direct/service.py'),
)
every_owner = pytest.mark.parametrize('private', PRIVATE, ids=lambda each: each.module)


def uses(path: Path) -> set[str]:
    """The attributes that a module names."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }


@every_owner
def test_the_names_are_there(private: Private) -> None:
    source = inspect.getsource(private.owner)  # type: ignore[arg-type]
    for name in private.names:
        assert hasattr(private.owner, name) or f'self.{name}' in source


def test_what_cliff_calls_is_what_it_calls() -> None:
    assert 'self._load_hooks()' in inspect.getsource(Command.__init__)
    assert 'self._hooks' in inspect.getsource(Command.get_epilog)
    assert '_load_formatter_plugins()' in inspect.getsource(DisplayCommandBase)


@every_owner
def test_one_module_uses_them(private: Private) -> None:
    assert uses(PACKAGE / private.module) & set(private.names)
    ours = {name for name in private.names if name.startswith(('_', 'ENTRY'))}
    for path in PACKAGE.rglob('*.py'):
        if path != PACKAGE / private.module and 'self._api_version' not in path.read_text():
            assert not uses(path) & ours, path


@every_owner
def test_the_package_has_an_upper_bound_that_admits_what_is_installed(private: Private) -> None:
    config = ConfigParser()
    config.read(TOP / 'setup.cfg')
    lines = config['options']['install_requires'] + config['options.extras_require']['direct']
    wanted = {requirement.name: requirement for requirement in map(Requirement, lines.split())}
    bound = wanted[private.package].specifier
    assert any(each.operator == '<' for each in bound)
    assert version(private.package) in bound
