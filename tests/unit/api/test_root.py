"""The version document."""

from __future__ import annotations

import pytest

from placementclient.api import root
from placementclient.client.microversion import Microversion
from tests.unit.api.conftest import Call
from tests.unit.dialogue import version_document


@pytest.mark.parametrize('version', ['1', '1.5', '1.39'])
def test_the_range_of_the_service_is_asked_for_without_a_version(call: Call, version: str) -> None:
    asked = version_document('1.45', '1.2')
    assert call(root.show, asked, version=version) == (Microversion(1, 2), Microversion(1, 45))
