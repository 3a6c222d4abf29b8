# SPDX-License-Identifier: Apache-2.0
"""Exceptions and exit statuses."""

import importlib
import pkgutil

import pytest

import placementclient
from placementclient.basis.errors import ExitStatus, PlacementError, Unexpected
from placementclient.client import errors


def test_exit_statuses_are_a_contract():
    assert {status.name: status.value for status in ExitStatus} == {
        'DONE': 0,
        'ERROR': 1,
        'USAGE': 2,
        'DIFFERS': 3,
        'INFEASIBLE': 4,
        'UNDECIDED': 5,
        'PARTIAL': 6,
        'INTERRUPTED': 130,
    }


def test_providers_get_their_names_beside_their_uuids():
    failure = errors.Conflict(409, 'Unable to allocate on u1: u2 is in the way.', None, 'req-1')
    named = failure.with_names({'u1': 'compute1'})
    assert (type(named), str(named)) == (
        type(failure),
        'Unable to allocate on u1 (compute1): u2 is in the way. (HTTP 409) [req-1]',
    )


def kinds(kind=PlacementError):
    yield kind
    for child in kind.__subclasses__():
        yield from kinds(child)


@pytest.mark.parametrize('arguments', [(), ('',), (' \n',)])
def test_every_error_has_a_text(arguments):
    """Also those that other modules add; one without a text of its own says its class."""
    for module in pkgutil.walk_packages(placementclient.__path__, 'placementclient.'):
        if not module.name.startswith('placementclient.embedded.'):
            importlib.import_module(module.name)
    classes = {kind for kind in kinds() if kind.__module__.startswith('placementclient')}
    assert len(classes) > 30
    for kind in classes:
        # However it is made: of another process it comes without having been.
        message = str(kind.__new__(kind, *arguments)).strip()
        assert message, kind
        if not issubclass(kind, errors.HTTPError):
            assert message.startswith(kind.__name__)


def test_an_unforeseen_error_is_printed_with_its_class():
    assert str(Unexpected(StopIteration())) == 'StopIteration'
    assert str(Unexpected(KeyError('x'))) == "KeyError: 'x'"
