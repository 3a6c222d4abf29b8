# SPDX-License-Identifier: Apache-2.0
"""The table of endpoints against the service's own."""

from typing import Any

import pytest

from placementclient.client import endpoints, errors
from placementclient.client.microversion import HIGHEST, LOWEST, Microversion
from tests.unit.client.test_endpoints import fields

UUID = '9cfef3b3-1b47-4ae9-9e30-f2a1f3b9a2d7'


def server_routes():
    from placement.handler import ROUTE_DECLARATIONS

    # '' is '/' for a service that is mounted below a prefix.
    return {
        (method, path) for path, methods in ROUTE_DECLARATIONS.items() for method in methods if path
    }


def anonymous(path):
    """A path with its fields numbered: the service's names for them are its own."""
    for field in fields(path):
        path = path.replace(f'{{{field}}}', '{}')
    return path


def test_every_route_of_the_service_has_one_row():
    rows = [(row.method, anonymous(row.template)) for row in endpoints.ALL]
    assert len(rows) == len(set(rows))
    assert set(rows) == {(method, anonymous(path)) for method, path in server_routes()}


def test_the_highest_microversion_is_the_services():
    from placement.microversion import max_version_string, min_version_string

    assert str(HIGHEST) == max_version_string()
    assert str(LOWEST) == min_version_string()


def refusal(client, row, version):
    """What the service says to a request of a row at a microversion, if it refuses it."""
    parts = {'provider': UUID, 'consumer': UUID, 'resource_class': 'VCPU', 'trait': 'CUSTOM_T'}
    body = {} if row.method in ('PUT', 'POST') else None
    try:
        # Not send(): that knows since, and would not ask the service.
        client._send_and_decode(
            row,
            row.format_path(**{field: parts[field] for field in fields(row.template)}),
            Any,
            None,
            body,
            version,
        )
    except errors.HTTPError as error:
        return f'{error.status} {error.sentence}'
    return None


def is_unknown(refusal):
    """Whether the service refused as if the route or the method did not exist."""
    return refusal is not None and (
        refusal.startswith('405 ') or refusal == '404 The resource could not be found.'
    )


@pytest.mark.parametrize('row', endpoints.ALL, ids=str)
def test_an_endpoint_is_served_from_its_stated_microversion_on_and_not_before(client, row):
    assert not is_unknown(refusal(client, row, row.since))
    if row.since > LOWEST:
        assert is_unknown(refusal(client, row, Microversion(1, row.since.minor - 1)))
