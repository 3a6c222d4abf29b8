# SPDX-License-Identifier: Apache-2.0
"""The request that is predicted for a server is the one that Nova sends, to the character."""

import logging
import os
import unittest

from nova import test
from nova.tests import fixtures

from placementclient.api import query
from placementclient.model.servers import Flavor, HostAggregate, Image
from placementclient.model.services import Hypervisor, HypervisorService
from placementclient.nova import host_records, server_request
from placementclient.nova.server_parts import Refusal, ServerRequest, Sources
from placementclient.nova.settings import Settings
from tests.nova import nova_requests, random_servers

#: How many random servers are compared.
SEEDS = int(os.environ.get('REQUEST_SEEDS', '5000'))
#: A rule that is not in the table is missed within so many.
FEW = 200


def predicted(document, rules):
    """Return what is predicted that Nova sends for a server.

    :raises Refusal: if Nova is predicted to refuse it
    """
    image = document['image']
    settings = dict(document['settings'])
    server = ServerRequest(
        Flavor('m', **document['flavor']),
        Image(**image),
        document['zone'],
        document['project'],
        tuple(host_records.decode_server_ports(document['ports'], 'ports')),
        document['volume'],
        frozenset(document['hints']),
        document['host'],
    )
    aggregates = [
        HostAggregate(record['uuid'], record['uuid'], (), metadata=record['metadata'])
        for record in document['aggregates']
    ]
    # Each network has a subnet, which has a segment.
    segments = {
        random_servers.uuid(first + number): [
            document['segments'][random_servers.uuid(60 + number)]
        ]
        for number, segment in enumerate(document['segments'].values())
        for first in (50, 60)
    }
    sources = Sources(
        document['owned'],
        aggregates,
        document['profiles'],
        segments,
        [
            Hypervisor(node, uuid, service=HypervisorService(host))
            for host, node, uuid in random_servers.NODES
        ],
    )
    options = Settings(True, aliases=tuple(settings.pop('alias')), **settings)
    request = server_request.build_request(server, options, sources, rules)
    if request.unknown:
        raise AssertionError(f'all is known, but not {request.unknown}')
    return [
        nova_requests.canonical(query.format_scheduler_request(record))
        for record in request.requests
    ]


def answer(requests, error, *arguments):
    """Return the requests, or the reason for which the server is refused."""
    try:
        return requests(*arguments)
    except error as reason:
        return f'refused: {reason}'


def is_same(ours, theirs):
    """Return whether both have the same requests, or refuse the server."""
    return ours == theirs or (isinstance(ours, str) and isinstance(theirs, str))


def difference(document, rules=server_request.RULES):
    """Return how the prediction and Nova differ; empty where they agree."""
    theirs = answer(nova_requests.requests, nova_requests.Refused, document)
    ours = answer(predicted, Refusal, document, rules)
    return '' if is_same(ours, theirs) else f'\n Nova: {theirs}\n  not: {ours}\n  for: {document}'


class RequestTests(test.TestCase):
    USES_DB_SELF = True
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Database(database='api'))
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_the_prediction_is_what_nova_sends(self):
        refused = 0
        for seed in range(SEEDS):
            document = random_servers.server(seed)
            if difference(document):
                smallest = random_servers.shrunk(document, lambda less: bool(difference(less)))
                self.fail(f'seed {seed}: {difference(smallest)}')
            ours = answer(predicted, Refusal, document, server_request.RULES)
            refused += isinstance(ours, str)
        # Most servers are no trivial agreement.
        self.assertLess(refused, SEEDS * 0.6)

    def test_a_rule_that_is_missing_is_found(self):
        theirs = {}
        for rule in server_request.RULES:
            rules = [other for other in server_request.RULES if other is not rule]
            for seed in range(FEW):
                document = random_servers.server(seed)
                if seed not in theirs:
                    theirs[seed] = answer(nova_requests.requests, nova_requests.Refused, document)
                ours = answer(predicted, Refusal, document, rules)
                if not is_same(ours, theirs[seed]):
                    break
            else:
                self.fail(f'nobody misses {rule}')


if __name__ == '__main__':
    unittest.main()
