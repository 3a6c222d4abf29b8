# SPDX-License-Identifier: Apache-2.0
"""The IDs under which the service's log has the requests of a run."""

import logging

import pytest
from oslo_context import context

from placementclient.api import resource_provider
from tests.functional import clouds
from tests.logged import global_request_id


@pytest.fixture
def logged():
    """The IDs that the service's log has of each request: the run's, and the request's own."""
    pairs: list[tuple[str, str]] = []

    class Handler(logging.Handler):
        def emit(self, record):
            current = context.get_current()
            pairs.append((current.global_request_id, current.request_id))

    log, handler = logging.getLogger('placement.requestlog'), Handler()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield pairs
    log.removeHandler(handler)
    log.setLevel(level)


def test_a_run_that_failed_names_the_id_that_the_service_logs(placement, client, tmp_path, logged):
    path = tmp_path / 'tree.yaml'
    path.write_text('{name: a, traits: [COMPUTE_NODE]}')

    def delete():
        resource_provider.delete(client, resource_provider.show_by_name(client, 'a').uuid)

    with clouds.disturbed(client, 'PUT', '/traits', delete):
        failed = placement('resource', 'provider', 'tree', 'apply', str(path), '--yes')
    assert failed.status == 6
    runs = {run for run, _ in logged} - {client.global_request_id}
    assert runs == {global_request_id(failed.stderr)}
    assert len({request for _, request in logged}) > 1
