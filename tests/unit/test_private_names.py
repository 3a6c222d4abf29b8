# SPDX-License-Identifier: Apache-2.0
"""What other packages do not promise: each name in one module, with an upper bound, and there."""

import ast
import re
from configparser import ConfigParser
from functools import cache
from importlib import util
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

import placementclient

PACKAGE = Path(placementclient.__file__).parent
TOP = Path(__file__).parents[2]


class Private(NamedTuple):
    """Names that a module of another package defines, and the place of ours that uses them."""

    package: str
    definer: str
    names: tuple[str, ...]
    user: str


PRIVATE = (
    Private(
        'openstack-placement',
        'placement.db_api',
        ('placement_context_manager',),
        'embedded',
    ),
    Private('openstack-placement', 'placement.objects.trait', ('_TRAITS_SYNCED',), 'embedded'),
    Private(
        'openstack-placement',
        'placement.objects.resource_class',
        ('_RESOURCE_CLASSES_SYNCED',),
        'embedded',
    ),
)
every_one = pytest.mark.parametrize('private', PRIVATE, ids=lambda private: private.definer)


@cache
def attributes(path):
    """The attributes that a module of ours uses and does not set itself."""
    source = path.read_text()
    assigned = set(re.findall(r'self\.(\w+) = ', source))
    nodes = ast.walk(ast.parse(source))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} - assigned


@every_one
def test_private_names_of_other_packages_exist(private):
    # Read, not run: what the SDK finds depends on where the process is when it is loaded.
    spec = util.find_spec(private.definer)
    assert spec is not None
    source = Path(str(spec.origin)).read_text()
    for name in private.names:
        assert re.search(rf'(def |self\.|^|^    ){name}\b', source, re.MULTILINE), name


@every_one
def test_private_names_of_other_packages_are_used_in_one_place(private):
    everywhere = set()
    for path in PACKAGE.rglob('*.py'):
        used = attributes(path) & set(private.names)
        assert not used or path.is_relative_to(PACKAGE / private.user), path
        everywhere |= used
    assert everywhere == set(private.names)


@every_one
def test_the_package_has_an_upper_bound_that_admits_what_is_installed(private):
    config = ConfigParser()
    config.read(TOP / 'setup.cfg')
    lines = config['options']['install_requires'] + config['options.extras_require']['direct']
    required = {requirement.name: requirement for requirement in map(Requirement, lines.split())}
    bounds = required[private.package].specifier
    assert any(bound.operator == '<' for bound in bounds)
    assert version(private.package) in bounds
