"""The package loads its modules when they are asked for."""

import pytest

from placementclient import api


def test_its_modules_are_its_attributes():
    for name in api.__all__:
        assert getattr(api, name).__name__ == f'placementclient.api.{name}'


def test_what_it_does_not_have_is_no_attribute():
    with pytest.raises(AttributeError, match='nonsense'):
        _ = api.nonsense
